"""Private mixtures against the true-label oracle, and against the clock of scikit-learn's own EM."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.fits import real_fit, registered, write_rows
from benchmarks.grid import WORKERS, in_processes, runs_of, summary
from benchmarks.synthetic import SETTINGS, TABLES, Setting, draw, draw_public
from pubpriv.errors import InvalidInput


def bench(
    name: str, budget: str, runs: int, clock: bool, first_seed: int = 0, workers: int = WORKERS
) -> dict[str, Any]:
    """Errors of `runs` simulated runs over the oracle's; with `clock`, time against scikit-learn as well.

    Args:
        name: of the setting.
        budget: of each run, as text.
        runs: draws of rows, public rows and noise, seeds `first_seed`, `first_seed` + 1, ...
        clock: also time real fits, one process at a time.
        first_seed: see `runs`.
        workers: processes of the simulated runs.

    Raises:
        InvalidInput: an unknown setting, or a bad budget.
    """
    if name not in SETTINGS:
        raise InvalidInput(f"setting must be one of {', '.join(SETTINGS)}, not {name!r}")
    allotment = pp.parse_budget(budget)
    tasks = [(name, (budget,), first_seed + run) for run in range(runs)]
    found = [row for rows in in_processes(runs_of, tasks, workers) for row in rows]
    row = summary(name, budget, found)
    summed_up = {
        "bench": "mixture",
        "ratio": row["mean_ratio"],
        "ratio_of": "mean error over the true-label oracle's on the same rows, median",
        "first_seed": first_seed,
    }
    return summed_up | row | (clocked(name, allotment) if clock else {})


def clocked(name: str, budget: Any) -> dict[str, Any]:
    """Time a private and a non-private fit of a setting; with what their ratio must not exceed."""
    bound = TABLES["clock"].get(name)
    times = _clock(SETTINGS[name], budget)
    return times if bound is None else times | {"time_bound": bound, "time_met": times["time_ratio"] <= bound}


_PAUSE = 0.3
"""Seconds before each fit: threads of the other one wait busily for a while after it ends."""


def _clock(setting: Setting, budget: Any, repeats: int = 10) -> dict[str, Any]:
    """Median processor seconds of a real private fit and of scikit-learn's EM, of all their threads, and their ratio.

    The private one reads Parquet, charges a ledger that is there, and draws system noise. They alternate, both warm; EM
    starts elsewhere each time, so its seconds differ by a third. By the clock on the wall, ratios of single turns
    differ several times over: their range is told, too.
    """
    from sklearn.mixture import GaussianMixture

    generator = np.random.default_rng(0)
    truth = draw(setting, generator)
    public = draw_public(setting, truth, generator)
    rows, _ = truth.sample(setting.n, generator)
    ours, theirs = [], []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "private.parquet"
        names = write_rows(rows, path, row_groups=8)
        ledger = registered(path, names)
        for repeat in range(repeats + 1):
            private = _seconds_of(real_fit, ledger, path, names, budget, partial(_estimated, public, setting.k))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plain = _seconds_of(GaussianMixture(setting.k, n_init=1, random_state=repeat).fit, rows)
            if repeat:  # the first turn warms both up
                ours.append(private)
                theirs.append(plain)
    used, other = (median(cpu for cpu, _ in each) for each in (ours, theirs))
    walls = [mine / its for (_, mine), (_, its) in zip(ours, theirs, strict=True)]
    return {
        "time_ratio": used / other,
        "private_seconds": used,
        "scikit_learn_seconds": other,
        "wall_ratio": median(walls),
        "wall_ratio_range": [min(walls), max(walls)],
    }


def _estimated(public: np.ndarray, k: int, curator: pp.Curator) -> Any:
    return pp.estimate_mixture(public, curator, n_components=k)


def _seconds_of(fit: Callable[..., Any], *given: Any) -> tuple[float, float]:
    """Time a fit that begins on an idle machine: seconds of processors, and on the wall."""
    time.sleep(_PAUSE)
    start, used = time.perf_counter(), time.process_time()
    fit(*given)
    return time.process_time() - used, time.perf_counter() - start
