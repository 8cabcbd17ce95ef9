"""Decide which far shells contain rows, from released counts in which noise can look like rows or hide them.

A count far above the noise is visible, and so is a smaller one next to visible shells. Beyond the last visible shell,
rows are assumed to decrease as they did before it. If the thresholds are too low, noise sets the clip radius; if they
are too high, clipping cuts off rows.
"""

import math

import numpy as np

from pubpriv.estimators.mean._lengths import Lengths

_VISIBLE = 2.0, 2.8
"""Thresholds in sds for the first and the second shell beyond the last visible one."""

_APART, _SURELY, _WINDOW = 3.2, 4.0, 4
"""Threshold for any other shell, or for up to WINDOW adjacent shells together: sqrt(APART^2 + 2 log(harm)) sds. `harm`
is the factor by which a clip radius there would multiply the mean square error; the probability that noise looks like
rows falls by the same factor. A run is flagged only for rows that are visible with SURELY instead of APART."""

_SLOWEST, _SLOWEST_NEAR, _NEAR = 0.33, 0.7, 2
"""Largest ratio of rows in a shell beyond the visible ones to rows in the shell before: the second value for the next
NEAR shells, where skewed rows may be too few per shell to be visible, and the first further out."""


def thresholds(found: Lengths, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Give two thresholds in sds for each shell by itself: one to choose a clip radius by, one to flag a run by.

    Args:
        found: the released counts.
        noise: sd of one coordinate of the mean that step 2 would release with a clip radius of 1.
    """
    harm = np.log1p((noise * found.ends) ** 2 / (1 / found.whole + (noise * found.edges[1]) ** 2))
    return np.sqrt(_APART**2 + 2 * harm), np.sqrt(_SURELY**2 + 2 * harm)


def last_visible(z: np.ndarray, first: int, least: np.ndarray) -> int:
    """Find the last shell from `first` on that contains rows, by itself or in a group that ends there, or `first` - 1.

    Args:
        z: counts, in sds of their noise.
        first: index of the first shell to look at.
        least: thresholds in sds for a shell, or a group that ends there, at any place.
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
    """Give rows per shell: as counted up to shell `last`, then decreasing at the same ratio, limited by the counts."""
    rows = np.maximum(counts, 0.0)
    fall = (rows[last] + sd / 2) / max(rows[last - 1], sd)
    rows[last] = max(rows[last], sd / 2)
    for j in range(last + 1, len(rows)):
        slowest = _SLOWEST_NEAR if j <= last + _NEAR else _SLOWEST
        rows[j] = min(min(max(fall, _SLOWEST / 5), slowest) * rows[j - 1], rows[j] + sd / 2)
    return np.asarray(rows)
