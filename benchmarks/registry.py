"""Groups of columns that are no Gaussian's: how often intervals hold, beside those of the rows without privacy.

Two made-up tables with several rows of each person, in eight groups of a third down to a hundredth of the persons,
whose means, shares of zeros and spreads differ. `registry`: age, log of wages, log1p of hours (a heap of zeros far
below the others, and a tail on that side), log1p of a bonus that one row in thirty has, and the wages themselves.
`visits`: counts whose number goes with that of the rows of a person, costs that are often zero, a rare yes, and a
bounded score. The truth is that of a hundred times as many persons. `width` is the median error over that of the rows
by themselves, which counts persons as what they are.
"""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.grid import WORKERS, in_processes
from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.estimators.gaussian.driver import estimate_gaussian
from pubpriv.released.numbers import Z95

_SHARES = np.array([0.32, 0.24, 0.16, 0.11, 0.08, 0.05, 0.03, 0.01])
_BY = ByCategory("region", tuple("abcdefgh"))
_PERSONS, _PUBLIC, _TRUE, _MOST_ROWS = 4_000, 60, 400_000, 30

_Table = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows (n, d), whose they are (n,), and their groups (n,)."""

COLUMNS = {
    "registry": ("age", "log_wage", "log1p_hours", "log1p_bonus", "wage"),
    "visits": ("log1p_visits", "log1p_cost", "rare", "score"),
}


def bench(runs: int, first_seed: int = 0, budget: str = "zcdp:0.5", workers: int = WORKERS) -> dict[str, Any]:
    """Measure both tables, persons and rows protected.

    Args:
        runs: of each table and unit.
        first_seed: of the first run; the next ones follow.
        budget: of a run.
        workers: processes.
    """
    jobs = [(kind, unit, budget, first_seed + i) for kind in COLUMNS for unit in ("person", "row") for i in range(runs)]
    found = [each for run in in_processes(_run, jobs, workers) for each in run]
    rows = []
    for key in dict.fromkeys((each["table"], each["unit"], each["number"], each["column"]) for each in found):
        own = [each for each in found if (each["table"], each["unit"], each["number"], each["column"]) == key]
        groups, together = ([each for each in own if each["all"] is whole] for whole in (False, True))
        rows.append(
            dict(zip(("table", "unit", "number", "column"), key, strict=True))
            | {
                "held": float(np.mean([each["held"] for each in groups])),
                "non_private": float(np.mean([each["non_private"] for each in groups])),
                "furthest": max(each["off"] for each in groups),
                "width": float(np.nanmedian([each["width"] for each in groups])),
                "all_held": float(np.mean([each["held"] for each in together])),
                "all_width": float(np.median([each["width"] for each in together])),
            }
        )
    return {"bench": "registry", "runs": runs, "first_seed": first_seed, "budget": budget, "rows": rows}


def _run(job: tuple[str, str, str, int]) -> list[dict[str, Any]]:
    kind, unit, budget, seed = job
    random, persons = np.random.default_rng([seed, len(kind)]), unit == "person"
    rows, whose, groups = _TABLES[kind](_PERSONS, random)
    others, of, _ = _TABLES[kind](3 * _PUBLIC, random)
    public = others[np.unique(of, return_index=True)[1][:_PUBLIC]]
    if not persons:  # one row of each person, else rows are no sample of a law
        first = np.unique(whose, return_index=True)[1]
        rows, whose, groups = rows[first], whose[first], groups[first]
    curator = Curator.simulation(
        *(rows, budget, seed, COLUMNS[kind]),
        persons=whose if persons else None,
        groups=(_BY, np.array(_BY.values, dtype=object)[groups]),
    )
    estimate = estimate_gaussian(public, curator, force=True)
    place = {name: j for j, name in enumerate(COLUMNS[kind])}
    own = {name: _own(rows, whose, wanted) for name, wanted in _parts(groups).items()}

    found = []
    for number in estimate.numbers():
        if number.column is None or not (number.quantity == "mean" or number.is_variance) or own[number.group] is None:
            continue
        what, at = int(number.is_variance), place[number.column]
        true, (value, error) = _truth(kind)[number.group][what][at], (part[what, at] for part in own[number.group])
        found.append(
            {
                "table": kind,
                "unit": unit,
                "number": "variance" if what else "mean",
                "column": number.column,
                "all": number.group is None,
                "off": float(abs(number.value - true) / number.error),
                "held": abs(number.value - true) < Z95 * number.error,
                "non_private": abs(value - true) < Z95 * error,
                "width": number.error / error if error else np.nan,
            }
        )
    return found


def _own(rows: np.ndarray, whose: np.ndarray, wanted: np.ndarray) -> Any:
    """Means and variances of rows, (2, d), with their errors, where each person counts once; None if there are none."""
    if not wanted.any():
        return None
    rows, whose = rows[wanted], np.unique(whose[wanted], return_inverse=True)[1]
    weights = (1 / np.bincount(whose)[whose])[:, None]
    persons = int(whose.max()) + 1
    mean = (weights * rows).sum(axis=0) / persons
    variance = (weights * (rows - mean) ** 2).sum(axis=0) / persons
    errors = []
    for each in (rows - mean, (rows - mean) ** 2 - variance):
        sums = np.zeros((persons, rows.shape[1]))
        np.add.at(sums, whose, weights * each)
        errors.append(np.sqrt((sums**2).sum(axis=0)) / persons)
    return np.array([mean, variance]), np.array(errors)


@cache
def _truth(kind: str) -> dict[str | None, np.ndarray]:
    """Means and variances (2, d) of the law, by group."""
    rows, whose, groups = _TABLES[kind](_TRUE, np.random.default_rng(20_261))
    return {name: _own(rows, whose, wanted)[0] for name, wanted in _parts(groups).items()}


def _parts(groups: np.ndarray) -> dict[str | None, np.ndarray]:
    """Which rows are in each group, by name; None: all."""
    return {None: groups >= 0, **{name: groups == g for g, name in enumerate(_BY.values)}}


def _registry(persons: int, random: np.random.Generator) -> _Table:
    sizes = np.minimum(1 + random.poisson(np.exp(random.normal(0.8, 0.7, persons))), _MOST_ROWS)
    group = random.choice(len(_SHARES), persons, p=_SHARES)
    whose = np.repeat(np.arange(persons), sizes)
    n = len(whose)
    log_wage = 3.0 + (random.normal(0, 0.45, persons) + 0.06 * (group - 3))[whose] + random.normal(0, 0.3, n)
    idle = random.random(persons) < 0.03 + 0.02 * (group % 3)
    off = random.random(n) < np.where(idle[whose], 0.7, 0.03)
    hours = np.where(random.random(n) < 0.12, random.uniform(20, 1200, n), random.normal(1750, 350, n).clip(20))
    hours = np.where(off, 0, np.round(hours))
    paid = random.random(n) < 0.03 + 0.01 * (group[whose] % 2)
    bonus = np.where(paid, np.round(np.exp(random.normal(7, 1, n))), 0)
    age = np.round(random.normal(43, 12, persons).clip(18, 75))[whose] + random.integers(-2, 3, n)
    rows = np.column_stack([age, log_wage, np.log1p(hours), np.log1p(bonus), np.exp(log_wage)])
    return rows, whose, group[whose]


def _visits(persons: int, random: np.random.Generator) -> _Table:
    group = random.choice(len(_SHARES), persons, p=_SHARES[::-1])
    sick = random.gamma(1.2, 1.0, persons) * (1 + 0.1 * group)
    whose = np.repeat(np.arange(persons), 1 + random.poisson(2 * sick).clip(max=20))
    n = len(whose)
    visits = random.poisson(1.5 * sick[whose])
    cost = np.where(visits > 0, np.exp(4 + 0.3 * np.log1p(visits) + random.normal(0, 0.8, n)), 0.0)
    rare = random.random(n) < 0.02 + 0.01 * (group[whose] % 3)
    score = np.round(6 + 2 * random.standard_normal(n) - 0.2 * sick[whose]).clip(1, 10)
    return np.column_stack([np.log1p(visits), np.log1p(cost), rare, score]), whose, group[whose]


_TABLES = {"registry": _registry, "visits": _visits}
