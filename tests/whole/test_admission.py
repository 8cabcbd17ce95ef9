"""What is private stays private whatever it is called: before a public file is read, and by whatever door it comes in.

Swapped tables, folders, links and other datasets' tables, by a job, from Python, by a plan and by a report; handles and
runs that name another table than the ledger does.
"""

import os
import pickle
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.cli.main import app
from pubpriv.curator import RunHandle
from pubpriv.data import _public_columns
from pubpriv.data.columns import parse_columns
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.errors import InvalidInput, PrivateStepFailed, PubPrivError, SpecMismatch
from pubpriv.estimators import ESTIMATORS as REGISTRY
from pubpriv.estimators import MEAN
from pubpriv.estimators.jobs import Job, check_public_file, run_job

HALF = pp.ZeroConcentratedDP(0.5)
COUNTS = Counts(Everything(), 1 << 30)


def write(path, rows, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = np.random.default_rng(seed).normal(0, 1, (rows, 2))
    pq.write_table(pa.table({"a": cells[:, 0], "b": cells[:, 1]}), path)
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two datasets with their tables, one without, public rows, and other ways to the private files."""
    folder = tmp_path_factory.mktemp("world")
    url = f"sqlite:///{folder}/ledger.db"
    with pp.Ledger.open(url) as ledger:
        for name in ("visits", "salaries"):
            path = write(folder / name / "p.parquet", 3000)
            table = pp.PrivateTable.open(path, ["a", "b"])
            ledger.register(name, pp.ZeroConcentratedDP(100), table, another_table=True)
        ledger.register("fresh", pp.ZeroConcentratedDP(100))
    write(folder / "public.parquet", 40, seed=1)
    (folder / "links").mkdir()
    (folder / "links" / "x.parquet").symlink_to(folder / "salaries" / "p.parquet")
    os.link(folder / "salaries" / "p.parquet", folder / "hard.parquet")
    return folder


PRIVATE = (
    "visits/p.parquet",
    "salaries/p.parquet",
    "salaries",
    "sal*",
    "sal*/p.parquet",
    "links",
    "links/x.parquet",
    "links/*",
    "hard.parquet",
    "",
)
"""Names, below the folder, of private rows."""


def url(world):
    return f"sqlite:///{world}/ledger.db"


def job_of(kind, world, public, private="visits/p.parquet", dataset="visits", release_id="r", **settings):
    names = str(world / private), f"{world}/{public}", None, "zcdp:0.5", dataset, url(world), release_id
    return Job.of(kind, *names, **settings)


def told_first(job):
    """What is said of a job's names, before anything that goes wrong with its tables."""
    told = []
    with suppress(PubPrivError):
        job.check(told.append)
    return "".join(told)


def no_reading(*_):
    raise AssertionError("a table was read")


@pytest.mark.parametrize("public", PRIVATE)
@pytest.mark.parametrize("kind", REGISTRY, ids=lambda each: each.name)
def test_no_job_reads_private_rows_as_public(kind, public, world, monkeypatch):
    """Of this dataset or another's, by whatever name: refused before a step is called, with the dataset's name."""
    monkeypatch.setattr("pubpriv.estimators.jobs.plain", no_reading)
    job = job_of(kind, world, public)
    for attempt in (Job.check, lambda job: run_job(job, runner=no_reading)):
        with pytest.raises(InvalidInput, match=r"private table of dataset '(visits|salaries)'") as refused:
            attempt(job)
        assert "budget set" not in str(refused.value)


def test_swapped_tables_are_refused_without_advice_to_declare_the_public_one(world):
    """The private file is found out first."""
    job = job_of(MEAN, world, "visits/p.parquet", private="public.parquet")
    with pytest.raises(InvalidInput, match="wrong way round") as refused:
        run_job(job, runner=no_reading)
    assert "budget set" not in str(refused.value)


def test_the_file_of_a_covariance_is_public_too(world):
    """It is read, and what is wrong with it is told."""
    job = job_of(MEAN, world, "public.parquet", covariance=f"{world}/salaries/p.parquet")
    with pytest.raises(InvalidInput, match="private table of dataset 'salaries'"):
        run_job(job, runner=no_reading)


def test_a_table_that_is_not_declared_is_refused_before_anything_is_read(world):
    """Where the dataset has tables; one that has none says what it binds, and still takes no private rows as public."""
    strange = job_of(MEAN, world, "public.parquet", private="hardly.parquet")
    with pytest.raises(SpecMismatch, match="does not declare the table"):
        run_job(strange, runner=no_reading)
    fresh = job_of(MEAN, world, "public.parquet", private="new.parquet", dataset="fresh")
    told = told_first(fresh)
    assert str(world / "new.parquet") in told
    assert "public.parquet is read, and shown, as public" in told
    with pytest.raises(InvalidInput, match="rows cannot be both"):
        job_of(MEAN, world, "new.parquet", private="new.parquet", dataset="fresh").check()
    with pytest.raises(SpecMismatch, match="belongs to dataset 'visits'"):
        job_of(MEAN, world, "public.parquet", dataset="fresh").check()
    assert not told_first(job_of(MEAN, world, "public.parquet"))


@pytest.mark.parametrize("out", ["visits/new.parquet", "visits/deeper/new.json", "link/new.parquet"])
def test_no_model_is_written_among_private_files(out, world):
    """It would be read as rows; also by way of a link, and for the output tree."""
    from pubpriv.cli.fit import _check_outside

    if not (world / "link").exists():
        (world / "link").symlink_to(world / "visits")
    with pytest.raises(InvalidInput, match="among the files of the private table"):
        _check_outside(world / out, job_of(MEAN, world, "public.parquet", private="visits"))
    with pytest.raises(InvalidInput, match="among the files of the private table"):
        _check_outside(world / out, job_of(MEAN, world, "public.parquet", private="v*"))
    _check_outside(world / "new.parquet", job_of(MEAN, world, "public.parquet", private="visits"))


ESTIMATORS = {
    "mean": pp.estimate_mean,
    "unknown covariance": lambda public, curator: pp.estimate_mean(public, curator, covariance="unknown"),
    "gaussian": pp.estimate_gaussian,
    "mixture": lambda public, curator: pp.estimate_mixture(public, curator, n_components=2),
    "regression": lambda public, curator: pp.estimate_regression(public, curator, outcome="b"),
    "scikit-learn": lambda public, curator: pp.PrivateGaussianMixture(2).fit(curator, public),
}


@pytest.fixture
def curator(world):
    with pp.Ledger.open(url(world)) as ledger:
        table = pp.PrivateTable.open(world / "visits" / "p.parquet", ["a", "b"])
        yield pp.Curator(table, ledger, "visits", HALF)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_estimator_reads_private_rows_as_public(name, curator, world, monkeypatch):
    """From Python, as a path or as a table that was opened before, with columns chosen, too."""
    opened = pp.PublicTable.open(world / "links" / "x.parquet")
    mapped = opened.select(["log1p(a)", "b"])
    chosen = opened.select(["b", "a"])
    monkeypatch.setattr("pubpriv.data.tables.read_rows", no_reading)
    for public in (str(world / "hard.parquet"), world / "visits", opened, mapped, chosen):
        with pytest.raises(InvalidInput, match="rows cannot be both"):
            ESTIMATORS[name](public, curator)
    assert not curator.statement().charges


def test_a_table_is_held_to_what_was_read_and_not_to_where_its_name_leads_later(curator, world, monkeypatch):
    """A link that leads to private rows while it is read, and to public ones after it."""
    link, read = world / "link.parquet", _public_columns._read_public
    link.symlink_to(world / "salaries" / "p.parquet")

    def swapped(name):
        columns = read(name)
        link.unlink()
        link.symlink_to(world / "public.parquet")
        return columns

    monkeypatch.setattr(_public_columns, "_read_public", swapped)
    with pytest.raises(InvalidInput, match="rows cannot be both"):
        curator.begin("mine", {}, pp.PublicTable.open(link))


def test_a_run_that_begins_by_hand_is_asked_too(curator, world):
    """`Curator.begin` itself, which every method goes through; a path is no hash of rows."""
    for named in (str(world / "salaries" / "p.parquet"), "p.parquet", ""):
        with pytest.raises(InvalidInput, match="hash of such rows"):
            curator.begin("mine", {}, named)
    with pytest.raises(InvalidInput, match="rows cannot be both"):
        curator.begin("mine", {}, pp.PublicTable.open(world / "salaries" / "p.parquet"))
    curator.begin("mine", {}, pp.PublicTable.open(world / "public.parquet"))


def test_plans_and_reports_read_no_private_rows(world, monkeypatch):
    """With a ledger in the environment, or beside a private table that is named."""
    from typer.testing import CliRunner

    def told(*arguments):
        done = CliRunner().invoke(app, list(arguments))
        return str(done.exception)

    names = "--public", str(world / "links"), "--budget", "zcdp:1"
    monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)
    twice = told("plan", "mean", *names, "--private", str(world / "salaries"))
    assert "rows cannot be both" in twice
    monkeypatch.setenv("PUBPRIV_LEDGER", url(world))
    for kind in ("mean", "gaussian", "mixture"):
        assert "private table of dataset 'salaries'" in told("plan", kind, *names, "--rows", "1000")
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{world}/none yet.db")
    check_public_file(str(world / "links"), None)
    model = pp.estimate_mean(np.zeros((3, 1)), pp.Curator.simulation(np.zeros((100, 1)), HALF, 1), force=True)
    model.save(world / "model.json")
    report = told("report", str(world / "model.json"), "--public", str(world / "links"), "--ledger", url(world))
    assert "private table of dataset 'salaries'" in report


