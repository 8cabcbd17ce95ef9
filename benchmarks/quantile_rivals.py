"""Quantiles beside OpenDP's private quantile, on the same rows and for the same zCDP, replacing one record.

OpenDP chooses each quantile among candidates that somebody names. Nobody has the first two lists: they are made from
the law itself.

| candidates | |
|---|---|
| `even` | 1,001 values, evenly from the 0.0005 to the 0.9995 quantile of the law |
| `spaced` | 1,001 quantiles of the law, evenly in rank |
| `vague` | zero, and 500 values of each sign from 0.001 to 10 million, each the same multiple of the one before |
"""

from functools import cache
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups
from benchmarks.quantiles import AT, LAWS, rank_errors

_MANY = 1_000_000
"""Rows of a law from which candidates are made."""

_CELLS = tuple((law, 1_000, 0.1) for law in LAWS)


def bench(runs: int = 100, first_seed: int = 0, workers: int = WORKERS, laws: str = "all") -> dict[str, Any]:
    """Give a row for each law: errors of ranks in sampling errors, of ours and of OpenDP's with each list.

    Args:
        runs: draws of each law.
        first_seed: of the first draw.
        workers: processes.
        laws: names with commas between them; `all`.
    """
    chosen = [cell for cell in _CELLS if laws == "all" or cell[0] in laws.split(",")]
    groups = [[(*cell, first_seed + run) for run in range(runs)] for cell in chosen]
    rows = list(map(_row, chosen, in_groups(_drawn, groups, workers)))
    return {
        "bench": "quantiles",
        "part": "beside OpenDP",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(row["ours"] / min(row["even"], row["spaced"]) for row in rows),
        "ratio_of": "our error over that of OpenDP's with the better of the lists that nobody has, largest of all rows",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _drawn(task: tuple[str, int, float, int]) -> dict[str, np.ndarray]:
    """Errors (5,) of the ranks of one draw, by way."""
    name, n, rho, seed = task
    law, generator = LAWS[name], np.random.default_rng([seed, n, 1])
    rows, public = law.sample(n, generator), law.sample(100, generator)
    curator = pp.Curator.simulation(rows[:, None], f"zcdp:{rho}", seed)
    values = {"ours": pp.estimate_quantiles(public[:, None], curator, AT.tolist()).quantiles[0]}
    values["sample"] = np.sort(rows)[np.ceil(AT * n).astype(int) - 1]
    values |= {way: _of_opendp(rows, named, rho) for way, named in _candidates(name).items()}
    return {way: rank_errors(law, found) for way, found in values.items()}


@cache
def _candidates(name: str) -> dict[str, list[float]]:
    ordered = np.sort(LAWS[name].sample(_MANY, np.random.default_rng(0)))
    low, high, steps = float(ordered[_MANY // 2000]), float(ordered[-_MANY // 2000]), np.geomspace(1e-3, 1e7, 500)
    spaced = ordered[((np.arange(1001) + 0.5) / 1001 * _MANY).astype(int)]
    return {
        "even": np.unique(np.linspace(low, high, 1001)).tolist(),
        "spaced": np.unique(spaced).tolist(),
        "vague": [*(-steps[::-1]).tolist(), 0.0, *steps.tolist()],
    }


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


def _row(cell: tuple[str, int, float], draws: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    name, n, rho = cell
    sampling = np.sqrt(AT * (1 - AT) / n)
    errors = {
        way: float(np.sqrt(np.mean((np.array([draw[way] for draw in draws]) / sampling) ** 2))) for way in draws[0]
    }
    best = min(errors["even"], errors["spaced"])
    return (
        {"law": name, "n": n, "rho": rho}
        | errors
        | {"met": bool(errors["ours"] <= 1.05 * best and errors["ours"] <= errors["vague"])}
    )
