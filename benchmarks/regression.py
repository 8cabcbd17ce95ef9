"""Regressions of a released Gaussian beside ordinary least squares of the same rows, which is the limit.

Rows (x, y) have y = x b + e. A release of their mean and covariance is made by `estimate_gaussian` with its default
settings, and `regress` reads the regression of y on all of x from it. An error is that of a coefficient in OLS standard
errors of the same rows. `ratio` is the root of its mean square over that of OLS. For paired draws it is the root of 1
+ (what the release adds to the error of OLS)^2 / (that of OLS)^2, which varies far less from run to run.

| law | |
|---|---|
| `gauss` | Gaussian regressors with correlations of .4, units from 0.1 to 30, Gaussian errors |
| `condition-1e4`, `-1e8` | the same, with covariances of x whose largest eigenvalue is so many times the smallest one |
| `binary` | every second regressor is 0 or 1, 1 in three rows of ten |
| `t5` | errors of Student's t with 5 degrees of freedom |
| `uneven` | errors whose standard deviation is exp(x1 / 2) |
| `lognormal` | every second regressor is lognormal, of log-sd .8 |

Bounds are for the first three. The others show what the free regression does where rows are not like a Gaussian's.

A fitted regression (`fitted`) is `estimate_regression`, with bounds for all laws. It clips scores, a weight that often
does better than OLS where scatter is uneven: what it adds to the error of OLS is then no loss, so its ratio is the
unpaired one. Errors of OLS are those of White's sandwich (HC1), for its units and for what its intervals hold.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from pubpriv.errors import PubPrivError
from pubpriv.released.numbers import State

_CONDITIONS = {"condition-1e4": 1e4, "condition-1e8": 1e8}

_BOUNDED = ("gauss", *_CONDITIONS)

LAWS = (*_BOUNDED, "binary", "t5", "uneven", "lognormal")

_SIZES = ((1_000, 3), (5_000, 3), (5_000, 10), (20_000, 10), (20_000, 20))

_ENOUGH = 5_000
"""Rows from which on there is a bound."""

_FITTED, _FITTED_LOGNORMAL, _FITTED_MOST, _FITTED_LEVEL = 1.15, 1.35, 10, 0.92
"""Largest ratio of a fitted regression, of lognormal regressors, up to how many regressors, and least coverage."""

_LEVEL, _MARKED = 0.90, 0.10
"""Least share of 95% intervals that hold the truth, and largest share of coefficients that may be marked instead."""


def bound_of(law: str, n: int, d: int, fitted: bool = False) -> float | None:
    """Return the largest ratio that a cell may have; None: it has no bound."""
    if fitted:
        largest = _FITTED_LOGNORMAL if law == "lognormal" else _FITTED
        return largest if n >= _ENOUGH and d <= _FITTED_MOST else None
    if law not in _BOUNDED or n < _ENOUGH:
        return None
    return 1.15 if d > 10 else 1.12


@dataclass(frozen=True)
class Cell:
    """Rows of a law: n private ones, of d regressors and an outcome."""

    law: str
    n: int
    d: int


def bench(
    runs: int = 40,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    laws: str = "all",
    sizes: str = "all",
    fitted: bool = False,
) -> dict[str, Any]:
    """One row for each law and size: errors of coefficients beside those of OLS, and how often intervals hold.

    Args:
        runs: draws of each cell.
        first_seed: of rows, public rows and noise.
        workers: processes.
        budget: of every run, as text.
        laws: names with commas between them; `all`.
        sizes: n:d with commas between them; `all`.
        fitted: regressions that are fitted, not read from a Gaussian.

    Raises:
        InvalidInput: a bad budget.
    """
    pp.parse_budget(budget)
    cells = cells_of(laws, sizes, _SIZES)
    jobs = [(cell, budget, first_seed + run, fitted) for cell in cells for run in range(runs)]
    drawn = defaultdict(list)
    for (cell, *_), found in zip(jobs, in_processes(_drawn, jobs, workers), strict=True):
        drawn[cell].append(found)
    rows = [_row(cell, drawn[cell], fitted) for cell in cells]
    bounded = [row for row in rows if row["met"] is not None]
    return {
        "bench": "regression",
        "fitted": fitted,
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max((row["ratio"] for row in bounded if row["ratio"] is not None), default=None),
        "ratio_of": "errors of coefficients over those of OLS of the same rows, largest of the rows with a bound",
        "met": all(row["met"] for row in bounded),
        "rows": rows,
    }


def cells_of(laws: str, sizes: str, usual: tuple[tuple[int, int], ...]) -> list[Cell]:
    """Read cells from names of laws and sizes n:d with commas between them; `all`: all laws, the `usual` sizes."""
    named = LAWS if laws == "all" else tuple(laws.split(","))
    chosen = usual if sizes == "all" else tuple((int(n), int(d)) for n, d in (s.split(":") for s in sizes.split(",")))
    return [Cell(law, n, d) for law in named for n, d in chosen]


def drawn_rows(cell: Cell, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """Draw (private rows, slopes, public rows) of a cell, and return the generator behind them."""
    generator = np.random.default_rng([seed, cell.n, cell.d, LAWS.index(cell.law)])
    rows, slopes = draw(cell.law, cell.n, cell.d, generator)
    public, _ = draw(cell.law, max(40, 4 * (cell.d + 2)), cell.d, generator)
    return rows, slopes, public, generator


def _row(cell: Cell, drawn: list[dict[str, np.ndarray] | None], fitted: bool = False) -> dict[str, Any]:
    found = [each for each in drawn if each is not None]
    told = {"law": cell.law, "n": cell.n, "d": cell.d, "refused": len(drawn) - len(found)}
    bound = bound_of(cell.law, cell.n, cell.d, fitted)
    if not found:
        return told | {"ratio": None, "bound": bound, "met": None if bound is None else False}
    of = {name: np.array([each[name] for each in found]) for name in found[0]}
    limit = float((of["ols"] ** 2).mean())
    paired = float(np.sqrt(1 + ((of["released"] - of["ols"]) ** 2).mean() / limit))
    unpaired = float(np.sqrt((of["released"] ** 2).mean() / limit))
    ratio, level = (unpaired, _FITTED_LEVEL) if fitted else (paired, _LEVEL)
    marked, good = float(of["marked"].mean()), ~of["marked"]
    held = float(of["held"][good].mean()) if good.any() else None
    met = None
    if bound is not None:
        met = ratio <= bound and held is not None and held >= level and marked <= _MARKED and told["refused"] == 0
    return told | {
        "ratio": ratio,
        "paired": paired,
        "unpaired": unpaired,
        "bound": bound,
        "coverage": held,
        "ols_coverage": float(of["ols_held"].mean()),
        "worst": float(of["held"].mean(axis=0).min()),
        "width": float(np.median(of["width"])),
        "marked": marked,
        "met": met,
    }


def _drawn(job: tuple[Cell, str, int, bool]) -> dict[str, np.ndarray] | None:
    """Release one draw: errors (d,) in OLS standard errors, and whether intervals hold; None if it was refused."""
    cell, budget, seed, fitted = job
    rows, slopes, public, _ = drawn_rows(cell, seed)
    ols, errors, reach = least_squares_of(rows, robust=fitted)
    curator = pp.Curator.simulation(rows, pp.parse_budget(budget), seed)
    try:
        if fitted:
            found = pp.estimate_regression(public, curator, outcome=curator.columns[-1], force=True).regression
        else:
            found = pp.estimate_gaussian(public, curator, force=True).regress(curator.columns[-1])
    except PubPrivError:
        return None
    slopes_found = found.coefficients[1:]
    ends = np.array([each.interval() for each in slopes_found])
    return {
        "ols": (ols - slopes) / errors,
        "ols_held": np.abs(ols - slopes) < reach * errors,
        "released": (found.coef - slopes) / errors,
        "held": (ends[:, 0] < slopes) & (slopes < ends[:, 1]),
        "marked": np.array([each.state == State.DOUBTFUL for each in slopes_found]),
        "width": np.array([each.error for each in slopes_found]) / errors,
    }


def draw(law: str, n: int, d: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows (n, d + 1) of x and y, and give the true slopes (d,); slopes and units are the same in every draw."""
    world = np.random.default_rng([d, LAWS.index(law)])
    root = np.linalg.cholesky(0.4 * np.ones((d, d)) + 0.6 * np.eye(d))
    slopes = 0.4 * world.standard_normal(d)
    if law in _CONDITIONS:
        turn = np.linalg.qr(world.standard_normal((d, d)))[0]
        widths = np.geomspace(1, 1 / np.sqrt(_CONDITIONS[law]), d)
        root = turn * widths
        slopes = turn @ (0.4 * world.standard_normal(d) / widths)  # each direction explains as much
    x = generator.standard_normal((n, d)) @ root.T
    if law == "lognormal":
        x[:, ::2] = (np.exp(0.8 * x[:, ::2]) - np.exp(0.32)) / np.sqrt(np.expm1(0.64) * np.exp(0.64))
    if law == "binary":
        x[:, ::2] = x[:, ::2] > 0.524
    e = generator.standard_t(5, n) / np.sqrt(5 / 3) if law == "t5" else generator.standard_normal(n)
    if law == "uneven":
        e = e * np.exp(0.5 * x[:, 0] - 0.25)
    units = 10 ** world.uniform(-1, 1.5, d)
    outcome = 5 + 2 * (x @ slopes + e)
    return np.column_stack([x * units + 3 * world.standard_normal(d), outcome]), 2 * slopes / units


def least_squares_of(rows: np.ndarray, robust: bool = False) -> tuple[np.ndarray, np.ndarray, float]:
    """Regress the last column on the others: slopes (d,), their standard errors (d,), and Student's t for 95%.

    If `robust`, errors are those of White's sandwich, HC1.
    """
    from scipy.stats import t

    n, d = len(rows), rows.shape[1] - 1
    scales = rows.std(axis=0)
    z = (rows - rows.mean(axis=0)) / scales
    slopes, *_ = np.linalg.lstsq(z[:, :-1], z[:, -1], rcond=None)
    left = z[:, -1] - z[:, :-1] @ slopes
    freedom = n - d - 1
    inverse = np.linalg.inv(np.linalg.qr(z[:, :-1], mode="r"))
    errors = np.sqrt((inverse**2).sum(axis=1) * (left @ left) / freedom)
    if robust:
        weights = z[:, :-1] @ inverse @ inverse.T
        errors = np.sqrt(((weights * left[:, None]) ** 2).sum(axis=0) * n / freedom)
    turn = scales[-1] / scales[:-1]
    return slopes * turn, errors * turn, float(t.ppf(0.975, freedom))
