"""How often a fit passes over its rows, and what that costs: whole processes, beside plain covariances and OpenDP.

Passes are counted in simulations of a few thousand rows, since their number depends on plans and verdicts, not on how
many rows there are. Costs are those of fresh processes over one Parquet file, in turns, by processor time.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.fits import real_fit, registered
from benchmarks.memory import peak
from benchmarks.scan import write

_PUBLIC, _BUDGET, _MEBIBYTE = 60, "zcdp:0.5", 1 << 20
_SHORT = 5_000
"""Rows of the table that commands read before they are timed."""

_DUCKDB = """
import sys, itertools, duckdb
path, *names = sys.argv[1:]
pairs = itertools.combinations_with_replacement(names, 2)
columns = ", ".join([f"avg({name})" for name in names] + [f"covar_samp({one}, {other})" for one, other in pairs])
duckdb.sql(f"SELECT {columns} FROM '{path}'").fetchall()
"""


def bench(rows: int = 1_000_000, dims: int = 10, repeats: int = 3) -> dict[str, Any]:
    """Processor time of a Gaussian fit over DuckDB's of a full covariance, and passes of each kind of fit.

    Beside it, what OpenDP takes for means and variances alone. Libraries are compiled before anything is timed, as on
    any machine on which a command has run once.
    """
    with TemporaryDirectory() as folder:
        names = [f"x{i}" for i in range(dims)]
        path, short = (_table(Path(folder) / name, count, names) for name, count in (("all", rows), ("short", _SHORT)))
        commands = ["-P", "-m", "benchmarks.looks"], ["-c", _DUCKDB], ["-P", "-m", "benchmarks.opendp_moments"]
        compiled = Path(folder) / "compiled"
        for command in commands:
            _run([*command, str(short), *names], compiled)
        turns = [[_run([*command, str(path), *names], compiled) for command in commands] for _ in range(repeats)]
    ours, plain, opendp = ([seconds for seconds, _ in each] for each in zip(*turns, strict=True))
    peaks = [json.loads(printed)["peak"] for (_, printed), *_ in turns]
    fits = counted()
    return {
        "bench": "looks",
        "rows": rows,
        "dims": dims,
        "repeats": repeats,
        "ratio": median(one / other for one, other in zip(ours, plain, strict=True)),
        "ratio_of": "processor seconds of a Gaussian fit, whole process, over a full covariance by DuckDB, same file",
        "fit_seconds": median(ours),
        "plain_seconds": median(plain),
        "opendp_seconds": median(opendp),
        "over_opendp": median(one / other for one, other in zip(ours, opendp, strict=True)),
        "peak_mebibytes": [min(peaks) / _MEBIBYTE, max(peaks) / _MEBIBYTE],
        "questions": {name: questions for name, (questions, _) in fits.items()},
        "passes": {name: passes for name, (_, passes) in fits.items()},
    }


def counted() -> dict[str, tuple[int, int]]:
    """Count questions and passes over all rows of simulated fits, by kind of fit."""
    generator = np.random.default_rng(0)
    one = 5 + 2 * generator.standard_normal((4_000, 3))
    long = generator.standard_normal((280_000, 3))
    apart = generator.standard_normal((6_000, 3)) + 9 * (np.arange(6_000) % 2)[:, None]
    near, close = (
        np.random.default_rng(seed).standard_normal((6_000, 3)) + 1.5 * (np.arange(6_000) % 2)[:, None]
        for seed in (1, 3)
    )
    fits: dict[str, tuple[np.ndarray, Callable[..., Any]]] = {
        "mean, covariance known": (one, lambda public, run: pp.estimate_mean(public, run, covariance=4 * np.eye(3))),
        "mean, covariance unknown": (one, lambda public, run: pp.estimate_mean(public, run, covariance="unknown")),
        "gaussian": (one, pp.estimate_gaussian),
        "gaussian, long table": (long, pp.estimate_gaussian),
        "gaussian, target gaussian": (one, lambda public, run: pp.estimate_gaussian(public, run, target="gaussian")),
        "mixture, two apart": (apart, lambda public, run: pp.estimate_mixture(public, run, n_components=2)),
        "mixture, two that overlap": (near, lambda public, run: pp.estimate_mixture(public, run, n_components=2)),
        "mixture, unknown number": (apart, lambda public, run: pp.estimate_mixture(public, run, max_components=4)),
        "mixture, ladder of models": (close, lambda public, run: pp.estimate_mixture(public, run, max_components=4)),
    }
    return {name: _counted(rows, fit) for name, (rows, fit) in fits.items()}


def _counted(rows: np.ndarray, fit: Callable[..., Any]) -> tuple[int, int]:
    curator = pp.Curator.simulation(rows[_PUBLIC:], _BUDGET, seed=1)
    fit(rows[:_PUBLIC], curator)
    return len(curator.statement().charges), curator.passes


def _table(folder: Path, rows: int, names: list[str]) -> Path:
    """Standard normal columns in a file of their own folder, registered in a ledger beside it."""
    folder.mkdir()
    path = write(folder / "rows.parquet", rows, names, np.random.default_rng(0))
    registered(path, names)
    return path


def _run(command: list[str], compiled: Path) -> tuple[float, str]:
    """Processor seconds of a fresh Python process and of its threads, and what it printed; compiled files are kept."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONPYCACHEPREFIX": str(compiled)}
    environment = kept | paths
    before = os.times()
    done = subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True, text=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, done.stdout


def main() -> None:
    """Fit a Gaussian to the columns that are named of a registered file, and print how often its rows were read."""
    path, *names = sys.argv[1:]
    public = np.random.default_rng(1).standard_normal((_PUBLIC, len(names)))
    passes = []

    def fit(curator: pp.Curator) -> None:
        pp.estimate_gaussian(public, curator)
        passes.append(curator.passes)

    url = f"sqlite:///{Path(path).with_name('ledger.db')}"
    real_fit(url, Path(path), names, pp.ZeroConcentratedDP(0.5), fit)
    print(json.dumps({"passes": passes[0], "peak": peak()}))


if __name__ == "__main__":
    main()
