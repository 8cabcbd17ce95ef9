"""The output tree: names that stay in their folder, files that a replay leaves alone, a latest that never ages."""

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release, simulated

from pubpriv import load
from pubpriv.errors import InvalidInput, LedgerViolation, Unavailable
from pubpriv.released.files import _numbers_table, _store_release
from pubpriv.released.kinds import GaussianEstimate
from pubpriv.released.numbers import QUANTITIES
from pubpriv.released.tree import ReleaseFiles, _safe_name, output_root
from pubpriv.schemas._checks import require
from pubpriv.schemas.public import FINITE, SOME_ROWS

NAMES = [
    "../x", "..", ".", "/etc/passwd", "a/b", "a\\b", ".hidden", "latest", "ä ö", "a%2Fb", "con:aux", "x\x00y", "\u202e",
    "-rf", "~", "a" * 60,
]  # fmt: skip

NUMBERS = pa.DataFrameSchema(
    {
        "dataset": pa.Column(str),
        "release_id": pa.Column(str),
        "created": pa.Column(str),
        "target": pa.Column(str, pa.Check.isin(list(GaussianEstimate.targets)), nullable=True),
        "quantity": pa.Column(str, pa.Check.isin(list(QUANTITIES))),
        "component": pa.Column("float64", pa.Check.ge(1), nullable=True, coerce=True),
        "column": pa.Column(str, nullable=True),
        "other_column": pa.Column(str, nullable=True),
        "value": pa.Column(float, FINITE),
        r"^error_(sampling|privacy|clipping|shrinkage)$": pa.Column(float, [FINITE, pa.Check.ge(0)], regex=True),
        "group": pa.Column(str, nullable=True),
        "state": pa.Column(str, pa.Check.isin(["good", "wide", "doubtful"]), nullable=True),
        "error_grid": pa.Column(float, [FINITE, pa.Check.ge(0)]),
        "rank": pa.Column("float64", pa.Check.in_range(0, 1), nullable=True, coerce=True),
        "level": pa.Column(str, nullable=True),
        "low": pa.Column("float64", nullable=True, coerce=True),
        "high": pa.Column("float64", nullable=True, coerce=True),
    },
    checks=SOME_ROWS,
    strict=True,
    ordered=True,
    unique=["group", "quantity", "component", "column", "other_column", "rank", "level"],
    unique_column_names=True,
)
"""Every released number as a row: what `<release id>.parquet` of the output tree holds for whoever reads it."""


def dated(estimate, created, release_id=None):
    """The same release as of another time."""
    told = estimate.to_json()
    told["provenance"]["created"] = created
    told["provenance"]["release_id"] = release_id or told["provenance"]["release_id"]
    return type(estimate).from_json(told)


def bytes_of(folder):
    """Every file of a tree with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_names_stay_in_their_folder(number, tmp_path):
    """Datasets and release ids of any text make files two levels below `models`, and nothing anywhere else."""
    name = NAMES[number]
    root = tmp_path / "root"
    file = _store_release(mean_release(release_id=name, dataset=name), root)
    assert file.is_file()
    assert file.resolve().parent.parent == (root / "models").resolve()
    assert {path.name for path in tmp_path.iterdir()} == {"root"}
    assert file.stem != "latest"
    assert load(file).provenance["release_id"] == name


def test_no_two_names_share_a_file():
    """Each name has a file of its own, also those that look like others' escapes."""
    names = [*NAMES, "a_b", "a b", "a%20b", "%2E", "%6Catest", "LATEST", "x", "X"]
    assert len({_safe_name(name) for name in names}) == len(names)
    assert _safe_name("2026-11-21T14_visits.v2") == "2026-11-21T14_visits.v2"


@pytest.mark.parametrize(
    "name", ["", "a" * 201, "ä" * 40, "\ud800"], ids=["empty", "long", "long when escaped", "half a character"]
)
def test_names_that_make_no_file_are_refused(name):
    """With what would do, before anything is written."""
    with pytest.raises(InvalidInput, match="is no name for a file"):
        _safe_name(name)


def test_a_release_is_four_files(tmp_path):
    """Model, table, page and the latest, which is the model."""
    estimate = mixture_release()
    file = _store_release(estimate, tmp_path)
    told = bytes_of(tmp_path)
    folder = "models/visits/"
    assert set(told) - {f"{folder}.lock"} == {
        folder + n for n in ("2026-11.json", "2026-11.parquet", "2026-11.html", "latest.json")
    }
    assert load(file).to_json() == estimate.to_json()
    assert told[f"{folder}latest.json"] == told[f"{folder}2026-11.json"]
    assert told[f"{folder}2026-11.html"].startswith(b"<!doctype html>")
    assert ReleaseFiles.of(estimate, tmp_path).model == file


