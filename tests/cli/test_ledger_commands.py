"""`pubpriv ledger` as an auditor types it, over a ledger with a real release."""

import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pubpriv.cli import main
from pubpriv.cli.console import fail
from pubpriv.data.codec import to_json
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.estimators import MIXTURE
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.witness import VARIABLE


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    """A folder with a ledger, an export made before its one release, and the released model."""
    folder = tmp_path_factory.mktemp("release")
    generator = np.random.default_rng(5)
    for name, n in (("private", 800), ("public", 12)):
        rows = generator.standard_normal((n, 2)) + 20.0 * (np.arange(n) % 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b"]).to_parquet(folder / f"{name}.parquet")
    url = f"sqlite:///{folder}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.export(folder / "before.jsonl")
    job = Job.of(
        MIXTURE,
        private=str(folder / "private.parquet"),
        public=str(folder / "public.parquet"),
        columns=None,
        n_components=2,
        budget="zcdp:0.5",
        dataset="visits",
        ledger=url,
        release_id="2026-11",
    )
    run_job(job).save(folder / "model.json")
    return folder


@pytest.fixture
def books(release, tmp_path, monkeypatch) -> Path:
    """A copy of that folder to do harm to."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path}/books/ledger.db")
    return Path(shutil.copytree(release, tmp_path / "books"))


def run(*arguments):
    """(exit code, standard output, standard error) of `pubpriv ledger ...`."""
    done = CliRunner().invoke(main.app, ["ledger", *map(str, arguments)], standalone_mode=False)
    code = fail(done.exception) if done.exception else done.exit_code
    return code, done.stdout, str(done.exception or "")


def test_verify_says_what_was_checked(books):
    """A table, and the same as JSON; the model's bill is the ledger's."""
    code, text, _ = run("verify", "--model", books / "model.json")
    assert code == 0
    assert "every record follows" in text
    code, text, _ = run("verify", "visits", "--json")
    told = json.loads(text)["visits"]
    model = json.loads((books / "model.json").read_text())
    assert (code, told["charges"], told["answers"]) == (0, len(model["privacy"]["charges"]), told["charges"])
    assert (told["cap"], told["held"], told["currency"]) == ("1", "0", "rho")


def test_an_export_is_checked_alone_and_against_the_ledger(books, monkeypatch):
    """Without a database; with one that has it all; and with one that lacks some of it, which is exit 6."""
    assert run("export", "--out", books / "after.jsonl")[0] == 0
    url = f"sqlite:///{books}/ledger.db"
    assert run("verify", "--file", books / "after.jsonl", "--ledger", url)[0] == 0
    monkeypatch.delenv("PUBPRIV_LEDGER")
    assert run("verify", "--file", books / "after.jsonl")[0] == 0
    other = f"sqlite:///{books}/restored.db"
    assert run("restore", books / "before.jsonl", "--ledger", other)[0] == 0
    code, _, error = run("verify", "--file", books / "after.jsonl", "--ledger", other)
    assert code == 6
    assert "ledger restore" in error
    code, text, _ = run("restore", books / "after.jsonl", "--ledger", other)
    assert code == 0
    assert "records appended" in text
    assert run("verify", "--file", books / "after.jsonl", "--ledger", other)[0] == 0


def test_exports_that_belong_together_are_named_together(books):
    """What came after an export is written, checked and restored with it, and refused without."""
    parts = books / "before.jsonl", books / "since.jsonl"
    assert run("export", "--out", parts[1], "--after", parts[0])[0] == 0
    assert run("verify", "--file", parts[0], "--file", parts[1])[0] == 0
    code, _, error = run("verify", "--file", parts[1])
    assert (code, "Name all exports, oldest first" in " ".join(error.split())) == (2, True)
    other = f"sqlite:///{books}/whole.db"
    assert run("restore", *parts, "--ledger", other)[0] == 0
    assert run("verify", "--file", parts[0], "--file", parts[1], "--ledger", other)[0] == 0


def test_a_witness_in_the_environment_makes_a_restored_ledger_read_only(books, monkeypatch):
    """`verify` says so with exit 6, and a budget cannot be raised on it."""
    run("export", "--out", books / "after.jsonl")
    other = f"sqlite:///{books}/restored.db"
    run("restore", books / "before.jsonl", "--ledger", other)
    monkeypatch.setenv(VARIABLE, str(books / "after.jsonl"))
    assert run("verify", "--ledger", other)[0] == 6
    arguments = ["budget", "set", "visits", "zcdp:2", "--raise", "--reason", "more", "--ledger", other]
    done = CliRunner().invoke(main.app, arguments, standalone_mode=False)
    assert "reading only" in str(done.exception)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model["privacy"]["charges"].pop(),
        lambda model: model["privacy"].update(spent="0.1 rho"),
        lambda model: model["privacy"]["charges"][0].update(sensitivity=0.01),
        lambda model: model["provenance"].update(chain_head="0" * 64),
        lambda model: model["provenance"].update(release_id="no-such-run"),
    ],
    ids=["a charge less", "a smaller sum", "a smaller sensitivity", "another head", "another release"],
)
def test_a_forged_release_is_found(books, change):
    """A model whose statement is not the ledger's is refused, and so is one of a run that the ledger lacks: exit 6."""
    model = json.loads((books / "model.json").read_text())
    change(model)
    (books / "model.json").write_text(json.dumps(model))
    code, _, error = run("verify", "--model", books / "model.json")
    assert code == 6
    assert "an older copy of the ledger was restored" in error or model["provenance"]["release_id"] != "no-such-run"


def test_a_swapped_answer_is_found(books):
    """Somebody with the file and a tool: the record is named, exit 6."""
    with closing(sqlite3.connect(books / "ledger.db")) as raw, raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE records SET body = replace(body, '1', '2') WHERE kind = 'published'")
    code, _, error = run("verify")
    assert code == 6
    assert "breaks the hash chain" in error


def plant(books, question, event):
    """Append a charge without the door, in a run of its own."""
    with Ledger.open(f"sqlite:///{books}/ledger.db") as ledger:
        ledger.run("visits", "planted").open(ZeroConcentratedDP("0.1"))
        ledger.run("visits", "planted").charge("mean/a", question, event)


CHEAP = GaussianEvent(Fraction(2, 10**12), ((1 << 40, 1),))


def test_a_planted_charge_is_found(books):
    """A cheap event beside an expensive question: in the database, in an export, and for a model's reader; exit 6."""
    plant(books, to_json(Counts(Everything(), 1)), CHEAP)
    assert run("export", "--out", books / "after.jsonl")[0] == 0
    for arguments in ([], ["--model", books / "model.json"], ["--file", books / "after.jsonl"]):
        code, _, error = run("verify", *arguments)
        assert code == 6
        assert "not charged as its question costs" in error
    assert run("restore", books / "after.jsonl", "--ledger", f"sqlite:///{books}/other.db")[0] == 6


def test_what_verify_could_not_check_is_told(books):
    """Charges for a question of another version are counted, in words and as JSON."""
    plant(books, {"type": "Median"}, CHEAP)
    code, text, _ = run("verify", "--json")
    told = json.loads(text)["visits"]
    assert (code, told["unchecked"], told["recomputed"]) == (0, {"Median": 1}, told["charges"] - 1)
    done = CliRunner().invoke(main.app, ["ledger", "verify"], standalone_mode=False)
    assert f"unchecked: 1 of {told['charges']} charges" in " ".join(done.output.split())


def test_a_ledger_without_its_triggers_fails_verify(books):
    """Every record is right, and one can no longer tell for how long: exit 6, and what to do."""
    with closing(sqlite3.connect(books / "ledger.db")) as raw, raw:
        raw.execute("DROP TRIGGER records_no_update")
    code, _, error = run("verify")
    assert code == 6
    assert "records_no_update" in error
    assert "ledger restore" in error


def test_bad_command_lines_say_what_to_do(books, tmp_path):
    """Nothing is written, and the message names the way out."""
    assert run("verify", "visits", "--file", books / "before.jsonl")[0] == 2
    assert run("verify", "nobody")[0] == 2
    assert run("export", "--out", tmp_path / "nowhere" / "x.jsonl")[0] == 2
    assert run("export", "nobody", "--out", tmp_path / "x.jsonl")[0] == 2
    assert not (tmp_path / "x.jsonl").exists()
    assert run("restore", tmp_path / "none.jsonl")[0] == 2
    assert run("restore", books / "before.jsonl", "--dataset", "nobody")[0] == 2


def test_books_are_closed_and_go_on_elsewhere(books):
    """With the whole bill in the archive; the old ledger says where they go on, the new one what was spent before."""
    new, archive = f"sqlite:///{books}/new.db", books / "archive.jsonl"
    code, text, _ = run("close", "--to", new, "--out", archive)
    assert code == 0
    assert "0.5 rho spent of 1-zCDP, by 1 runs" in text
    assert run("close", "--to", new, "--out", archive)[0] == 0
    code, text, _ = run("verify", "--archive", archive, "--ledger", new, "--json")
    # the last digits depend on whether the run divided its last round, which noise may decide
    assert (code, round(float(json.loads(text)["visits"]["spent"]), 9)) == (0, 0.5)
    assert run("verify", "--file", archive)[0] == 0
    told = [_budget("show", "visits", "--ledger", url) for url in (f"sqlite:///{books}/ledger.db", new)]
    assert "they go on in" in told[0].stderr
    assert "0.5" in told[1].stdout
    assert "2026-11" in told[1].stdout
    history = _budget("history", "visits", "--ledger", new, "--plot", books / "spent.svg")
    assert "spent in the books that these carry on: 0.5" in history.stdout
    assert "0.5 were spent" in (books / "spent.svg").read_text()
    error = _budget("report", "2026-11", "--dataset", "visits", "--ledger", new).exception
    assert (fail(error), "ledger.db, which still has its answers" in str(error)) == (2, True)
    code, _, error = run("verify", "--model", books / "model.json", "--ledger", new)
    assert (code, "nothing is asked again under it" in error) == (2, True)


def _budget(*arguments):
    return CliRunner().invoke(main.app, ["budget", *map(str, arguments)], standalone_mode=False)
