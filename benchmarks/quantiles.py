"""Quantiles of one column, over those of the same rows without privacy: rank errors, and what intervals hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups
from pubpriv.estimators.quantiles.plan import ratio

AT = np.array([0.1, 0.25, 0.5, 0.75, 0.9])

_Z, _TOLD = 1.96, 0.95

_BELOW_SAMPLE, _WORST, _OFF, _FORECAST, _FALSE = 0.015, 0.90, 0.93, 0.08, 0.02
"""Bounds of a row: coverage below that of the sample's own intervals, coverage of the worst quantile, coverage where
public rows are off, distance of the forecast, and runs that are flagged although their public rows are like the others.
A row whose runs are nearly all flagged has none."""

Distribution = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ColumnLaw:
    """A law of a column.

    Attributes:
        sample: (count, generator) to rows.
        up_to: P(x <= v).
        smooth: it has a density, so that errors are compared with those of a sample.
        at_zero: P(x = 0), for laws with zeros.
        step: of whole numbers.
        heap: a value that a share of the rows have.
        public: (count, generator) to public rows, if they are of another law.
    """

    sample: Callable[[int, np.random.Generator], np.ndarray]
    up_to: Distribution
    smooth: bool = True
    at_zero: float = 0.0
    step: float = 0.0
    heap: tuple[float, float] = (0.0, 0.0)
    public: Callable[[int, np.random.Generator], np.ndarray] | None = None

    def below(self, v: np.ndarray) -> np.ndarray:
        """Return P(x < v)."""
        return np.asarray(
            self.up_to(np.ceil(v) - 1)
            if self.step
            else self.up_to(v) - self.at_zero * (v == 0) - self.heap[1] * (v == self.heap[0])
        )


def _ages(n: int, g: np.random.Generator) -> np.ndarray:
    return np.where(g.random(n) < 0.7, 5 * np.rint(g.normal(9, 3, n)), np.rint(g.normal(45, 15, n)))


def _ages_up_to(v: np.ndarray) -> np.ndarray:
    fives, ones = 5 * (np.floor(v / 5) + 0.5), np.floor(v) + 0.5
    return np.asarray(0.7 * stats.norm.cdf(fives, 45, 15) + 0.3 * stats.norm.cdf(ones, 45, 15))


LAWS = {
    "gaussian": ColumnLaw(lambda n, g: g.normal(50, 10, n), lambda v: stats.norm.cdf(v, 50, 10)),
    "lognormal": ColumnLaw(lambda n, g: g.lognormal(3, 1.2, n), lambda v: stats.lognorm.cdf(v, 1.2, scale=np.exp(3))),
    "bimodal": ColumnLaw(
        lambda n, g: np.where(g.random(n) < 0.6, g.normal(0, 1, n), g.normal(12, 0.5, n)),
        lambda v: 0.6 * stats.norm.cdf(v) + 0.4 * stats.norm.cdf(v, 12, 0.5),
    ),
    "cauchy": ColumnLaw(lambda n, g: 3 * g.standard_cauchy(n), lambda v: stats.cauchy.cdf(v, 0, 3)),
    "uniform": ColumnLaw(lambda n, g: g.random(n), stats.uniform.cdf),
    "zeros": ColumnLaw(
        lambda n, g: np.where(g.random(n) < 0.35, 0.0, g.lognormal(6, 1, n)),
        lambda v: 0.35 * (v >= 0) + 0.65 * stats.lognorm.cdf(v, 1, scale=np.exp(6)),
        at_zero=0.35,
    ),
    "ages": ColumnLaw(_ages, _ages_up_to, smooth=False, step=1.0),
    "counts": ColumnLaw(
        lambda n, g: g.negative_binomial(1.2, 0.25, n).astype(float),
        lambda v: stats.nbinom.cdf(np.floor(v), 1.2, 0.25),
        smooth=False,
        step=1.0,
    ),
    "unseen-heap": ColumnLaw(
        lambda n, g: np.where(g.random(n) < 0.3, 30_000.0, g.lognormal(10, 1, n)),
        lambda v: 0.3 * (v >= 30_000) + 0.7 * stats.lognorm.cdf(v, 1, scale=np.exp(10)),
        smooth=False,
        heap=(30_000.0, 0.3),
        public=lambda n, g: g.lognormal(10, 1, n),
    ),
}
"""`ages` are heaped at fives, `counts` are those of visits, and no public row shows the heap of the last one."""

_SMOOTH = tuple(name for name, law in LAWS.items() if law.smooth)

_SEEN = tuple(name for name, law in LAWS.items() if law.public is None)

CELLS: tuple[tuple[str, int, float, int, float], ...] = (
    *((law, 1_000, 0.1, 100, 0.0) for law in _SEEN),
    *((law, 1_000, 0.5, 100, 0.0) for law in ("gaussian", "lognormal")),
    *(("lognormal", n, rho, 100, 0.0) for n, rho in ((1_000, 0.01), (5_000, 0.05), (5_000, 0.01))),
    ("lognormal", 1_000, 0.1, 30, 0.0),
    *((law, 1_000, 0.1, 100, shift) for law in ("gaussian", "lognormal") for shift in (1.0, 3.0, 10.0, 100.0, 1000.0)),
    ("lognormal", 100_000, 0.01, 100, 0.0),
    ("bimodal", 100_000, 0.1, 100, 0.0),
    ("lognormal", 1_000_000, 0.01, 100, 0.0),
    *(("unseen-heap", n, 0.1, 100, 0.0) for n in (1_000, 10_000)),
)
"""Law, private rows, rho, public rows, and by how many of their sds these are off."""


def bench(runs: int = 200, first_seed: int = 0, workers: int = WORKERS, laws: str = "all") -> dict[str, Any]:
    """Give one row per cell: errors of ranks over those of the sample, and what intervals hold.

    Args:
        runs: draws of each cell.
        first_seed: of the first draw.
        workers: processes.
        laws: names with commas between them; `all`.
    """
    chosen = [cell for cell in CELLS if laws == "all" or cell[0] in laws.split(",")]
    groups = [[(*cell, first_seed + run) for run in range(runs)] for cell in chosen]
    rows = list(map(_row, chosen, in_groups(_drawn, groups, workers)))
    return {
        "bench": "quantiles",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max((row["ratio"] / row["bound"] for row in rows if row["bound"] and not _told(row)), default=0.0),
        "ratio_of": "error of ranks over that of the sample, over its bound, largest of all rows that are not flagged",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _drawn(task: tuple[str, int, float, int, float, int]) -> dict[str, Any]:
    """Release one draw: errors (5,) of the ranks, and whether the intervals hold, for ours and for the sample."""
    name, n, rho, m, shift, seed = task
    law, generator = LAWS[name], np.random.default_rng([seed, n, m])
    rows, public = law.sample(n, generator), (law.public or law.sample)(m, generator)
    public = public + shift * public.std()
    curator = pp.Curator.simulation(rows[:, None], f"zcdp:{rho}", seed)
    made = pp.estimate_quantiles(public[:, None], curator, AT.tolist())
    ranks, reach = np.sort(rows), _Z * np.sqrt(AT * (1 - AT) * n)
    ends = np.clip([np.floor(AT * n - reach) - 1, np.ceil(AT * n + reach)], 0, n - 1).astype(int)
    return {
        "ours": rank_errors(law, made.quantiles[0]),
        "sample": rank_errors(law, ranks[np.ceil(AT * n).astype(int) - 1]),
        "held": _held(law, *made.intervals[0].T),
        "held_by_sample": _held(law, *ranks[ends]),
        "flagged": not made.converged,
    }


def rank_errors(law: ColumnLaw, values: np.ndarray) -> np.ndarray:
    """Return the distances (5,) of the ranks from what each value holds of the law; 0 where it holds the rank."""
    low, high = law.below(values), law.up_to(values)
    return np.where(low > AT, low - AT, np.where(high < AT, AT - high, 0.0))


def _held(law: ColumnLaw, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray((law.below(low) < AT) & (law.up_to(high) >= AT))


def _row(cell: tuple[str, int, float, int, float], draws: Sequence[dict[str, Any]]) -> dict[str, Any]:
    name, n, rho, m, shift = cell
    of = {key: np.array([draw[key] for draw in draws]) for key in draws[0]}
    sampling = np.sqrt(AT * (1 - AT) / n)
    ours, sample = (float(np.sqrt(np.mean((of[key] / sampling) ** 2))) for key in ("ours", "sample"))
    smooth, flagged = LAWS[name].smooth, float(of["flagged"].mean())
    bound = _bound(n * rho, shift) if smooth else None
    measured = ours / sample if smooth else None
    coverage, of_sample = float(of["held"].mean()), float(of["held_by_sample"].mean())
    predicted = float(np.sqrt(np.mean([ratio(n, 1, rho, share) ** 2 for share in AT.tolist()])))
    worst = float(of["held"].mean(axis=0).min())
    sound = not shift and LAWS[name].public is None
    holds = {
        "ratio": bound is None or measured is None or measured <= bound,
        "coverage": coverage >= (_OFF if shift > 0 else of_sample - _BELOW_SAMPLE),
        "coverage_worst": not sound or worst >= _WORST,
        "forecast": not sound or measured is None or abs(measured / predicted - 1) <= _FORECAST,
        "flagged": not sound or flagged <= _FALSE,
    }
    missed = [] if _told({"flagged": flagged}) else [of_what for of_what, held in holds.items() if not held]
    return {
        "law": name,
        "n": n,
        "rho": rho,
        "public": m,
        "shift": shift,
        "error": ours,
        "sample": sample,
        "ratio": measured,
        "bound": bound,
        "predicted": predicted,
        "worst": float(np.sqrt(np.mean((of["ours"] / sampling) ** 2, axis=0)).max()),
        "coverage": coverage,
        "coverage_worst": worst,
        "coverage_of_sample": of_sample,
        "flagged": flagged,
        "missed": ", ".join(missed),
        "met": not missed,
    }


def _told(row: dict[str, Any]) -> bool:
    """Return whether nearly all runs of a row are flagged."""
    return bool(row["flagged"] >= _TOLD)


def _bound(rows_times_rho: float, shift: float) -> float | None:
    """The ratio that is promised; none where noise is most of the error."""
    if shift:
        return 1.2 if shift <= 3 else 1.3
    if rows_times_rho < 100:
        return None
    return 1.03 if rows_times_rho >= 500 else 1.12