def test_a_replay_changes_no_byte(tmp_path):
    """The same release made again later, by a newer version, leaves every file as it is."""
    _store_release(mean_release(), tmp_path)
    before = bytes_of(tmp_path)
    told = dated(mean_release(), "2027-01-01T00:00:00+00:00").to_json()
    told["provenance"]["version"] = "9.9"
    _store_release(type(mean_release()).from_json(told), tmp_path)
    assert bytes_of(tmp_path) == before


def test_what_was_lost_is_written_again(tmp_path):
    """Table and page are made from the model that is kept, to the same byte."""
    file = _store_release(mean_release(), tmp_path)
    before = bytes_of(tmp_path)
    for suffix in (".parquet", ".html"):
        file.with_suffix(suffix).unlink()
    (file.parent / "latest.json").write_text("{broken")
    _store_release(dated(mean_release(), "2027-01-01T00:00:00+00:00"), tmp_path)
    assert bytes_of(tmp_path) == before


def test_latest_never_goes_back(tmp_path):
    """It is the newest release by the time it was made, in whatever order they are stored."""
    base = mean_release()
    releases = [dated(base, f"2026-11-2{day}T00:00:00+00:00", f"r{day}") for day in (3, 1, 4, 2, 4, 1)]
    newest = []
    for estimate in releases:
        file = _store_release(estimate, tmp_path)
        newest.append(load(file.parent / "latest.json").provenance["release_id"])
    assert newest == ["r3", "r3", "r4", "r4", "r4", "r4"]


def test_of_one_day_the_latest_is_the_one_that_was_written_last(tmp_path):
    """Models have no time of day: whatever the ids, a new release is the latest, and a replay never is."""
    newest = []
    for release_id in ("r9", "r1", "r5", "r9", "r1"):
        file = _store_release(dated(mean_release(), "2026-11-21", release_id), tmp_path)
        newest.append(load(file.parent / "latest.json").provenance["release_id"])
    assert newest == ["r9", "r1", "r5", "r5", "r5"]
    (file.parent / "latest.json").unlink()
    for release_id in ("r1", "r5", "r9"):
        _store_release(dated(mean_release(), "2026-11-21", release_id), tmp_path)
    assert load(file.parent / "latest.json").provenance["release_id"] == "r5"


def test_models_with_a_time_and_without_follow_one_another(tmp_path):
    """What an older version wrote this morning is older than today's release, and not older than yesterday's."""
    newest = []
    for created in ("2026-11-21T23:59:59+00:00", "2026-11-21", "2026-11-20", "2026-11-22T00:00:01+00:00"):
        file = _store_release(dated(mean_release(), created, f"of-{created[8:10]}-{len(created)}"), tmp_path)
        newest.append(load(file.parent / "latest.json").provenance["created"])
    assert newest == ["2026-11-21T23:59:59+00:00", "2026-11-21", "2026-11-21", "2026-11-22T00:00:01+00:00"]


def test_another_release_under_one_id_is_refused(tmp_path):
    """One number that differs is another release: the kept file stays, and the message says what to do."""
    file = _store_release(mean_release(), tmp_path)
    before = bytes_of(tmp_path)
    with pytest.raises(LedgerViolation, match="another release under the same id") as refused:
        _store_release(mean_release(center=[1.0, 2.0000001]), tmp_path)
    assert refused.value.exit_code == 6
    assert str(file) in str(refused.value)
    assert bytes_of(tmp_path) == before


def test_a_simulation_is_no_release(tmp_path):
    """Nothing of it enters the tree."""
    with pytest.raises(InvalidInput, match="a simulation is no release"):
        _store_release(simulated(mean_release()), tmp_path)
    assert bytes_of(tmp_path) == {}


def test_public_rows_of_another_release_leave_nothing_behind(tmp_path):
    """The refusal comes before the first file."""
    from pubpriv.data.tables import PublicTable

    with pytest.raises(InvalidInput, match="are not those"):
        _store_release(mean_release(), tmp_path, PublicTable(("age", "cost"), np.zeros((2, 2))))
    assert not list(tmp_path.rglob("*.json"))


def test_a_disk_that_refuses_is_no_defect(tmp_path):
    """It says that the answers are kept and what to run again."""
    (tmp_path / "models").write_text("a file where a folder should be")
    with pytest.raises(Unavailable, match="which spends nothing"):
        _store_release(mean_release(), tmp_path)


def _store(folder, number):
    _store_release(dated(mean_release(), f"2026-11-21T00:00:{number:02}+00:00", f"r{number}"), folder)


