"""Private mixtures against the true-label oracle, and against the clock of scikit-learn's own EM."""

import time
import warnings
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.synthetic import SETTINGS, Setting, Truth, draw, draw_public, error, oracle
from pubpriv.errors import InvalidInput


def bench(name: str, budget: str, runs: int, clock: bool) -> dict[str, Any]:
    """Errors of `runs` simulated runs over the oracle's; with `clock`, time against scikit-learn as well."""
    if name not in SETTINGS:
        raise InvalidInput(f"setting must be one of {', '.join(SETTINGS)}, not {name!r}")
    setting = SETTINGS[name]
    found = [_run(setting, pp.parse_budget(budget), seed) for seed in range(runs)]
    told: dict[str, Any] = {
        "bench": "mixture",
        "setting": name,
        "budget": budget,
        "runs": runs,
        "success": sum(f["success"] for f in found) / runs,
        "ratio": median(f["mean_ratio"] for f in found),
        "ratio_of": "mean error over the true-label oracle's on the same rows, median",
        "covariance_ratio": median(f["covariance_ratio"] for f in found),
        "weight_ratio": median(f["weight_ratio"] for f in found),
    }
    return told | (_clock(setting, pp.parse_budget(budget)) if clock else {})


def _run(setting: Setting, budget: Any, seed: int) -> dict[str, float]:
    generator = np.random.default_rng(seed)
    truth = draw(setting, generator)
    public = draw_public(setting, truth, generator)
    rows, labels = truth.sample(setting.n, generator)
    estimate = pp.estimate_mixture(public, pp.Curator.simulation(rows, budget, seed), n_components=setting.k)
    ours = error(truth, Truth(estimate.weights, estimate.means, estimate.covariances))
    best = error(truth, oracle(rows, labels, setting.k))
    return {
        "success": float(ours.mean < max(0.5, 4 * best.mean)),
        "mean_ratio": ours.mean / best.mean,
        "covariance_ratio": ours.covariance / best.covariance,
        "weight_ratio": ours.weight / best.weight,
    }


def _clock(setting: Setting, budget: Any, repeats: int = 3) -> dict[str, float]:
    """Seconds of a real private fit (Parquet, ledger, system noise) over scikit-learn's EM, alternating, both warm."""
    from sklearn.mixture import GaussianMixture

    generator = np.random.default_rng(0)
    truth = draw(setting, generator)
    public = draw_public(setting, truth, generator)
    rows, _ = truth.sample(setting.n, generator)
    ratios, ours, theirs = [], 0.0, 0.0
    names = [f"x{i}" for i in range(setting.d)]
    with TemporaryDirectory() as folder:
        path = _parquet(rows, names, Path(folder) / "private.parquet")
        for repeat in range(repeats + 1):
            start = time.perf_counter()
            _private_fit(path, names, public, budget, repeat, setting.k)
            middle = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                GaussianMixture(setting.k, n_init=1, random_state=repeat).fit(rows)
            end = time.perf_counter()
            if repeat:  # the first turn warms both up
                ours, theirs = middle - start, end - middle
                ratios.append(ours / theirs)
    return {"time_ratio": median(ratios), "private_seconds": ours, "scikit_learn_seconds": theirs}


def _private_fit(path: Path, names: list[str], public: np.ndarray, budget: Any, number: int, k: int) -> None:
    table = pp.PrivateTable.open(path, names)
    with pp.Ledger.open(f"sqlite:///{path.parent}/ledger-{number}.db") as ledger:
        ledger.register("bench", budget=budget, table=table)
        with pp.Curator(table, ledger, "bench", budget) as curator:
            pp.estimate_mixture(public, curator, n_components=k)


def _parquet(rows: np.ndarray, names: list[str], path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: rows[:, i] for i, name in enumerate(names)}
    pq.write_table(pa.table(columns), path, row_group_size=-(-len(rows) // 8))
    return path