# --- handles


def test_a_handle_opens_no_other_table(world, tmp_path):
    """Another dataset's table, a spelling of it, other columns, a run or a ledger that is not there: none spends."""
    secret = pp.PrivateTable.open(world / "salaries" / "p.parquet", ["a", "b"])
    own = pp.PrivateTable.open(world / "visits" / "p.parquet", ["a", "b"])
    other = tmp_path / "decoy.parquet"
    pq.write_table(pa.table({"a": [1.0], "b": [1.0], "c": [1.0]}), other)
    with pp.Ledger.open(url(world)) as ledger:
        curator = pp.Curator(own, ledger, "visits", HALF, "handles")
        good = curator.handle
        spent = ledger.balance("visits").spent
    spelled = pickle.loads(pickle.dumps(good))
    object.__setattr__(spelled.table, "uri", f"{world}/links/../salaries/p.parquet")
    bad = (
        replace(good, table=secret),
        spelled,
        replace(good, table=pp.PrivateTable.open(other, ["a"])),
        replace(good, table=replace(own, columns=parse_columns(["c"]))),
        replace(good, dataset="salaries"),
        replace(good, dataset="fresh"),
        replace(good, dataset="nobody's"),
        replace(good, release_id="unheard of"),
        replace(good, ledger=f"sqlite:///{tmp_path}/mine.db"),
        replace(good, table="visits/p.parquet"),
    )
    for handle in bad:
        with pytest.raises((InvalidInput, SpecMismatch)):
            handle.open()
    assert not (tmp_path / "mine.db").exists()
    entered = good.open()
    assert entered.release(COUNTS, "counts").values["count"][0] > 2000
    entered.leave()
    with pp.Ledger.open(url(world)) as ledger:
        assert ledger.balance("fresh").tables == ()
        assert ledger.balance("salaries").spent.main == 0
        assert ledger.balance("visits").spent.main > spent.main
        ledger.run("visits", "handles").close("test")
    again = good.open()
    again.release(COUNTS, "counts")  # a closed run still answers what it answered
    again.leave()


