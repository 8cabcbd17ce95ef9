"""What is wrong with public rows is what the bench says, and harm is caught where it is done."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import shift
from pubpriv.cli.main import app
from pubpriv.errors import InvalidInput

ONE, THREE = np.zeros((1, 5)), 6.0 * np.eye(5)[:3]


def spoiled(kind, level, means=ONE, m=3_000):
    return shift._spoiled(kind, level, means, m, np.random.default_rng(5))


def test_public_rows_are_spoiled_as_said():
    """Against the same rows from the true law: by a distance, a factor, one direction, a share, copies, or fewer."""
    clean = spoiled("clean", 0.0)
    assert np.abs(np.cov(clean.T) - np.eye(5)).max() < 0.12
    moved = spoiled("shift", 3) - clean
    assert np.linalg.norm(moved, axis=1) == pytest.approx(np.full(3_000, 3.0))
    assert np.ptp(moved, axis=0).max() < 1e-12
    assert spoiled("wider", 4) == pytest.approx(2 * clean)
    assert spoiled("narrower", 100) == pytest.approx(clean / 10)
    lines = {kind: np.linalg.eigvalsh(np.cov(spoiled(kind, 100).T)) for kind in ("wider line", "narrower line")}
    assert lines["wider line"] == pytest.approx([1, 1, 1, 1, 100], rel=0.15)
    assert lines["narrower line"] == pytest.approx([0.01, 1, 1, 1, 1], rel=0.15)
    far = np.linalg.norm(spoiled("garbage", 0.05) - clean, axis=1)
    assert sorted(set(far.round(6))) == [0, 50]
    assert (far > 1).sum() == 150
    assert len(np.unique(spoiled("copies", 3, m=30), axis=0)) == 10
    assert spoiled("few", 6).tolist() == clean[:6].tolist()


def test_components_of_public_rows():
    """All have the same share; a missing one has no row."""
    nearest = np.linalg.norm(spoiled("clean", 0.0, THREE)[:, None] - THREE, axis=2).argmin(axis=1)
    assert np.bincount(nearest).tolist() == [1_000] * 3
    nearest = np.linalg.norm(spoiled("missing", 1, THREE)[:, None] - THREE, axis=2).argmin(axis=1)
    assert np.bincount(nearest).tolist() == [1_500] * 2


def run(error=1.0, flagged=False):
    return {"refused": None, "flagged": flagged, "mean": 1.0, "covariance": error}


REFUSED = {"refused": "too few public rows"}
LEVELS = {
    "as good": ([run(1.09)] * 10, (True, False)),
    "a tenth worse": ([run(1.11)] * 10, (False, False)),
    "one bad run": ([run()] * 9 + [run(3.0)], (False, False)),
    "flagged": ([run(9.0, True)] * 9 + [run(9.0)], (False, True)),
    "the bad runs are flagged": ([run(9.0, True)] * 5 + [run()] * 5, (False, True)),
    "good runs are flagged": ([run(flagged=True)] * 2 + [run()] * 8, (False, True)),
    "one is flagged": ([run(flagged=True)] + [run()] * 9, (True, True)),
    "refused": ([REFUSED] * 10, (False, True)),
}


@pytest.mark.parametrize("case", LEVELS)
def test_harm_and_whether_it_is_caught(case):
    """Errors of all runs are compared, and those of runs that are not flagged."""
    rows, (harmless, caught) = LEVELS[case]
    row = shift._level(("gaussian", "shift", 3.0), rows, [run()] * 10)
    assert (row["harmless"], row["caught"]) == (harmless, caught)
    assert row["refused"] == (1.0 if case == "refused" else 0.0)


def test_limits_are_the_last_level_without_harm():
    """A level that is harmless again does not count; what comes after is caught, or neither."""

    def level(value, harmless=False, caught=False, kind="shift"):
        return {"estimator": "mean", "kind": kind, "level": value, "harmless": harmless, "caught": caught}

    clean = level(0.0, harmless=True, kind="clean")
    table = [clean, level(1, True), level(2, caught=True), level(3), level(4, harmless=True), level(2, kind="wider")]
    assert list(shift._limits(table)) == [
        {
            "estimator": "mean",
            "kind": "shift",
            "tried_to": 4,
            "harmless_to": 1,
            "caught": [2],
            "neither": [3],
            "met": False,
        },
        {
            "estimator": "mean",
            "kind": "wider",
            "tried_to": 2,
            "harmless_to": None,
            "caught": [],
            "neither": [2],
            "met": False,
        },
    ]


def test_a_gaussian_does_not_mind_a_shift():
    """Public rows one standard deviation off: the same errors within five per cent; a run is the same again."""
    task = ("gaussian", "shift", 1.0, 3, "zcdp:0.5", None)
    ours, clean = shift.run_of(task), shift.run_of(("gaussian", "clean", 0.0, 3, "zcdp:0.5", None))
    assert shift.run_of(task) == ours
    assert ours["covariance"] == pytest.approx(clean["covariance"], rel=0.05)
    assert not ours["flagged"]


def test_the_command_prints_levels_and_limits(monkeypatch):
    """A row for each kind; lists of levels are written out."""
    monkeypatch.setattr(shift, "run_of", lambda task: run(1.0 + (task[1] == "shift" and task[2] > 10 and task[5] == 7)))
    options = ["bench", "shift", "--estimator", "gaussian", "--runs", "2", "--workers", "1", "--n", "7"]
    found = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    limits = {row["kind"]: row for row in found["rows"]}
    assert set(limits) == {"shift", "wider", "narrower", "wider line", "narrower line", "garbage", "copies", "few"}
    assert (limits["shift"]["harmless_to"], limits["shift"]["neither"]) == (10, [30, 100, 1e3, 1e4])
    assert limits["few"]["harmless_to"] == 6
    assert not found["met"]
    assert "30, 100, 1000, 10000" in CliRunner().invoke(app, options).stdout


def test_an_unknown_estimator_is_refused():
    """In words, before any run."""
    done = CliRunner().invoke(app, ["bench", "shift", "--estimator", "median"])
    assert isinstance(done.exception, InvalidInput)
    assert "mean, gaussian, mixture" in str(done.exception)
