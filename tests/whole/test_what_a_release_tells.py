"""What a page, a model file and a release id tell beside the released numbers, and which guarantee covers it."""

import json
import re
from datetime import UTC, datetime
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

import pubpriv as pp
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.regions import NearestPoint
from pubpriv.flows import deployed
from pubpriv.ledger import new_release_id
from pubpriv.privacy.ledger import _stamps, run
from pubpriv.released.files import _store_release
from pubpriv.released.report import History, page
from pubpriv.released.tree import ReleaseFiles

DAY = re.compile(r"\d{4}-\d\d-\d\d")
CLOCK = re.compile(r"\d\d:\d\d|T\d{4}")
RHO = pp.ZeroConcentratedDP
PUBLIC = np.array([[4.0], [5.0]])


def counts(rho):
    """How many cells are nearer to 0, how many to 10."""
    return Counts.priced(NearestPoint(Frame.of(np.zeros(1)), ((0.0,), (10.0,)), (0, 1)), 2 * Fraction(rho))


def table_of(folder, name, last):
    """A private table of forty cells of which `last` is one."""
    pq.write_table(pa.table({"a": [*[0.0] * 20, *[10.0] * 19, last]}), folder / f"{name}.parquet")
    return pp.PrivateTable.open(folder / f"{name}.parquet", ["a"])


def small_release(table, ledger, dataset, release_id="2026-11"):
    """A mean at rho 0.001: of its own it tells next to nothing."""
    with pp.Curator(table, ledger, dataset, RHO("0.001"), release_id) as curator:
        return pp.estimate_mean(PUBLIC, curator, force=True)


# -- the page, and other releases -----------------------------------------------------------------------------


def early_stop(table, ledger, dataset):
    """Another release: its second question is asked, and paid for, only if the first answer was large."""
    with pp.Curator(table, ledger, dataset, RHO("5.3"), "search") as curator:
        answer = curator.release(counts("5"), "first").values["count"]
        if answer[1] - answer[0] > -1:
            curator.release(counts("0.3"), "second")


def stated(text):
    """What a page says of somebody who sees it: the first probability that it names."""
    return float(re.search(r"probability of at most ([\d.]+)%", text)[1]) / 100


@pytest.mark.slow
def test_nobody_reads_more_off_a_page_than_it_says(tmp_path):
    """Of two tables that differ in a record, an attacker tells which is behind a page by what another run spent."""
    worlds, right, probability = 40, 0, 0.0
    truth = np.random.default_rng(3).integers(2, size=worlds)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        for number, last in enumerate(truth):
            dataset = f"d{number}"
            table = table_of(tmp_path, dataset, 10.0 * last)
            ledger.register(dataset, budget=RHO("5.4"), table=table, unit="one patient")
            early_stop(table, ledger, dataset)
            text = page(small_release(table, ledger, dataset), history=History.of(ledger, dataset))
            spent = re.search(r">search<.*?5\.3-zCDP<.*?>([\d.]+)<", text)[1]
            right += (float(spent) > 5) == last
            probability = stated(text)
    assert binom.sf(right - 1, worlds, probability) > 1e-6, f"{right} of {worlds} right, at most {probability:.1%}"
    assert binom.sf(right - 1, worlds, 0.509) < 1e-3, "the attack has to work, or this shows nothing"


def test_a_page_without_a_history_speaks_of_its_own_numbers(tmp_path):
    """The run's figure is for its numbers, given all else; where other runs are shown the cap's figure comes first."""
    table = table_of(tmp_path, "private", 0.0)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("people", budget=RHO("2"), table=table)
        estimate = small_release(table, ledger, "people")
        history = History.of(ledger, "people")
    alone, together = page(estimate), page(estimate, history=history)
    assert stated(alone) == pytest.approx(0.509)
    assert "everything that other releases have published" in alone
    assert "everything on this page" not in alone
    assert stated(together) > 0.96  # what rho 2 bounds: a Gaussian mechanism of that budget is right in 84% of cases
    assert "everything on this page" in together
    assert "give at most 50.9%" in together


