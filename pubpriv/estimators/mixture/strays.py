"""Strays: rows of one component that a hard partition gives to another, and what they do to the totals of both.

Where components overlap, each looks narrower than it is and further from the others, whatever the number of rows. A
model tells which of its own rows a partition gives away. Their totals are taken out, and the model is made again, until
it is that of which the partition would have given the released totals. Rows are drawn from the model with a fixed seed,
so this is post-processing of released answers: free, and public.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.regions import Cells
from pubpriv.released.law import Mixture

_DRAWN = 20_000
"""Rows that are drawn from a model."""

_FAR = 5.7
"""Means that lie so many standard deviations of the difference of two rows apart: 8 of either, and no row strays."""


@dataclass(frozen=True)
class Strays:
    """What a partition adds to the totals of components, per row of the table.

    Attributes:
        counts: (k,).
        sums: (k, d), of rows as a round maps and clips them.
        moments: (k, d, d), of the same.
    """

    counts: np.ndarray
    sums: np.ndarray
    moments: np.ndarray


def overlapping(mixture: Mixture) -> bool:
    """Whether two components are so close that rows of one may be taken for the other's."""
    weights, means, covariances = mixture.arrays
    return any(
        float(gap @ np.linalg.solve(covariances[i] + covariances[j], gap)) < _FAR**2
        for i in range(len(weights))
        for j in range(i)
        for gap in [means[i] - means[j]]
    )


def strays(
    cells: Cells,
    frames: list[tuple[np.ndarray, np.ndarray]],
    radius: float,
    model: Mixture,
    rows: np.ndarray | None = None,
    takers: np.ndarray | None = None,
) -> Strays:
    """Tell what a partition does to the totals of a model's components.

    Args:
        cells: the partition, one cell for each component.
        frames: (center, matrix) of each cell in standard coordinates: how its rows are mapped.
        radius: to which mapped rows are clipped.
        model: whose rows they are, in standard coordinates.
        rows: (k, count, d) that stand for those of each component; None: a Gaussian's.
        takers: (k * count,) component that each of these is given to; None: the likeliest by frames.
    """
    weights, means, covariances = model.arrays
    k, d = means.shape
    if rows is None:
        noise = np.random.default_rng(0).standard_normal((k, _DRAWN // k, d))
        rows = np.stack([m + z @ np.linalg.cholesky(c).T for m, z, c in zip(means, noise, covariances, strict=True)])
    each = rows.shape[1]
    rows, owners = rows.reshape(-1, d), np.repeat(np.arange(k), each)
    mapped = [(rows - center) @ matrix.T for center, matrix in frames]
    squares = np.stack([np.einsum("ij,ij->i", own, own) for own in mapped])
    if takers is None:
        takers = np.argmax(np.array(cells.offsets)[:, None] - squares / 2, axis=0)
    away = np.flatnonzero(takers != owners)
    shares = weights[owners[away]] / each
    counts, sums, moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    for j in range(k):
        signed = shares * ((takers[away] == j).astype(float) - (owners[away] == j))
        clip = np.minimum(1.0, radius / np.sqrt(np.maximum(squares[j][away], 1e-300)))
        own = mapped[j][away] * clip[:, None]
        counts[j], sums[j], moments[j] = signed.sum(), signed @ own, (own * signed[:, None]).T @ own
    return Strays(counts, sums, moments)