def test_a_curator_looks_at_private_tables_only(world):
    """Whatever else has files and columns is none."""

    class Mine(pp.PrivateTable):
        def chunks(self):
            raise AssertionError

    table = pp.PrivateTable.open(world / "visits" / "p.parquet", ["a"])
    with pp.Ledger.open(url(world)) as ledger:
        with pytest.raises(InvalidInput, match="PrivateTable"):
            pp.Curator(RunHandle("", "", "", table), ledger, "visits", HALF)
        curator = pp.Curator(Mine(table.uri, table.columns, table.n_rows), ledger, "visits", HALF)
        assert curator.release(COUNTS, "counts").values


# --- a run and its table


@pytest.fixture
def visits(tmp_path):
    """A dataset of its own, whose file changes."""
    path = write(tmp_path / "v" / "p.parquet", 3000)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", pp.ZeroConcentratedDP(2), pp.PrivateTable.open(path, ["a", "b"]))
        ledger.register(
            "visits", pp.ZeroConcentratedDP(2), pp.PrivateTable.open(write(tmp_path / "w.parquet", 3000), ["a"])
        )
        yield path, ledger


def estimated(path, ledger, release_id="r"):
    public = np.random.default_rng(1).normal(0, 1, (40, 2))
    with pp.Curator(pp.PrivateTable.open(path, ["a", "b"]), ledger, "visits", HALF, release_id) as curator:
        return pp.estimate_gaussian(public, curator)


