"""The golden runs: seeded releases of laws and of open tables, told by their numbers, errors and verdicts alone.

`python -m tests.golden` writes `golden.json` anew. A change that is meant to move numbers writes it and shows, in its
diff, which runs it moves and which verdicts it turns.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.intervals import Task, World, judged, measured
from benchmarks.library_tables import SKEWED, opened

FILE = Path(__file__).parent / "golden.json"

BUDGET, SEED = "zcdp:0.5", 4200
LAWS = ("gaussian", "t5", "lognormal-0.8", "poisson-0.5", "odd-1-wide-15")
SIZES = ((500, 1), (5_000, 1), (500, 5), (5_000, 5))
"""Private rows and columns."""

_OF_MIXTURES = (("gaussian", 500, 5), ("lognormal-0.8", 500, 5))
"""A mixture takes a second or two."""

_PUBLIC, _DIGITS = 60, 5

Run = dict[str, Any]


def all_runs() -> dict[str, Run]:
    """Make all golden runs, by name."""
    return {" ".join(map(str, name)): _told(run) for name, run in [*_of_laws(), *_of_tables(), *_of_sorted()]}


def _of_laws() -> list[tuple[tuple[Any, ...], Run]]:
    tasks = [
        Task(estimator, law, n, d, 30, BUDGET, SEED)
        for estimator in ("mean", "gaussian")
        for law in LAWS
        for n, d in SIZES
    ]
    tasks += [Task("mixture", law, n, d, _PUBLIC, BUDGET, SEED) for law, n, d in _OF_MIXTURES]
    return [((task.estimator, task.law, task.n, task.d), measured(task)) for task in tasks]


def _of_tables() -> list[tuple[tuple[Any, ...], Run]]:
    """Open tables: the truth is the private rows' own moments."""
    found = []
    for name, table in SKEWED.items():
        rows = opened(table)[1]
        order = np.random.default_rng(SEED).permutation(len(rows))
        public, private = rows[order[:_PUBLIC]], rows[order[_PUBLIC:]]
        world = World(public, private, private.mean(axis=0), np.cov(private.T, bias=True), private)
        found += [((each, name), judged(each, world, BUDGET, SEED)) for each in ("mean", "gaussian")]
    return found


def _of_sorted() -> list[tuple[tuple[Any, ...], Run]]:
    """Estimate two sites, of which the smaller one, at the end, is wider and elsewhere; and the same rows sorted."""
    generator = np.random.default_rng(SEED)
    rows = generator.standard_normal((6_000, 3)) @ (np.eye(3) + 0.4) + 5
    rows[-600:] = 2 * rows[-600:] + 1
    chosen = generator.choice(len(rows), _PUBLIC, replace=False)
    public, sites = rows[chosen], np.delete(rows, chosen, axis=0)
    mean, covariance = sites.mean(axis=0), np.cov(sites.T, bias=True)
    found = []
    for order, private in (("sites", sites), ("sorted", sites[np.argsort(sites[:, 0])])):
        world = World(public, private, mean, covariance, private)
        found += [((each, order), judged(each, world, BUDGET, SEED)) for each in ("mean", "gaussian")]
        made = pp.estimate_mixture(public, pp.Curator.simulation(private, BUDGET, SEED), n_components=2)
        off = (made.weights @ made.means - mean) / np.sqrt(np.diag(covariance))
        found.append((("mixture", order), {"flagged": not made.converged, "mean_error": float(np.linalg.norm(off))}))
    return found


def _told(run: Run) -> Run:
    """Keep what a release tells: how far its numbers are off, what errors it states, and its verdict."""
    if "flagged" not in run:
        return {"refused": run["refused"] or run["failed"]}
    parts = [part for part in ("means", "variances") if part in run]
    return {
        "flagged": run["flagged"],
        **{name: _short(run[name]) for name in ("mean_error", "covariance_error") if name in run},
        **{part: {key: [_short(value) for value in run[part][key]] for key in ("off", "error")} for part in parts},
    }


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def read() -> dict[str, Run]:
    """Read the runs that stand in the file."""
    found: dict[str, Run] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def write() -> None:
    """Make all runs and write them to the file, a line for each."""
    lines = [f"{json.dumps(name)}: {json.dumps(run)}" for name, run in all_runs().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