def test_the_rest_of_a_run_is_its_own_affair(tmp_path):
    """A method that takes all that is left takes it of the run's allotment, whatever other runs spent meanwhile."""
    table = table_of(tmp_path, "private", 0.0)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("people", budget=RHO("9"), table=table)
        shares = []
        for other in ("none", "search"):
            if other == "search":
                early_stop(table, ledger, "people")
            with pp.Curator(table, ledger, "people", RHO("0.5"), f"after-{other}") as curator:
                shares.append(curator.begin("mean", {}, "0" * 64))
    assert shares[0] == shares[1]
    assert shares[0].units == RHO("0.5").cap.main


# -- the chain head -------------------------------------------------------------------------------------------


def head_of(folder, token=None):
    """The chain head of a release, where clock, answers and all else are the same each time."""
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("people", budget=RHO("2"))
        for release_id in ("secret", "told"):
            ledger.run("people", release_id).open(RHO("0.5"))
            asked = ledger.run("people", release_id).charge("q", {"type": "Counts"}, counts_event())
            ledger.run("people", release_id).publish("q", asked.attempt, {"count": [20, 20]})
        assert token is None or asked.attempt == token
        return ledger.run("people", "told").bill().head


def counts_event():
    from pubpriv.ledger import event_of

    return event_of(counts("0.1"))


def test_a_chain_head_commits_to_other_runs_and_tells_nothing_of_them(tmp_path, monkeypatch):
    """It is blinded by 128 random bits of every charge: who tries all answers and times has those to guess too."""
    moment = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
    clock = SimpleNamespace(now=lambda zone: moment)
    monkeypatch.setattr(_stamps, "datetime", clock)
    monkeypatch.setattr(run, "datetime", clock)
    folders = [tmp_path / name for name in "abcd"]
    for folder in folders:
        folder.mkdir()
    first, second = (head_of(folder) for folder in folders[:2])
    assert first != second
    monkeypatch.setattr(run.secrets, "token_hex", lambda count: "7" * 2 * count)
    third, fourth = (head_of(folder, "7" * 32) for folder in folders[2:])
    assert third == fourth, "only the tokens differed"


# -- times ----------------------------------------------------------------------------------------------------


def test_no_file_of_a_release_tells_a_time_of_day(tmp_path):
    """Model, table, page and latest, under a release id that was made for it: days, and no clock."""
    table = table_of(tmp_path, "private", 0.0)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("people", budget=RHO("2"), table=table)
        with pp.Curator(table, ledger, "people", RHO("0.5")) as curator:
            estimate = pp.estimate_mean(PUBLIC, curator)
        _store_release(estimate, tmp_path / "out", history=History.of(ledger, "people"))
    files = ReleaseFiles.of(estimate, tmp_path / "out")
    numbers = pq.read_table(files.table).to_pylist()
    texts = [files.model.read_text(), files.latest.read_text(), json.dumps(numbers)]
    texts += [re.sub(r"<style>.*?</style>", "", files.page.read_text(), flags=re.DOTALL)]
    for text in texts:
        assert CLOCK.findall(text) == []
    assert DAY.fullmatch(estimate.provenance["created"])
    assert estimate.provenance["release_id"] in files.model.read_text()


def test_made_up_release_ids_hold_the_day_and_chance():
    """Sixteen random digits: a thousand a day for years, and no two are the same."""
    ids = {new_release_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"20\d{6}-[0-9a-f]{16}", each) for each in ids)


def test_the_id_of_a_deployed_run_without_a_period_hides_its_time(monkeypatch):
    """Prefect's own identities begin with the time in milliseconds; a retry has the same id, another run has not."""
    due = datetime(2026, 11, 21, 14, 3, 27, tzinfo=UTC)
    run = SimpleNamespace(scheduled_start_time=due, id="019aa6f2-17c8-7bbb-8a5e-0d7a3c1f2e4b")
    monkeypatch.setattr(deployed, "flow_run", run)
    wanted = SimpleNamespace(release_id=None, period=None, series="mean", rows_of=None, resumes=None)
    told = deployed._release_id_of(wanted)
    assert re.fullmatch(r"mean-20261121-[0-9a-f]{16}", told)
    assert "019aa6f2" not in told
    assert deployed._release_id_of(wanted) == told
    run.id = "019aa6f2-17c8-7bbb-8a5e-0d7a3c1f2e4c"
    assert deployed._release_id_of(wanted) != told
