"""Made-up panels: whether intervals hold where a person has many rows, and whether `auto` counts the right number.

Persons have 1 to 50 rows (lognormal) or up to 1,000 (power law); rows of one person share a level that makes up a part
of their variance, and where sizes are informative it rises with the logarithm of their number. Two figures of each
panel: how many 95% intervals of means and variances hold those of the law, each person's rows weighed as the run counts
them; and the median error, for the rows as they are, of runs with `auto` over that of the number of rows which does
best in hindsight. Intervals are those of runs that are not refused as too noisy.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import product
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.grid import in_processes
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators.gaussian.driver import estimate_gaussian
from pubpriv.privacy.budgets import parse_budget

_BUDGETS = ("approx:1,1e-6", "approx:4,1e-6")
_MOST = (1, 2, 4, 8, 16, 32)
_D, _PUBLIC = 3, 60
_ALIKE = (0.0, 0.5, 0.9)
_SLOPE = 0.3
_NORMAL = 1.959964
_BOUND, _RATIO = 0.9, 1.15


@dataclass(frozen=True)
class Panel:
    """A law of tables.

    Attributes:
        sizes: `lognormal` or `power`.
        alike: intra-person correlation.
        slope: by which the mean of a person's rows rises with the logarithm of their number.
        persons: N.
    """

    sizes: str
    alike: float
    slope: float
    persons: int

    @property
    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of rows, share of the persons with each)."""
        if self.sizes == "power":
            rows = np.arange(1, 1001)
            return rows, rows**-2.0 / (rows**-2.0).sum()
        rows = np.arange(1, 51)
        shares = np.exp(-0.5 * ((np.log(rows) - np.log(4)) / 0.9) ** 2) / rows
        return rows, shares / shares.sum()

    def draw(self, random: np.random.Generator, persons: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows (n, d), whose they are (n,)) in any order."""
        rows, shares = self.shares
        sizes = random.choice(rows, persons, p=shares)
        who = random.permutation(np.repeat(np.arange(persons), sizes))
        level = np.sqrt(self.alike) * random.normal(size=(persons, _D)) + self._lifted(sizes)[:, None]
        return level[who] + np.sqrt(1 - self.alike) * random.normal(size=(len(who), _D)), who

    def _lifted(self, sizes: np.ndarray) -> np.ndarray:
        return np.asarray(self.slope * np.log(sizes))

    def moments(self, most: int) -> tuple[float, float]:
        """(mean, variance) of each column, where the rows of a person count as `most` at most."""
        rows, shares = self.shares
        weights = shares * np.minimum(rows, most)
        weights = weights / weights.sum()
        level = float(weights @ self._lifted(rows))
        return level, 1.0 + float(weights @ (self._lifted(rows) - level) ** 2)


def panels(largest: int) -> list[Panel]:
    """All laws up to so many persons; of more than 10,000 only those whose rows are half alike."""
    laws = product(("lognormal", "power"), _ALIKE, (0.0, _SLOPE), (1_000, 10_000, 100_000))
    made = (Panel(*law) for law in laws)
    return [each for each in made if each.persons <= largest and (each.persons <= 10_000 or each.alike == 0.5)]


def bench(runs: int, first_seed: int = 0, largest: int = 10_000, workers: int = 2) -> dict[str, Any]:
    """Measure each panel at each budget, over so many draws.

    Args:
        runs: draws of tables and noise, seeds `first_seed`, ...
        first_seed: of the first.
        largest: number of persons.
        workers: processes.
    """
    tasks = [(panel, first_seed + run) for panel in panels(largest) for run in range(runs)]
    found = [row for rows in in_processes(_run, tasks, workers) for row in rows]
    table = [_summary(panel, budget, found) for panel in panels(largest) for budget in _BUDGETS]
    return {
        "bench": "panels",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": mean(row["ratio"] for row in table),
        "ratio_of": "error for rows of a run with auto, over that of the best number of rows in hindsight, mean",
        "means": mean(row["means"] for row in table),
        "variances": mean(row["variances"] for row in table),
        "met": mean(row["ratio"] for row in table) <= _RATIO
        and all(mean(row[part] for row in table) >= _BOUND for part in ("means", "variances")),
        "rows": table,
    }


def _run(task: tuple[Panel, int]) -> list[dict[str, Any]]:
    """One draw of a panel, released at each budget with each number of rows."""
    panel, seed = task
    law = panel.persons, int(10 * panel.alike), int(10 * panel.slope), int(panel.sizes == "power")
    random = np.random.default_rng([seed, *law])
    rows, who = panel.draw(random, panel.persons)
    public, whose = panel.draw(random, _PUBLIC)
    table = PublicTable.open(public[np.unique(whose, return_index=True)[1]])  # a row of each public person
    found, noise = [], int(random.integers(2**31))  # one for all, so that they differ by L alone
    ways: tuple[int | str, ...] = (*_MOST, "auto")
    for budget, most in product(_BUDGETS, ways):
        told, counted, refused = _released(table, rows, who, budget, most, noise)
        held = () if refused else _held(told, *panel.moments(counted))
        off = _error(told, *panel.moments(1000))
        found.append({"panel": panel, "budget": budget, "most": most, "counted": counted, "held": held, "off": off})
    return found


def _released(
    table: PublicTable, rows: np.ndarray, who: np.ndarray, budget: str, most: int | str, seed: int
) -> tuple[Any, int, bool]:
    """(estimate, rows of a person that count, whether it would be refused as too noisy)."""
    for force in (False, True):
        curator = Curator.simulation(rows, parse_budget(budget), seed, persons=who, rows_per_person=most)
        try:
            told = estimate_gaussian(table, curator, target="moments", force=force)
        except (InvalidInput, NoAnswer):  # the second where counting the rows is paid for
            continue
        return told, int(curator.size.most or 1), force
    raise InvalidInput("a forced run was refused")


def _held(told: Any, level: float, variance: float) -> tuple[float, float]:
    """Shares of intervals of (means, variances) that hold the law's."""
    pairs = (told.mean, level, "mean"), (np.diag(told.covariance), variance, "covariance")
    shares = []
    for found, true, name in pairs:
        error = np.sqrt(sum(np.square(part) for part in told.standard_errors[name].values()))
        error = np.diag(error) if error.ndim == 2 else error
        shares.append(float(np.mean(np.abs(found - true) <= _NORMAL * error)))
    return shares[0], shares[1]


def _error(told: Any, level: float, variance: float) -> float:
    """Error of a whitened coordinate, of the mean and the covariance together."""
    off = told.covariance / variance - np.eye(_D)
    return float(np.sqrt((((told.mean - level) ** 2).sum() / variance + (off**2).sum()) / _D))


def _summary(panel: Panel, budget: str, found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    own = [row for row in found if row["panel"] == panel and row["budget"] == budget]
    errors = {most: median(row["off"] for row in own if row["most"] == most) for most in (*_MOST, "auto")}
    best = min(_MOST, key=lambda most: errors[most])
    means, variances = (mean([row["held"][part] for row in own if row["held"]] or [np.nan]) for part in (0, 1))
    return asdict(panel) | {
        "budget": budget,
        "means": means,
        "variances": variances,
        "best": best,
        "auto": median(row["counted"] for row in own if row["most"] == "auto"),
        "best_error": errors[best],
        "auto_error": errors["auto"],
        "ratio": errors["auto"] / errors[best],
    }
