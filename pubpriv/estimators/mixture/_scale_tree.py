"""Scale tree: groups of public rows that lie further apart than anything inside them, or inside one of them.

Source: in the spirit of Bie, Kamath and Singhal 2022, algorithm 3 (superclustering), by single linkage. Two cuts:
where the last merge of a group towers over its nearest neighbours, as that of two far groups does; and where some part
of it was complete long before it met the rest, as a tight cluster beside or inside a wide one is. The second is taken
at any depth of the tree, and again in what is left, so scales may be many.
"""

import numpy as np

from pubpriv.estimators.mixture._seeding import nearest_others

_CUT = 2.0
"""A merge is cut while it is higher than this many largest distances of nearest neighbours that differ."""

_TIGHT = 3.0
"""A part of a group is cut off if the merge that ends it is so many times as high as the highest one inside it ..."""

_CHANCE = 10.0
"""... and in d columns this^(1/d) times that: in few columns gaps among the points of one cluster differ as much."""

_LEAST = 5
"""Points of a part that is cut off by the second cut, and of the rest; fewer are cut by the first one only where it
towers as much as the second has to: two of a cluster's points may happen to lie close together."""

_RESOLVED = 1e-7
"""Groups closer than this share of the largest norm are not cut: the nearest point is found by squared
distances, which have 16 digits."""

_LOOKS = 4
"""How often neighbours and the column units that they show are found in turn."""

_POINTLIKE = 1e-12
"""Merges below this share of the highest one are of repeated rows, and show no scale."""


def scale_groups(rows: np.ndarray, most: int) -> np.ndarray:
    """Labels (m,) of at most `most` groups of rows (m, d): by both cuts; by the first alone if these are too many."""
    for tight in (True, False):
        labels, _ = _cut(rows, tight)
        if labels.max() < most:
            return labels
    return np.zeros(len(rows), dtype=int)


def nested_groups(rows: np.ndarray, most: int) -> np.ndarray | None:
    """Labels (m,) of at most `most` groups, of which some lie inside others; None: none does, or they are too many.

    The points of a wide cluster may be nearer to a tight one in the midst of them than to each other, so that nearest
    points do not tell them apart; likelihood under a Gaussian of each does.
    """
    labels, nested = _cut(rows, tight=True, inside=True)
    return labels if nested and labels.max() < most else None


def _cut(rows: np.ndarray, tight: bool, inside: bool = False) -> tuple[np.ndarray, bool]:
    """Cut groups, until none is left to cut; those `inside` others if that is wanted, and say whether there are."""
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
    """Tell whether a record's nearest point shows on which side of a cut it is, as for each of the points (m, d)."""
    from scipy.spatial.distance import cdist

    gaps = cdist(points, points)
    across = np.where(part[:, None] != part[None, :], gaps, np.inf).min(axis=1)
    np.fill_diagonal(gaps, np.inf)
    inside = np.where(part[:, None] == part[None, :], gaps, np.inf).min(axis=1)
    return bool((inside < across).all() and across.min() >= least)


def _in_own_units(points: np.ndarray) -> np.ndarray:
    """Points (m, d) in units of the column sds inside clusters, as far as nearest neighbours show them.

    The sd of a column in which groups lie apart is that of their distance, and what other groups made of its unit does
    not concern the next cut. Neighbours are those in the last units, so they are looked for again.
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
    """How many times as high as what is inside it a merge has to be to end a scale, in d columns."""
    return _TIGHT * float(_CHANCE ** (1 / d))


def _top(merges: np.ndarray, points: np.ndarray) -> np.ndarray | None:
    """Give one side (m,) of the last merge, if it towers over nearest neighbours; None: it does not."""
    side = _members(merges, int(merges[-1, 0]))
    few = min(side.sum(), (~side).sum()) < _LEAST
    least = _towering(points.shape[1]) if few else _CUT
    return side if merges[-1, 2] > least * nearest_others(points).max() else None


def _tightest(merges: np.ndarray, d: int) -> np.ndarray | None:
    """Give the part (m,) of a tree whose end towers most over what is inside it; None: none does."""
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
    """Which points (m,) are below a node of the tree."""
    m = len(merges) + 1
    inside, waiting = np.zeros(m, dtype=bool), [node]
    while waiting:
        here = waiting.pop()
        if here < m:
            inside[here] = True
        else:
            waiting += merges[here - m, :2].astype(int).tolist()
    return inside
