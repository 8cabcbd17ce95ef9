"""Pool the counts of several rounds into one distribution: the best linear estimate over all their cells.

h are the masses of the cells between all edges. A round releases A h + noise, where each row of A adds up the cells of
one of its own. With a weak Gaussian prior about the public rows' masses, h is a Gaussian again, with a covariance that
the report, the intervals and the forecast share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.data.codec import public_value
from pubpriv.released.distributions.cells import CellNoise, KnownRows, Missing

_TRUST = 0.5
"""Least sd of the prior of a cell's mass, in units of that mass and of `_EVEN` of an even share. Smaller ones would
make more of a hundred public rows than they say; at 2, which leaves them out, errors are 5% larger."""

_VAGUEST = 4.0
"""Largest sd of the prior, in the same units: noise decides then, and a law that is spread over all floats does not."""

_EXACTLY = 1e-7
"""Sd of a number of records that is known, as a part of it: an exact one would make a singular matrix."""

_EVEN = 0.3
"""Part of an even share that a cell may have where no public row is."""


@public_value
@dataclass(frozen=True)
class CellCounts:
    """A column's released counts of one round.

    Attributes:
        edges: rising, finite (k,).
        counts: of the cells between them, and of records without a cell in the column, (k + 2,).
        sd: of the noise in each.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float


def pooled(
    rounds: Sequence[CellCounts],
    records: float,
    prior: Callable[[np.ndarray], np.ndarray],
    records_sd: float = 0.0,
) -> KnownRows:
    """Pool the counts of a column.

    Args:
        rounds: its counts.
        records: number of records, with those whose cell is missing.
        prior: gives the masses of the cells between edges (k,), which add up to one.
        records_sd: of that number, if it was released with noise.
    """
    from sklearn.isotonic import isotonic_regression

    edges = np.unique(np.concatenate([each.edges for each in rounds]))
    k = len(edges) + 1
    mean = np.append(prior(edges) * records, 0.0)
    sd = min(vagueness(rounds, records, prior), _VAGUEST) * (mean + _EVEN * records / k + 1)
    sd[-1] = records  # of the missing ones nothing is known
    sums, counts, noise = [np.ones((1, k + 1))], [[records]], [[max(records_sd, _EXACTLY * records)]]
    for each in rounds:
        own = np.append(np.searchsorted(each.edges, edges, side="left"), [len(each.edges), len(each.edges) + 1])
        sums.append((own == np.arange(len(each.counts))[:, None]).astype(float))
        counts.append(list(each.counts))
        noise.append([each.sd] * len(each.counts))
    rows = np.concatenate(sums)
    spread = rows * sd**2
    gain = np.linalg.solve(spread @ rows.T + np.diag(np.concatenate(noise) ** 2), spread).T
    masses = mean + gain @ (np.concatenate(counts) - rows @ mean)
    covariance = np.diag(sd**2) - gain @ spread
    total = float(np.clip(masses[:-1].sum(), 1.0, records + SURELY * records_sd))
    below = np.clip(isotonic_regression(np.cumsum(masses[:-2])), 0.0, total)
    missing = Missing(float(masses[-1]), float(np.sqrt(max(covariance[-1, -1], 0.0))))
    noise_in_cells = CellNoise.of(covariance[:-1, :-1])
    return KnownRows(tuple(edges.tolist()), tuple(below.tolist()), total, noise_in_cells, missing)


def vagueness(rounds: Sequence[CellCounts], records: float, prior: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the sd of the prior, in its units: the worst contradiction between public rows and released counts."""
    worst = _TRUST
    for each in rounds:
        mass = prior(np.array(each.edges)) * records
        surprise = np.abs(np.array(each.counts[:-1]) - mass) - 2 * each.sd
        worst = max(worst, float((surprise / (mass + _EVEN * records / len(mass) + 1)).max()))
    return worst
