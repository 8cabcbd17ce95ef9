"""Which shells of released counts hold rows, far from the centre, where noise may look like rows or hide them.

A count far above its noise is seen, and so is a smaller one next to shells that are. Beyond the last visible shell,
rows are taken to fall off as they did before it. Too bold a reading lets noise set the clip, too shy a one lets the
clip cut off rows.
"""

import math

import numpy as np

from pubpriv.estimators.mean._lengths import Lengths

_VISIBLE = 2.0, 2.8
"""Sds above nothing at which the shell beyond the last visible one holds rows, and one further out."""

_APART, _SURELY, _WINDOW = 3.2, 4.0, 4
"""Any other one, or up to WINDOW shells next to each other together, from sqrt(APART^2 + 2 log(harm)) sds on: a clip
there would make the mean square error so many times as large, and the chance that noise looks like rows falls as much.
A run is flagged for rows that are seen with SURELY in its place only."""

_SLOWEST, _SLOWEST_NEAR, _NEAR = 0.33, 0.7, 2
"""Shells beyond the visible ones hold at most so many of the rows of the one before: the second for the NEAR next ones,
as where skewed rows are too few in each to be seen."""


def thresholds(found: Lengths, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Give sds from which a shell by itself holds rows, by shell: to choose a clip by, and to flag a run for.

    Args:
        found: the counts.
        noise: sd of one coordinate of the mean that step 2 would release with a clip radius of 1.
    """
    harm = np.log1p((noise * found.ends) ** 2 / (1 / found.whole + (noise * found.edges[1]) ** 2))
    return np.sqrt(_APART**2 + 2 * harm), np.sqrt(_SURELY**2 + 2 * harm)


def last_visible(z: np.ndarray, first: int, least: np.ndarray) -> int:
    """Find the last shell from `first` on that holds rows, by itself or with those before it; else `first` - 1.

    Args:
        z: counts in sds.
        first: shell.
        least: sds from which a shell, or a group that ends there, holds rows wherever it is.
    """
    last = first - 1
    for end in range(first, len(z)):
        if z[end] > (_VISIBLE[end - last - 1] if end - last <= len(_VISIBLE) else least[end]):
            last = end
    for width in range(2, _WINDOW + 1):
        sums = np.convolve(z, np.ones(width))[: len(z)] / math.sqrt(width)
        together = np.flatnonzero((sums > least) & (z > 1))
        last = max([last, *together[together >= first + width - 1].tolist()])
    return last


def continued(counts: np.ndarray, sd: float, last: int) -> np.ndarray:
    """Rows of each shell, as counted up to shell `last`; beyond it they fall on as they did there, or sink in noise."""
    rows = np.maximum(counts, 0.0)
    fall = (rows[last] + sd / 2) / max(rows[last - 1], sd)
    rows[last] = max(rows[last], sd / 2)
    for j in range(last + 1, len(rows)):
        slowest = _SLOWEST_NEAR if j <= last + _NEAR else _SLOWEST
        rows[j] = min(min(max(fall, _SLOWEST / 5), slowest) * rows[j - 1], rows[j] + sd / 2)
    return np.asarray(rows)
