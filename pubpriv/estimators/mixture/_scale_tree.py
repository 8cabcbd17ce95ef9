"""Scale tree: groups of public rows that are further apart than anything inside them, or that lie inside another.

Source: in the spirit of Bie, Kamath and Singhal 2022, algorithm 3 (superclustering), by single linkage. There are two
cuts. The first: the last merge of a group is far higher than its nearest-neighbour distances, as for two far groups.
The second: some part of it was complete long before it met the rest, like a tight cluster next to or inside a wide one;
it is made at any depth of the tree, and again in the rest, so there may be many scales.
"""

import numpy as np

from pubpriv.estimators.mixture._seeding import nearest_others

_CUT = 2.0
"""The last merge is cut if it is higher than this many times the largest distance of distinct nearest neighbours."""

_TIGHT = 3.0
"""A part of a group is cut off if the merge that joins it to the rest is higher than its own highest merge by this
..."""

_CHANCE = 10.0
"""... times this^(1/d) in d columns: with few columns, gaps inside a single cluster differ that much by chance."""

_LEAST = 5
"""Least points of a part that the second cut makes, and of the rest. With fewer points only the first cut is possible,
at the second one's height: two points of one cluster may happen to be close together."""

_RESOLVED = 1e-7
"""Groups closer than this share of the largest norm are not cut: the nearest point is found from squared
distances, which have 16 digits."""

_LOOKS = 4
"""Number of passes that alternate between finding neighbours and finding column units from them."""

_POINTLIKE = 1e-12
"""Merges below this share of the highest one join repeated rows, and show no scale."""


def scale_groups(rows: np.ndarray, most: int) -> np.ndarray:
    """Label rows (m, d) with at most `most` groups, (m,): by both cuts, or by the first only if these are too many."""
    for tight in (True, False):
        labels, _ = _cut(rows, tight)
        if labels.max() < most:
            return labels
    return np.zeros(len(rows), dtype=int)


def nested_groups(rows: np.ndarray, most: int) -> np.ndarray | None:
    """Label rows with at most `most` groups, (m,), some inside others; None: none is inside, or they are too many.

    Points of a wide cluster may be nearer to a tight one among them than to each other. Then nearest points do not
    distinguish the groups, but the likelihood under a Gaussian for each does.
    """
    labels, nested = _cut(rows, tight=True, inside=True)
    return labels if nested and labels.max() < most else None


def _cut(rows: np.ndarray, tight: bool, inside: bool = False) -> tuple[np.ndarray, bool]:
    """Cut groups until none can be cut; with `inside`, also those inside others, and say whether there are such."""
    from scipy.cluster.hierarchy import linkage

    least = _RESOLVED * float(np.linalg.norm(rows, axis=1).max())
    labels, groups, nested = np.zeros(len(rows), dtype=int), 0, False
    waiting = [np.arange(len(rows))]
    while waiting:
        members = waiting.pop()
        part = None
        if len(members) >= 4:
            points = _in_own_units(rows[members])
            merges = linkage(points, "single")
            top = _top(merges, points)
            part = _tightest(merges, rows.shape[1]) if top is None and tight else top
            if part is not None and not _separated(rows[members], part, least):
                nested |= inside and top is None
                part = part if inside else None
        if part is None:
            labels[members] = groups
            groups += 1
        else:
            waiting += [members[~part], members[part]]
    return labels, nested


def _separated(points: np.ndarray, part: np.ndarray, least: float) -> bool:
    """Decide whether a record's nearest point shows on which side of a cut it is, as it does for all points (m, d)."""
    from scipy.spatial.distance import cdist

    gaps = cdist(points, points)
    across = np.where(part[:, None] != part[None, :], gaps, np.inf).min(axis=1)
    np.fill_diagonal(gaps, np.inf)
    inside = np.where(part[:, None] == part[None, :], gaps, np.inf).min(axis=1)
    return bool((inside < across).all() and across.min() >= least)


def _in_own_units(points: np.ndarray) -> np.ndarray:
    """Express points (m, d) in units of the column sds inside clusters, found from nearest neighbours.

    The sd of a column in which groups lie apart reflects their distance, and the next cut must not depend on what other
    groups did to its unit. Neighbours depend on the units, so they are found again in the new ones.
    """
    from scipy.spatial.distance import cdist

    spread = points.std(axis=0)
    seen = points / np.where(spread > _POINTLIKE, spread, 1.0)
    for _ in range(_LOOKS):
        gaps = cdist(seen, seen)
        gaps[gaps == 0] = np.inf
        inside = np.sqrt(((seen - seen[gaps.argmin(axis=1)]) ** 2).mean(axis=0))
        seen = seen / np.where(inside > _POINTLIKE, inside, 1.0)
    return np.asarray(seen)


def _towering(d: int) -> float:
    """Give the ratio between a merge and the highest one inside it that ends a scale, in d columns."""
    return _TIGHT * float(_CHANCE ** (1 / d))


def _top(merges: np.ndarray, points: np.ndarray) -> np.ndarray | None:
    """Give one side (m,) of the last merge if that is far higher than nearest-neighbour distances; None: it is not."""
    side = _members(merges, int(merges[-1, 0]))
    few = min(side.sum(), (~side).sum()) < _LEAST
    least = _towering(points.shape[1]) if few else _CUT
    return side if merges[-1, 2] > least * nearest_others(points).max() else None


def _tightest(merges: np.ndarray, d: int) -> np.ndarray | None:
    """Give the part (m,) of a tree with the largest ratio of its joining merge to its own highest; None: too small."""
    m = len(merges) + 1
    heights = np.append(np.zeros(m), merges[:, 2])
    sizes = np.append(np.ones(m), merges[:, 3])
    nodes = merges[:, :2].astype(int).ravel()
    ends = np.repeat(merges[:, 2], 2)
    fit = (sizes[nodes] >= _LEAST) & (m - sizes[nodes] >= _LEAST) & (heights[nodes] > _POINTLIKE * heights[-1])
    if not fit.any():
        return None
    towering = np.where(fit, ends / np.maximum(heights[nodes], 1e-300), 0.0)
    best = int(towering.argmax())
    return _members(merges, int(nodes[best])) if towering[best] > _towering(d) else None


def _members(merges: np.ndarray, node: int) -> np.ndarray:
    """Find the points (m,) below a node of the tree."""
    m = len(merges) + 1
    inside, waiting = np.zeros(m, dtype=bool), [node]
    while waiting:
        here = waiting.pop()
        if here < m:
            inside[here] = True
        else:
            waiting += merges[here - m, :2].astype(int).tolist()
    return inside