def test_a_replay_after_the_file_changed_keeps_the_first_number_of_rows(visits):
    """In provenance, estimate and errors; and it says so."""
    path, ledger = visits
    first = estimated(path, ledger)
    write(path, 2000, seed=5)
    with pytest.warns(UserWarning, match="has 2000 rows, and release id 'r' began with 3000"):
        again = estimated(path, ledger)
    assert again.provenance["n_private"] == 3000
    told = [{k: v for k, v in model.to_json().items() if k != "provenance"} for model in (first, again)]
    assert told[0] == told[1]


def test_a_run_that_was_cut_off_does_not_go_on_with_another_number_of_rows(visits):
    """Nothing is spent, and the message says what to do; with the file put back the same charge is answered."""
    path, ledger = visits
    kept = path.read_bytes()

    def entered():
        return pp.Curator(pp.PrivateTable.open(path, ["a", "b"]), ledger, "visits", HALF, "cut")

    curator = entered()
    curator.begin("mean", {}, "f00")
    curator._noise = None  # the scan's answer is lost
    with pytest.raises(PrivateStepFailed):
        curator.release(COUNTS, "mean/counts")
    spent = ledger.balance("visits").spent
    write(path, 2000)
    with pytest.warns(UserWarning, match="began with 3000"):
        curator = entered()
    for label in ("mean/counts", "mean/more"):
        with pytest.raises(InvalidInput, match=r"another release id, or put back what it was"):
            curator.release(COUNTS, label)
    handle = replace(curator.handle, table=pp.PrivateTable.open(path, ["a", "b"]))
    with pytest.warns(UserWarning, match="began with 3000"):
        curator = handle.open()
    with pytest.raises(InvalidInput, match="put back what it was"):
        curator.release(COUNTS, "mean/counts")
    curator.leave()
    path.write_bytes(kept)
    assert entered().release(COUNTS, "mean/counts").values
    assert ledger.balance("visits").spent == spent


def test_a_release_id_belongs_to_one_table(visits):
    """Another declared table of the dataset is another release, whoever asks."""
    path, ledger = visits
    estimated(path, ledger)
    other = pp.PrivateTable.open(path.parent.parent / "w.parquet", ["a"])
    with pytest.raises(SpecMismatch, match="use another release id"):
        pp.Curator(other, ledger, "visits", HALF, "r")
    handle = RunHandle(ledger.reference, "visits", "r", other)
    with pytest.raises(SpecMismatch, match="use another release id"):
        handle.open()
    share = ledger.run("visits", "r").bill().methods["gaussian"]
    assert (share["table"], share["n_rows"]) == (str(path), 3000)
    with pytest.raises(SpecMismatch, match="of 3000 rows, not with"):
        ledger.run("visits", "r").start("more", "{}", "f00", None, replace(other, n_rows=1))
