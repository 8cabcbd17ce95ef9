"""Every build releases what the golden runs released, or something nearer to the truth, with the same verdicts."""

from copy import deepcopy

import numpy as np
import pytest

from golden.runs import all_runs, read

WORSE = 1.05
"""How much larger the errors of all runs of an estimator may be, as a geometric mean: the tables of docs/honest.md
decide, and these few runs show a change by accident."""

FURTHER = 1.0
"""Stated errors by which a single number may be further off: another draw of the noise."""

WIDER = 1.5
"""How much wider an interval may be."""


def complaints(golden, found):
    """Say what is worse than in the golden runs; nothing if nothing is."""
    yield from (f"{name}: only here or there" for name in golden.keys() ^ found.keys())
    for name in golden.keys() & found.keys():
        yield from (f"{name}: {complaint}" for complaint in _of_run(golden[name], found[name]))
    for estimator in ("mean", "gaussian", "mixture"):
        for error in ("mean_error", "covariance_error"):
            names = [name for name, run in found.items() if name.split()[0] == estimator and error in run]
            ratios = [found[name][error] / golden[name][error] for name in names]
            if ratios and np.exp(np.mean(np.log(ratios))) > WORSE:
                yield f"{estimator}: {error} is larger over all runs"


def _of_run(old, new):
    for verdict in ("flagged", "refused"):
        if old.get(verdict) != new.get(verdict):
            yield f"{verdict} was {old.get(verdict)}, is {new.get(verdict)}"
    for part in {"means", "variances"} & old.keys() & new.keys():
        off, error = np.abs(old[part]["off"]), np.array(old[part]["error"])
        if (np.abs(new[part]["off"]) > off + FURTHER * error).any():
            yield f"{part} are further off, {new[part]['off']} for {old[part]['off']}"
        if (np.array(new[part]["error"]) > WIDER * error + 1e-9).any():
            yield f"errors of {part} are wider, {new[part]['error']} for {old[part]['error']}"


@pytest.fixture(scope="module")
def golden():
    return read()


def test_this_build_is_no_worse_than_the_golden_runs(golden):
    assert not list(complaints(golden, all_runs())), "if this is meant: python -m tests.golden, and look at the diff"


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lambda run: run.update(flagged=not run["flagged"]), "flagged"),
        (lambda run: run["variances"]["off"].__setitem__(0, 9.0), "further off"),
        (lambda run: run["variances"]["error"].__setitem__(0, 9.0), "wider"),
        (lambda run: run.update(covariance_error=1e9 * run["covariance_error"]), "over all runs"),
    ],
)
def test_a_worse_build_is_told(golden, harm, complaint):
    found = deepcopy(golden)
    harm(found["gaussian t5 5000 5"])
    assert any(complaint in each for each in complaints(golden, found))
    assert not list(complaints(golden, golden))


def test_laws_and_tables_are_all_there(golden):
    assert sum(name.startswith("gaussian") for name in golden) == 27


@pytest.mark.parametrize("estimator", ["mean", "gaussian", "mixture"])
def test_sorted_rows_are_released_as_others(golden, estimator):
    assert golden[f"{estimator} sorted"] == golden[f"{estimator} sites"]
