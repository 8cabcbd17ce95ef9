"""Regressions of a released Gaussian beside other private regressions of the same rows, for the same zCDP.

- `released`: `estimate_gaussian`, and `regress` from it. It holds every other regression of these columns, too.
- `adassp`: AdaSSP (Wang 2018, algorithm 2) with Gaussian noise, of a third of rho each time. The paper takes bounds as
  known; here columns are standardised by the public rows, rows clipped at 1.5 sqrt(k), and outcomes at 3.
- `adassp_exact`: the same with the largest norm and outcome of the private rows as bounds, which leak: only shown.
- `public_ssp`: sufficient statistics with noise of half of rho each, of rows whitened by the covariance of the public
  rows; the outcome is what the regression of the public rows leaves.
- `opendp`: OpenDP's Theil-Sen regression, which takes one regressor. Its bounds are the ranges of the public rows, half
  as wide again on both sides.

Noise of AdaSSP and of `public_ssp` is for adding or removing a record, so half as large as for replacing one, which the
release protects: it is the more favourable choice for them. diffprivlib's regression is not here, because that library
cannot be installed beside this one.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from benchmarks.regression import Cell, cells_of, drawn_rows, least_squares_of
from pubpriv.errors import InvalidInput, PubPrivError

_SIZES = ((5_000, 1), (5_000, 3), (5_000, 10))

_CLEAR = 2.0
"""A rival is better if its squared error is smaller by so many standard errors of the difference."""

_REACH, _OUTCOME = 1.5, 3.0
"""Norm at which rows are clipped, in roots of their dimension, and where outcomes are: few Gaussian rows are."""


def bench(
    runs: int = 20,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    laws: str = "all",
    sizes: str = "all",
    fitted: bool = False,
) -> dict[str, Any]:
    """One row for each law and size: root mean square errors of coefficients over those of OLS, by way.

    Args:
        runs: draws of each cell.
        first_seed: of rows, public rows and noise.
        workers: processes.
        budget: of every way, as text: zcdp.
        laws: names with commas between them; `all`.
        sizes: n:d with commas between them; `all`.
        fitted: `released` is `estimate_regression`, not read from a Gaussian.

    Raises:
        InvalidInput: a budget of another kind.
    """
    parsed = pp.parse_budget(budget)
    if not isinstance(parsed, pp.ZeroConcentratedDP):
        raise InvalidInput("the ways are compared under zCDP: zcdp:0.5, for example")
    rho = float(parsed.rho)
    cells = cells_of(laws, sizes, _SIZES)
    jobs = [(cell, rho, first_seed + run, fitted) for cell in cells for run in range(runs)]
    drawn = defaultdict(list)
    for (cell, *_), found in zip(jobs, in_processes(_drawn, jobs, workers), strict=True):
        drawn[cell].append(found)
    rows = [_row(cell, drawn[cell]) for cell in cells]
    return {
        "bench": "regression",
        "part": "beside others",
        "fitted": fitted,
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(row["released"] / row["best_rival"] for row in rows if row["released"] is not None),
        "ratio_of": "our error over that of the best rival, largest of all rows",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _row(cell: Cell, drawn: list[dict[str, np.ndarray | None]]) -> dict[str, Any]:
    """Summarise a cell: it is met if no rival is clearly better."""
    limit = float(np.mean([np.asarray(each["ols"]) ** 2 for each in drawn]))
    told: dict[str, Any] = {"law": cell.law, "n": cell.n, "d": cell.d}
    squares: dict[str, np.ndarray] = {}
    for way in ("released", *_RIVALS):
        found = [each[way] for each in drawn]
        told[way] = None
        if all(each is not None for each in found):
            squares[way] = np.array([float(np.mean(np.asarray(each) ** 2)) for each in found])
            told[way] = float(np.sqrt(squares[way].mean() / limit))
    rivals = {way: told[way] for way in _RIVALS if told[way] is not None and way not in _LEAKING}
    best = min(rivals, key=lambda way: rivals[way])
    met = "released" in squares
    if met:
        apart = squares["released"] - squares[best]
        met = bool(apart.mean() <= _CLEAR * apart.std(ddof=1) / np.sqrt(len(apart)))
    return told | {"best_rival": rivals[best], "met": met}


def _drawn(job: tuple[Cell, float, int, bool]) -> dict[str, np.ndarray | None]:
    """Errors (d,) of one draw in OLS standard errors, by way; None where a way gives no answer."""
    cell, rho, seed, fitted = job
    rows, slopes, public, generator = drawn_rows(cell, seed)
    ols, errors, _ = least_squares_of(rows)
    found: dict[str, np.ndarray | None] = {"ols": ols, "released": None}
    try:
        curator = pp.Curator.simulation(rows, f"zcdp:{rho}", seed)
        outcome = curator.columns[-1]
        if fitted:
            found["released"] = pp.estimate_regression(public, curator, outcome=outcome, force=True).coefficients
        else:
            found["released"] = pp.estimate_gaussian(public, curator, force=True).regress(outcome).coef
    except PubPrivError:
        pass
    for way, rival in _RIVALS.items():
        found[way] = rival(rows, public, rho, generator)
    return {way: None if each is None else (each - slopes) / errors for way, each in found.items()}


def adassp(
    rows: np.ndarray, public: np.ndarray, rho: float, generator: np.random.Generator, exact: bool = False
) -> np.ndarray:
    """Regress with an adaptive ridge on noisy sufficient statistics; return slopes (d,)."""
    middle, scale = public.mean(axis=0), public.std(axis=0, ddof=1)
    z = (rows - middle) / scale
    x, y = np.column_stack([np.ones(len(z)), z[:, :-1]]), z[:, -1]
    k, lengths = x.shape[1], np.linalg.norm(x, axis=1)
    reach, outcome = (float(lengths.max()), float(np.abs(y).max())) if exact else (_REACH * np.sqrt(k), _OUTCOME)
    x, y = x * np.minimum(1, reach / lengths)[:, None], np.clip(y, -outcome, outcome)
    sd = 1 / np.sqrt(2 * rho / 3)
    gram = x.T @ x
    # the least eigenvalue is asked, less what noise may add to it in one run of twenty
    least = max(0.0, float(np.linalg.eigvalsh(gram)[0]) + sd * reach**2 * (generator.standard_normal() - 1.645))
    ridge = max(0.0, float(np.sqrt(k * np.log(2 * k**2 / 0.05))) * sd * reach**2 - least)
    noisy = gram + sd * reach**2 * _symmetric(k, generator) + ridge * np.eye(k)
    half = x.T @ y + sd * reach * outcome * generator.standard_normal(k)
    return np.asarray(np.linalg.solve(noisy, half)[1:] * scale[-1] / scale[:-1])


def public_ssp(rows: np.ndarray, public: np.ndarray, rho: float, generator: np.random.Generator) -> np.ndarray:
    """Regress what the public regression leaves on rows whitened by the public ones; return slopes (d,)."""
    middle = public.mean(axis=0)
    apart = public - middle
    start = np.linalg.lstsq(apart[:, :-1], apart[:, -1], rcond=None)[0]
    left = apart[:, -1] - apart[:, :-1] @ start
    width = float(np.sqrt(left @ left / (len(public) - public.shape[1])))
    turn = np.linalg.inv(np.linalg.cholesky(np.cov(apart[:, :-1].T).reshape(len(start), -1))).T
    off = rows - middle
    x = np.column_stack([np.ones(len(rows)), off[:, :-1] @ turn])
    y = np.clip((off[:, -1] - off[:, :-1] @ start) / width, -_OUTCOME, _OUTCOME)
    k, lengths = x.shape[1], np.linalg.norm(x, axis=1)
    reach = _REACH * np.sqrt(k)
    x = x * np.minimum(1, reach / lengths)[:, None]
    sd = 1 / np.sqrt(rho)
    noisy = x.T @ x + sd * reach**2 * _symmetric(k, generator)
    half = x.T @ y + sd * reach * _OUTCOME * generator.standard_normal(k)
    return np.asarray(start + width * turn @ np.linalg.solve(noisy, half)[1:])


def opendp(rows: np.ndarray, public: np.ndarray, rho: float, generator: np.random.Generator) -> np.ndarray | None:  # noqa: ARG001 - as all ways; it draws its own noise
    """Regress on one column by OpenDP's Theil-Sen; None for more columns."""
    if rows.shape[1] != 2:
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    low, high = public.min(axis=0), public.max(axis=0)
    low, high = low - (high - low) / 2, high + (high - low) / 2

    def fitted(scale: float) -> Any:
        return dp.sklearn.linear_model.LinearRegression(
            dp.zero_concentrated_divergence(),
            x_bounds=[(float(low[0]), float(high[0]))],
            y_bounds=(float(low[1]), float(high[1])),
            scale=scale,
            candidates_count=1_000,
        )

    scale = dp.binary_search(lambda s: fitted(s).measurement.map(2) <= rho, bounds=(1e-3, 1e4))
    return np.asarray(fitted(scale).fit(rows[:, :1], rows[:, 1]).coef_).reshape(1)


def adassp_exact(rows: np.ndarray, public: np.ndarray, rho: float, generator: np.random.Generator) -> np.ndarray:
    """Give AdaSSP the bounds of the private rows themselves."""
    return adassp(rows, public, rho, generator, exact=True)


_RIVALS: dict[str, Callable[..., np.ndarray | None]] = {
    "adassp": adassp,
    "adassp_exact": adassp_exact,
    "public_ssp": public_ssp,
    "opendp": opendp,
}


_LEAKING = ("adassp_exact",)
"""Ways that are not private: shown, but no rivals."""


def _symmetric(k: int, generator: np.random.Generator) -> np.ndarray:
    """Draw a symmetric matrix (k, k) of standard normal entries."""
    half = np.triu(generator.standard_normal((k, k)))
    return np.asarray(half + np.triu(half, 1).T)