def test_many_writers_at_once_leave_the_newest(tmp_path):
    """Eight writers, each with a lock file of its own opening, store eight releases: all are there, the latest is."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(_store, [tmp_path] * 8, range(8)))
    files = {path.name for path in (tmp_path / "models" / "visits").iterdir()}
    assert {f"r{number}.json" for number in range(8)} <= files
    assert not [name for name in files if name.startswith(".r")]
    assert load(tmp_path / "models" / "visits" / "latest.json").provenance["release_id"] == "r7"


def test_a_writer_waits_for_another(tmp_path):
    """While somebody else has the folder nothing is written, and then all of it is."""
    home = tmp_path / "models" / "visits"
    home.mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool, (home / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writer = pool.submit(_store, tmp_path, 1)
        assert not wait([writer], 0.7).done
        assert {path.name for path in home.iterdir()} == {".lock"}
        fcntl.flock(lock, fcntl.LOCK_UN)
        writer.result(30)
    assert (home / "latest.json").exists()


RELEASES = {
    "mean": (mean_release, 2),
    "gaussian": (gaussian_release, 2 + 3),
    "mixture": (mixture_release, 3 * (1 + 2 + 3)),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_the_table_holds_every_number(kind, tmp_path):
    """One row a number with both errors, the same columns for all kinds, as the schema says."""
    make, count = RELEASES[kind]
    estimate = make()
    frame = pd.read_parquet(_store_release(estimate, tmp_path).with_suffix(".parquet"))
    require(NUMBERS, frame, "the released numbers")
    assert len(frame) == count
    assert set(frame.dataset) == {"visits"}
    assert set(frame.release_id) == {"2026-11"}
    means = frame[frame.quantity == "mean"]
    assert means.value.tolist() == np.ravel(estimate.means if kind == "mixture" else estimate.mean).tolist()
    error = {"mean": 0.1, "gaussian": 0.1, "mixture": 0.05}[kind]
    assert np.allclose(means.error_privacy, 0.6 * error)
    assert np.allclose(means.error_sampling, 0.8 * error)
    assert frame.component.isna().all() == (kind != "mixture")


def test_the_table_tells_what_was_estimated(tmp_path):
    """`gaussian` or `moments` in every row; empty where nothing else could be meant."""
    for release_id, estimate, told in (
        ("r1", gaussian_release(release_id="r1", target="moments"), {"moments"}),
        ("r2", mean_release(release_id="r2"), {None}),
    ):
        frame = pd.read_parquet(_store_release(estimate, tmp_path).with_suffix(".parquet"))
        require(NUMBERS, frame, f"the numbers of {release_id}")
        assert {None if pd.isna(target) else target for target in frame.target} == told


@pytest.mark.parametrize("change", ["value", "error_privacy", "quantity", "extra", "twice"])
def test_a_wrong_table_is_seen(change):
    """What the schema is for: a number that is none, a negative error, another name, a column, a row too many."""
    frame = _numbers_table(mean_release()).to_pandas()
    require(NUMBERS, frame, "the released numbers")
    if change == "extra":
        frame["more"] = 1
    elif change == "twice":
        frame = pd.concat([frame, frame.iloc[:1]], ignore_index=True)
    else:
        frame.loc[0, change] = {"value": np.inf, "error_privacy": -1.0, "quantity": "median"}[change]
    with pytest.raises(InvalidInput):
        require(NUMBERS, frame, "the released numbers")


def test_the_root_is_named_by_the_environment(monkeypatch):
    """PUBPRIV_OUTPUT, with a home folder understood; empty is none."""
    monkeypatch.setenv("PUBPRIV_OUTPUT", "~/models")
    assert output_root() == Path(os.path.expanduser("~/models"))
    monkeypatch.setenv("PUBPRIV_OUTPUT", " ")
    assert output_root() is None


def test_the_newest_of_a_series_is_found_by_name(tmp_path):
    """A dataset with one series needs no more than its name; one with several says which there are."""
    home = tmp_path / "models" / "patients"
    home.mkdir(parents=True)
    assert ReleaseFiles.latest_of(tmp_path, "patients") is None
    (home / "latest-mean.json").touch()
    assert ReleaseFiles.latest_of(tmp_path, "patients") == home / "latest-mean.json"
    (home / "latest-by%20ward.json").touch()
    with pytest.raises(InvalidInput, match=r"name one of patients\.by ward, patients\.mean"):
        ReleaseFiles.latest_of(tmp_path, "patients")
    assert ReleaseFiles.latest_of(tmp_path, "patients.by ward") == home / "latest-by%20ward.json"
    (home / "latest.json").touch()
    assert ReleaseFiles.latest_of(tmp_path, "patients") == home / "latest.json"
