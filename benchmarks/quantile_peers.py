"""Quantiles beside OpenDP's and diffprivlib's, on the same rows and for the same zCDP, replacing one record.

OpenDP chooses each quantile among candidates that somebody names. Nobody has the first two lists: they are made from
the law itself. diffprivlib draws it between bounds that somebody names, by the exponential mechanism, of which
epsilon-DP costs epsilon^2 / 8 of rho.

| candidates or bounds | |
|---|---|
| `even` | 1,001 values, evenly from the 0.0005 to the 0.9995 quantile of the law |
| `spaced` | 1,001 quantiles of the law, evenly in rank |
| `vague` | zero, and 500 values of each sign from 0.001 to 10 million, each the same multiple of the one before |
| `bounded` | diffprivlib, from the 0.0005 to the 0.9995 quantile of the law |
| `wide` | diffprivlib, from minus to plus 10 million |
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups
from benchmarks.quantiles import AT, LAWS, rank_errors

_MANY = 1_000_000
"""Rows of a law from which candidates are made."""

_WIDE = 1e7

_CELLS = (
    *((law, 1_000, 0.1) for law, of in LAWS.items() if of.public is None),
    *((law, n, rho) for law in ("gaussian", "lognormal") for n, rho in ((5_000, 0.05), (1_000, 0.02))),
)

_IDEAL, _VAGUE = ("even", "spaced", "bounded"), ("vague", "wide")

_AT_MOST = 1.05
"""Bound of our error over the least one with candidates or bounds that nobody has."""

_Errors = dict[str, np.ndarray]


def bench(
    runs: int = 100,
    first_seed: int = 0,
    workers: int = WORKERS,
    laws: str = "all",
    diffprivlib: Path | None = None,
) -> dict[str, Any]:
    """Give a row for each law: errors of ranks in sampling errors, of ours, of OpenDP's and of diffprivlib's.

    Args:
        runs: draws of each law.
        first_seed: of the first draw.
        workers: processes.
        laws: names with commas between them; `all`.
        diffprivlib: a Python that has diffprivlib; None: it is left out.
    """
    chosen = [cell for cell in _CELLS if laws == "all" or cell[0] in laws.split(",")]
    groups = [[(*cell, first_seed + run) for run in range(runs)] for cell in chosen]
    drawn = [list(each) for each in in_groups(_drawn, groups, workers)]
    if diffprivlib is not None:
        drawn = [_beside(diffprivlib, group, own) for group, own in zip(groups, drawn, strict=True)]
    rows = list(map(_row, chosen, drawn))
    return {
        "bench": "quantiles",
        "part": "peers",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(row["over_ideal"] for row in rows),
        "ratio_of": "our error over the least one with candidates or bounds that nobody has, largest of all rows",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _rows_of(task: tuple[str, int, float, int]) -> tuple[np.ndarray, np.ndarray]:
    """Draw private and public rows."""
    name, n, _, seed = task
    law, generator = LAWS[name], np.random.default_rng([seed, n, 1])
    return law.sample(n, generator), law.sample(100, generator)


def _drawn(task: tuple[str, int, float, int]) -> _Errors:
    """Errors (5,) of the ranks of one draw, by way."""
    name, n, rho, seed = task
    rows, public = _rows_of(task)
    curator = pp.Curator.simulation(rows[:, None], f"zcdp:{rho}", seed)
    values = {"ours": pp.estimate_quantiles(public[:, None], curator, AT.tolist()).quantiles[0]}
    values["sample"] = np.sort(rows)[np.ceil(AT * n).astype(int) - 1]
    values |= {way: _of_opendp(rows, named, rho) for way, named in _candidates(name).items()}
    return {way: rank_errors(LAWS[name], found) for way, found in values.items()}


@cache
def _candidates(name: str) -> dict[str, list[float]]:
    (low, high), steps = _ends(name), np.geomspace(1e-3, _WIDE, 500)
    spaced = _ordered(name)[((np.arange(1001) + 0.5) / 1001 * _MANY).astype(int)]
    return {
        "even": np.unique(np.linspace(low, high, 1001)).tolist(),
        "spaced": np.unique(spaced).tolist(),
        "vague": [*(-steps[::-1]).tolist(), 0.0, *steps.tolist()],
    }


@cache
def _ordered(name: str) -> np.ndarray:
    return np.sort(LAWS[name].sample(_MANY, np.random.default_rng(0)))


def _ends(name: str) -> tuple[float, float]:
    ordered = _ordered(name)
    return float(ordered[_MANY // 2000]), float(ordered[-_MANY // 2000])


def _of_opendp(rows: np.ndarray, candidates: list[float], rho: float) -> np.ndarray:
    """Choose each quantile among candidates, for a fifth of rho; replacing a record is a distance of 2."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(rows))
    space = domain, dp.symmetric_distance(), dp.zero_concentrated_divergence()

    def made(share: float, scale: float) -> Any:
        return dp.m.make_private_quantile(*space, candidates, share, scale)

    scale = dp.binary_search_param(lambda scale: made(0.5, scale), d_in=2, d_out=rho / len(AT), T=float)
    return np.maximum.accumulate([made(share, scale)(rows.tolist()) for share in AT.tolist()])


def _beside(python: Path, tasks: Sequence[tuple[str, int, float, int]], drawn: Sequence[_Errors]) -> list[_Errors]:
    """Add what diffprivlib answers on the same rows; NaN where it raises an error."""
    name, _, rho, _ = tasks[0]
    bounds = {"bounded": _ends(name), "wide": (-_WIDE, _WIDE)}
    asked = [
        {
            "rows": _rows_of(task)[0].tolist(),
            "at": AT.tolist(),
            "epsilon": (8 * rho / len(AT)) ** 0.5,
            "bounds": ends,
            "seed": task[-1],
        }
        for task in tasks
        for ends in bounds.values()
    ]
    script = Path(__file__).with_name("diffprivlib_answers.py")
    told = subprocess.run([python, script], input=json.dumps(asked), capture_output=True, text=True, check=True)
    answers = iter(json.loads(told.stdout))
    return [own | {way: _errors_of(name, next(answers)) for way in bounds} for own in drawn]


def _errors_of(name: str, values: Sequence[float | None]) -> np.ndarray:
    known = np.array([np.nan if value is None else value for value in values])
    return np.where(np.isnan(known), np.nan, rank_errors(LAWS[name], np.nan_to_num(known)))


def _row(cell: tuple[str, int, float], draws: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
    name, n, rho = cell
    errors = {way: _error([draw[way] for draw in draws], n) for way in draws[0]}
    ours = errors["ours"]
    ideal, vague = (min(errors[way] for way in ways if way in errors) for ways in (_IDEAL, _VAGUE))
    failed = np.isnan([draw[way] for draw in draws for way in ("bounded", "wide") if way in draw])
    return {
        "law": name,
        "n": n,
        "rho": rho,
        **{way: error if np.isfinite(error) else None for way, error in errors.items()},
        "failed": float(failed.mean()) if failed.size else None,
        "over_ideal": ours / ideal,
        "over_vague": ours / vague,
        "met": bool(ours <= _AT_MOST * ideal and ours < vague),
    }


def _error(errors: Sequence[np.ndarray], n: int) -> float:
    """Root mean square error in sampling errors, of the answers that there are; infinite if there are none."""
    squared = (np.array(errors) / np.sqrt(AT * (1 - AT) / n)) ** 2
    return np.inf if np.isnan(squared).all() else float(np.sqrt(np.nanmean(squared)))
