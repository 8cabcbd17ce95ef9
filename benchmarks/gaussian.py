"""One Gaussian against its non-private estimate: tables of the mean, and of mean and covariance."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks import learner
from benchmarks.fits import real_fit, registered, write_rows
from benchmarks.grid import covers
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mean.settings import MeanSettings

_PARTS = ("all", "mean", "covariance")


@dataclass(frozen=True)
class MeanSetting:
    """N(k (1, ..., 1), I_d), n private rows and m public ones, and the ratio that must be reached at rho = 0.5.

    In few dimensions single errors vary more, so such a row is run `times` as often.
    """

    n: int
    d: int
    target: float
    k: float = 100.0
    m: int = 1
    times: int = 1

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(public rows, private rows)."""
        generator = np.random.default_rng([seed, self.n, self.d, int(self.k)])
        private = generator.standard_normal((self.n, self.d)) + self.k
        return generator.standard_normal((self.m, self.d)) + self.k, private

    def error(self, mean: np.ndarray) -> float:
        """Euclidean distance to the true mean."""
        return float(np.linalg.norm(mean - self.k))


MEAN_SETTINGS = {
    "50-200": MeanSetting(200, 50, 1.55),
    "50-1e3": MeanSetting(1_000, 50, 1.12),
    "50-1e4": MeanSetting(10_000, 50, 1.02),
    "50-1e3-k10": MeanSetting(1_000, 50, 1.12, k=10.0),
    "50-1e3-k1000": MeanSetting(1_000, 50, 1.12, k=1000.0),
    "200-1e3": MeanSetting(1_000, 200, 1.40),
    "10-1e3": MeanSetting(1_000, 10, 1.05, times=5),
}

_ROW_OF_REAL = "50-1e3"
"""The row that is repeated with a real curator."""

_Estimate = Callable[[np.ndarray, pp.Curator], Any]


def bench(
    part: str = "all", budget: str = "zcdp:0.5", runs: int = 100, method: str = "two-step", real: bool = True
) -> dict[str, Any]:
    """Ratios of errors to the non-private ones, 10% trimmed means on each side.

    Args:
        part: `mean`, `covariance` or `all`.
        budget: of every run, as text.
        runs: trials of every row.
        method: of the mean, see `estimate_mean`.
        real: repeat one row of the mean with a real curator, a ledger and the system's noise.

    Raises:
        InvalidInput: an unknown part or method, or a bad budget.
    """
    if part not in _PARTS:
        raise InvalidInput(f"part must be one of {', '.join(_PARTS)}, not {part!r}")
    if method not in MeanSettings.methods:
        raise InvalidInput(f"method must be one of {', '.join(MeanSettings.methods)}, not {method!r}")
    pp.parse_budget(budget)
    rows: list[dict[str, Any]] = []
    if part != "covariance":
        rows += [mean_row(name, budget, runs, method) for name in MEAN_SETTINGS]
        rows += [mean_row(_ROW_OF_REAL, budget, runs, method, real=True)] if real else []
    if part != "mean":
        rows += [_covariance_row(name, budget, runs) for name in learner.SETTINGS]
    return {
        "bench": "gaussian",
        "budget": budget,
        "runs": runs,
        "ratio": max(row["ratio"] / row["target"] for row in rows),
        "ratio_of": "largest error over the non-private error on the same rows, over what it must reach at zcdp:0.5",
        "rows": rows,
    }


def mean_row(name: str, budget: str, runs: int, method: str, real: bool = False) -> dict[str, Any]:
    """One row of the mean's table: `runs` trials of a setting, or more in few dimensions."""
    from scipy.stats import trim_mean

    setting, allotment = MEAN_SETTINGS[name], pp.parse_budget(budget)
    runs *= setting.times
    ours, best, estimates = [], [], []
    start = time.perf_counter()
    for seed in range(runs):
        public, private = setting.draw(seed)
        if real:
            estimate = real_run(public, private, budget, lambda p, c: pp.estimate_mean(p, c, method=method))
        else:
            curator = pp.Curator.simulation(private, allotment, seed)
            estimate = pp.estimate_mean(public, curator, method=method)
        ours.append(setting.error(estimate.mean))
        best.append(setting.error(private.mean(axis=0)))
        estimates.append(estimate)
    inside = [covers(e.mean, setting.k, e.standard_errors["mean"]) for e in estimates]
    return {
        "of": "mean",
        "setting": f"{name}, real curator" if real else name,
        "runs": runs,
        "ratio": float(trim_mean(ours, 0.1) / trim_mean(best, 0.1)),
        "target": setting.target,
        "predicted": estimates[0].diagnostics.get("predicted_ratio_to_non_private"),
        "covered": float(np.mean(inside)),
        "flagged": sum(not estimate.converged for estimate in estimates),
        "seconds_per_run": (time.perf_counter() - start) / runs,
    }


def _covariance_row(name: str, budget: str, runs: int) -> dict[str, Any]:
    """One row of the table of mean and covariance."""
    start = time.perf_counter()
    found = learner.bench(name, budget, runs)
    return {
        "of": "covariance",
        "setting": name,
        "runs": found["runs"],
        "ratio": found["ratio"],
        "target": found["target"],
        "flagged": found["flagged"],
        "bad": found["bad"],
        "seconds_per_run": (time.perf_counter() - start) / found["runs"],
    }


def real_run(public: np.ndarray, private: np.ndarray, budget: str, estimate: _Estimate) -> Any:
    """Estimate with a Parquet file, a ledger of its own that is thrown away, and the system's noise."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "private.parquet"
        names = write_rows(private, path)
        return real_fit(
            registered(path, names), path, names, pp.parse_budget(budget), lambda curator: estimate(public, curator)
        )
