"""Estimates by group: how near they come to each group's own law, beside two things that one could do without them.

Two kinds of table, of standard normal rows that each group moves and bends: 20 groups in shares 1 : 1/2 : 1/3 ...,
whose means differ by a standard deviation of .1, .3 or 1 of a column's (and whose covariances differ with them); and 50
groups of 5 to 50,000 rows. Errors are root mean squares over groups and runs, in coordinates in which all rows are
standard: of a coordinate of the mean, and of the covariance in Frobenius norm over sqrt(d). *Raw* is the answer of the
question by itself, *all rows* the release of all rows together; a release should be no worse than 1.1 times the better.
"""

from typing import Any

import numpy as np

from benchmarks.grid import in_processes
from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import from_json
from pubpriv.estimators.gaussian.driver import estimate_gaussian
from pubpriv.estimators.groups.steps import sums_of
from pubpriv.released.groups import Group

_COLUMNS, _PUBLIC = 5, 30
_APART = ((0.1, 0.05), (0.3, 0.2), (1.0, 0.4))
"""How far groups lie apart: their means, and their covariances."""

_Z = 1.96


def bench(runs: int, first_seed: int = 0, workers: int = 2) -> dict[str, Any]:
    """Measure both kinds of table.

    Args:
        runs: of each row.
        first_seed: of the first run; the next ones follow.
        workers: processes.
    """
    jobs = [(row, first_seed + i) for row in range(len(_APART) + 1) for i in range(runs)]
    found = list(in_processes(_run, jobs, workers))
    rows = [_summary(row, [each for each in found if each["row"] == row]) for row in range(len(_APART) + 1)]
    return {
        "bench": "groups",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(max(row["mean_ratio"], row["covariance_ratio"]) for row in rows[:-1]),
        "ratio_of": "error of a group over the smaller one of raw and all rows, at worst",
        "rows": rows,
    }


def _sizes(row: int) -> np.ndarray:
    if row == len(_APART):
        return np.asarray(np.geomspace(5, 50_000, 50).astype(int))
    shares = 1 / np.arange(1.0, 21.0)
    return np.asarray(np.maximum(20, 20_000 * shares / shares.sum()).astype(int))


def _run(job: tuple[int, int]) -> dict[str, Any]:
    row, seed = job
    random = np.random.default_rng([seed, row])
    sizes, (apart, bent) = _sizes(row), _APART[1 if row == len(_APART) else row]
    means = apart * random.standard_normal((len(sizes), _COLUMNS))
    roots = np.eye(_COLUMNS) + bent * random.standard_normal((len(sizes), _COLUMNS, _COLUMNS)) / _COLUMNS**0.5
    covariances = roots @ roots.transpose(0, 2, 1)
    whose = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    private = means[whose] + np.einsum("nij,nj->ni", roots[whose], random.standard_normal((len(whose), _COLUMNS)))
    by = ByCategory("group", tuple(str(i) for i in range(len(sizes))))
    budget = "zcdp:0.028" if row < len(_APART) else "zcdp:0.1"
    curator = Curator.simulation(private, budget, seed, groups=(by, np.array(by.values, dtype=object)[whose]))
    estimate = estimate_gaussian(random.standard_normal((_PUBLIC, _COLUMNS)), curator, force=True)
    assert estimate.groups is not None
    whitening = _whitening(private)
    true = list(zip(means, covariances, strict=True))
    told = [_errors(group, *law, whitening) for group, law in zip(estimate.groups.each, true, strict=True)]
    whole = [_apart(estimate.mean - mean, estimate.covariance - cov, whitening) for mean, cov in true]
    answered = zip(_raw(curator, by), true, strict=True)
    raw = [_apart(mine[0] - law[0], mine[1] - law[1], whitening) for mine, law in answered]
    held = np.array([each[2:4] for each in told])
    flagged = np.array([group.borrowed for group in estimate.groups.each])
    return {
        "row": row,
        "own": np.mean(np.square([each[:2] for each in told]), axis=0),
        "raw": np.mean(np.square(raw), axis=0),
        "whole": np.mean(np.square(whole), axis=0),
        "held": held.mean(axis=0),
        "least": np.where(flagged[:, None], 1.0, held),
        "flagged": flagged.mean(),
    }


def _raw(curator: Curator, by: ByCategory) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and covariance of each group as the question answered in core and first shell, with nothing drawn together.

    Together these are almost all Gaussian rows.
    """
    kept = curator._run.find("groups/moments")
    assert kept is not None
    answer = curator.release(from_json(kept.question), "groups/moments")  # again, for nothing
    sums = sums_of(answer, by, spreads=True)
    center, matrix = sums.frame.dense()
    colour, groups = np.linalg.inv(matrix), by.n_regions
    count, total, second = (
        np.array(part).reshape(groups, len(sums.ends), *shape)[:, :2].sum(axis=1)
        for part, shape in ((sums.counts, ()), (sums.sums, (len(center),)), (sums.seconds, matrix.shape))
    )
    n = np.maximum(count, 2 * np.sqrt(2) * sums.sds[0])
    means, seconds = total / n[:, None], second / n[:, None, None]
    return [
        (center + colour @ y, colour @ (square - np.outer(y, y)) @ colour.T)
        for y, square in zip(means, seconds, strict=True)
    ]


def _errors(group: Group, mean: np.ndarray, covariance: np.ndarray, whitening: np.ndarray) -> tuple[float, ...]:
    """(of the mean, of the covariance, share of means held by their intervals, share of variances)."""
    off, bent = group.parts["mean"] - mean, group.parts["covariance"] - covariance
    held = []
    for part, found in (("mean", off), ("covariance", bent)):
        sd = np.sqrt(sum(np.square(each) for each in group.errors[part].values()))
        inside = np.abs(found) <= _Z * sd
        held.append(float(np.mean(np.diag(inside) if inside.ndim == 2 else inside)))
    return (*_apart(off, bent, whitening), *held)


def _apart(mean: np.ndarray, covariance: np.ndarray, whitening: np.ndarray) -> tuple[float, float]:
    bent = whitening @ covariance @ whitening.T
    return float(np.sqrt(np.mean((whitening @ mean) ** 2))), float(np.sqrt((bent**2).sum() / len(mean)))


def _whitening(rows: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def _summary(row: int, found: list[dict[str, Any]]) -> dict[str, Any]:
    own, raw, whole = (np.sqrt(np.mean([each[name] for each in found], axis=0)) for name in ("own", "raw", "whole"))
    best = np.minimum(raw, whole)
    sizes, many = _sizes(row), row == len(_APART)
    apart = _APART[1 if many else row][0]
    return {
        "groups": len(sizes),
        "rows": f"{sizes.min()} to {sizes.max()}",
        "apart": apart,
        **{f"mean_{name}": float(value[0]) for name, value in (("own", own), ("raw", raw), ("all_rows", whole))},
        "mean_ratio": float(own[0] / best[0]),
        **{f"covariance_{name}": float(value[1]) for name, value in (("own", own), ("raw", raw), ("all_rows", whole))},
        "covariance_ratio": float(own[1] / best[1]),
        "means_held": float(np.mean([each["held"][0] for each in found])),
        "variances_held": float(np.mean([each["held"][1] for each in found])),
        "held_or_flagged": float(np.mean([each["least"] for each in found])),
        "flagged": float(np.mean([each["flagged"] for each in found])),
    }
