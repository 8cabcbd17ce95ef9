"""Q_pub: which ball around a public point splits a group, as far as public points can tell (algorithms 5 and 8)."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.balls import Path
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture.bks.constants import CONSTANTS, Constants
from pubpriv.estimators.mixture.bks.tree import Level
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.pca import Subspaces
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step

_LEAST_RADIUS = 2.0**-20
"""r_min over r_max in algorithm 5. R / sqrt(d), as printed, is larger than its theorem allows: nothing splits."""

_MIDDLE = 0.06
"""Half the width of a practical shell, over the gap between inner and outer public points."""


@public_value
@dataclass(frozen=True)
class Split:
    """A ball that passes Q_pub: how it would split a group, and what Q_priv asks about it.

    Attributes:
        path: the group.
        frame: moves the ball's centre to the origin of the subspace.
        inner: Q_priv wants many rows up to here,
        outer: few from there to here, and many beyond.
        cut: where the group is split.
        gap: public points keep so far away from the boundary, both sides together.
    """

    path: Path
    frame: Frame
    inner: float
    outer: float
    cut: float
    gap: float


@dataclass(frozen=True)
class _Found:
    """The centre's index, the largest distance inside and the smallest outside, and the three radii of a split."""

    center: int
    inside: float
    outside: float
    inner: float
    outer: float
    cut: float


@step(title="public query")
@one_thread
def public_query(
    rows: PublicTable, scaling: Scaling, level: Level, subspaces: Subspaces, weight: float, constants: str
) -> tuple[Split, ...]:
    """At most one split for each open group of `level`: the one candidate that the private rows are asked about.

    Post-processing of the subspaces: free. Mended: algorithm 5 asks the private rows about every ball that passes
    Q_pub until one passes Q_priv. Its theorem C.20 shows that under its conditions the first one does, or none.

    Args:
        rows: all m public rows.
        scaling: standard coordinates.
        level: groups, with the balls that they are clipped to.
        subspaces: a basis (ell, d) for each.
        weight: smallest weight of a component.
        constants: name.
    """
    known = CONSTANTS[constants]
    least = known.least_public(len(rows.rows), weight)
    members = level.tree.partition.members(rows.rows)[len(level.tree.closed) :]
    splits = []
    for path, own, frame, radius, basis in zip(
        level.tree.open, members, level.frames, level.radii, subspaces.bases, strict=True
    ):
        center, directions = scaling.standard(frame)[0], np.array(basis)
        projected = (scaling.apply(rows.rows[own]) - center) @ directions.T
        found = search(projected, radius, _LEAST_RADIUS * radius, least, known)
        if found is not None:
            splits.append(split_of(scaling, path, center, directions, projected, found))
    return tuple(splits)


def split_of(
    scaling: Scaling, path: Path, center: np.ndarray, directions: np.ndarray, projected: np.ndarray, found: _Found
) -> Split:
    """The split of the group `path` by the ball `found` among its `projected` points."""
    origin = center + directions.T @ projected[found.center]
    frame = scaling.frame(origin, directions)
    return Split(path, frame, found.inner, found.outer, found.cut, found.outside - found.inside)


def search(points: np.ndarray, most: float, least_radius: float, least: float, constants: Constants) -> _Found | None:
    """The ball around one of `points` (m', ell) that passes Q_pub; None if there is none.

    Q_pub(c, r): at least `least` points within r of c, none further than r and within `public_shell` r, and at
    least `least` beyond. Equal radii and numbers of points are tried in order, so the answer is a function of them.

    Args:
        points: public points of a group in their subspace.
        most: r_max.
        least_radius: r_min.
        least: t.
        constants: radii that halve, and the first ball that passes; or all radii, and the widest gap.
    """
    from scipy.spatial.distance import cdist

    if len(points) < 2 * least:
        return None
    far = cdist(points, points)
    return (_widest if constants.widest else _first)(far, most, least_radius, least, constants)


def _first(far: np.ndarray, most: float, least_radius: float, least: float, constants: Constants) -> _Found | None:
    """Radii r_i = r_max / 2^i down to r_min, then centres: the first that passes, as printed; the cut is at 2 r_i."""
    steps = int(np.ceil(np.log2(max(most / least_radius, 1.0)))) if least_radius > 0 else 0
    for i in range(steps + 1):
        radius = most / 2**i
        inside, outside = far <= radius, far > constants.public_shell * radius
        passes = (inside.sum(1) >= least) & (outside.sum(1) >= least) & (inside | outside).all(1)
        if passes.any():
            center = int(np.argmax(passes))
            within, beyond = far[center][inside[center]], far[center][outside[center]]
            return _Found(center, float(within.max()), float(beyond.min()), 2 * radius, 10 * radius, 2 * radius)
    return None


def _widest(far: np.ndarray, most: float, least_radius: float, least: float, constants: Constants) -> _Found | None:
    """The ball with the widest gap between two consecutive distances; the cut is in its middle."""
    rising = np.sort(far, axis=1)
    low, high = rising[:, :-1], rising[:, 1:]
    number = np.arange(1, len(far))  # points up to each `low`
    allowed = (number >= least) & (len(far) - number >= least)
    wide = high >= constants.public_shell * np.maximum(low, least_radius)
    gaps = np.where(allowed & wide & (low <= most), high - low, -1.0)
    center, place = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    gap = float(gaps[center, place])
    if gap <= 0:
        return None
    middle = (float(low[center, place]) + float(high[center, place])) / 2
    inner, outer = middle - _MIDDLE * gap, middle + _MIDDLE * gap
    return _Found(int(center), float(low[center, place]), float(high[center, place]), inner, outer, middle)
