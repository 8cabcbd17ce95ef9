"""Several rows of a person: how near a Gaussian of the RAND experiment comes, by how many rows of each person count.

Every person-year is private and the unit is the person, with all years. Two things may be meant: the mean and
covariance in which each person counts once (`person`), or those of the rows (`row`). Errors are root mean squares over
splits of one whitened coordinate, of the mean and of the covariance, for both. Beside them stands what a release would
be without weights: the rows asked one by one, at the price of a person with as many rows as anybody has.
"""

from typing import Any

import numpy as np

from benchmarks.grid import in_processes
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.deployments import randhie
from pubpriv.estimators.gaussian.driver import estimate_gaussian
from pubpriv.privacy.budgets import Purse, ZeroConcentratedDP, parse_budget

_BUDGETS = ("approx:1,1e-6", "approx:4,1e-6")
_MOST: tuple[int | str, ...] = (1, 3, "auto")
"""Rows of a person that count in full."""

_GROUP = "group privacy"

_Moments = tuple[np.ndarray, np.ndarray]


def bench(splits: int, first_seed: int = 0, workers: int = 2) -> dict[str, Any]:
    """Measure the errors of each way at each budget, over so many splits.

    Args:
        splits: of people into public, private and held-out ones, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of splits and noise.
        workers: processes.
    """
    found = [row for rows in in_processes(_split, [first_seed + i for i in range(splits)], workers) for row in rows]
    ways = [*(f"L = {most}" for most in _MOST), _GROUP]
    table = [_summary(way, budget, found) for budget in _BUDGETS for way in ways]
    once, group = (_at(table, way, _BUDGETS[-1])["row_covariance"] for way in (ways[0], _GROUP))
    return {
        "bench": "persons",
        "splits": splits,
        "first_seed": first_seed,
        "ratio": group / once,
        "ratio_of": "error of a covariance of rows by group privacy, over that with each person counted once",
        "rows": table,
    }


def _split(seed: int) -> list[dict[str, Any]]:
    """One split, released in every way at every budget."""
    parts = randhie.split(seed, randhie.ALL_YEARS)
    public, rows = (PublicTable.open(part, randhie.COLUMNS).rows for part in (parts.public, parts.private))
    persons = parts.private[randhie.PERSON].to_numpy()
    own = np.bincount(persons)[persons]
    truths = {"person": _moments(rows, 1 / own), "row": _moments(rows, np.ones(len(rows)))}
    found = []
    for text in _BUDGETS:
        budget = parse_budget(text)
        for most in _MOST:
            curator = Curator.simulation(rows, budget, seed, persons=persons, rows_per_person=most)
            found.append(_told(f"L = {most}", text, public, curator, truths))
        rho = Purse.of(budget).rho / int(own.max()) ** 2
        curator = Curator.simulation(rows, ZeroConcentratedDP(f"{rho:.12f}"), seed)
        found.append(_told(_GROUP, text, public, curator, truths))
    return found


def _told(way: str, budget: str, public: np.ndarray, curator: Curator, truths: dict[str, _Moments]) -> dict[str, Any]:
    released = estimate_gaussian(public, curator, target="moments", force=True)
    errors: dict[str, Any] = {}
    for name, truth in truths.items():
        errors[f"{name}_mean"], errors[f"{name}_covariance"] = _errors(released.mean, released.covariance, *truth)
    return {"way": way, "budget": budget, **errors}


def _moments(rows: np.ndarray, weights: np.ndarray) -> _Moments:
    """Weighted mean (d,) and covariance (d, d) of rows that nobody protects here: open data."""
    mean = weights @ rows / weights.sum()
    moved = rows - mean
    return mean, (moved.T * weights) @ moved / weights.sum()


def _errors(mean: np.ndarray, covariance: np.ndarray, true: np.ndarray, spread: np.ndarray) -> tuple[float, float]:
    """(of the mean, of the covariance), where the true covariance is the identity, per coordinate."""
    values, vectors = np.linalg.eigh(spread)
    whitening = (vectors / np.sqrt(values)).T
    d = len(true)
    off = whitening @ covariance @ whitening.T - np.eye(d)
    return float(np.linalg.norm(whitening @ (mean - true)) / d**0.5), float(np.linalg.norm(off) / d**0.5)


def _summary(way: str, budget: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    own = [row for row in found if (row["way"], row["budget"]) == (way, budget)]
    names = [name for name in own[0] if name not in ("way", "budget")]
    return {"way": way, "budget": budget} | {
        name: float(np.sqrt(np.mean([row[name] ** 2 for row in own]))) for name in names
    }


def _at(table: list[dict[str, Any]], way: str, budget: str) -> dict[str, Any]:
    return next(row for row in table if (row["way"], row["budget"]) == (way, budget))
