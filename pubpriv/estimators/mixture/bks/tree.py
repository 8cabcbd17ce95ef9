"""Groups of rows that balls cut out of one another: the queues of algorithms 6 and 9, one level at a time.

A level contains all groups made by the same number of splits; they are disjoint, so one joint release asks about all of
them. Superclustering splits by public points only and stays on its level.
"""

from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.balls import Balls, Cylinder, Path
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture.bks._constants import Constants
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step

_BEYOND = 1.1
"""A tight clip radius, divided by the norm of the furthest public point."""

_SMALLEST = 1e-6
"""Least clip radius, in units of the public spread: equal public points have no extent."""


@dataclass(frozen=True)
class _Supercluster:
    """Centre (d,) and radius of a supercluster's ball."""

    center: np.ndarray
    radius: float


def _supercluster(points: np.ndarray, k: int, constants: Constants) -> _Supercluster:
    """Compute SC(points): a pure ball under the paper's conditions (theorem C.14), of radius O(k) times a component's.

    Mended: the nearest neighbour of a point is another point; a single point is its own ball of radius 0; if every
    point has a duplicate, the smallest scale is 0, and the ball contains all points.

    Args:
        points: public points (m', d).
        k: the ball grows at most this many times.
        constants: `supercluster` is 16 in the paper.
    """
    if len(points) == 1:
        return _Supercluster(points[0], 0.0)
    from scipy.spatial.distance import cdist

    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    center = points[int(np.argmax(nearest))]
    step = constants.supercluster * float(nearest.max())
    far = np.linalg.norm(points - center, axis=1)
    return _Supercluster(center, _radius(far, step, k) if step > 0 else float(far.max()))


def _radius(far: np.ndarray, step: float, k: int) -> float:
    """Grow by one, two or three steps until two steps in a row find no new point.

    This is the loop of algorithm 3 as its proof reads it (claims C.15 and C.16). If one step finds nothing new, the
    ball is returned if the step before found nothing either, and one step larger if the next step finds nothing. A ball
    that found points only within the first of two steps may be pure.
    """

    def found(radius: float) -> int:
        return int((far <= radius).sum())

    radius, pure = step, False
    for _ in range(k):
        within, one, two = found(radius), found(radius + step), found(radius + 2 * step)
        if one > within:
            radius, pure = radius + 2 * step, two == one
        elif pure:
            return radius
        elif two == within:
            return radius + step
        else:
            radius, pure = radius + 3 * step, False
    return radius


@public_value
@dataclass(frozen=True)
class Tree:
    """Groups found so far.

    Attributes:
        balls: balls that cut the groups out.
        closed: groups that are taken to be one component.
        open: groups that may contain several.
    """

    balls: tuple[Cylinder, ...] = ()
    closed: tuple[Path, ...] = ()
    open: tuple[Path, ...] = ((),)

    @property
    def groups(self) -> tuple[Path, ...]:
        """List closed groups, then open ones."""
        return self.closed + self.open

    @property
    def partition(self) -> Balls:
        """The partition of which all groups are the regions."""
        return Balls(self.balls, self.groups)

    def closing(self) -> "Tree":
        """Return the same groups with none of them open."""
        return replace(self, closed=self.groups, open=())


@public_value
@dataclass(frozen=True)
class Level:
    """The open groups of a tree after superclustering, and the ball of R^d that each is clipped to.

    Attributes:
        tree: the tree; frames and radii are for its open groups, in order.
        frames: move each group's centre to the origin.
        radii: radii of the balls, in standard coordinates.
    """

    tree: Tree
    frames: tuple[Frame, ...]
    radii: tuple[float, ...]


@step(title="superclustering")
@one_thread
def open_level(rows: PublicTable, scaling: Scaling, tree: Tree, k: int, weight: float, constants: str) -> Level:
    """Split the tree's open groups into superclusters (algorithm 3), until there are k groups in all.

    Mended: remainders without public points are not groups (their private rows stay where they are), and groups that
    cannot be split for lack of public points, or because there are k groups already, are closed at no cost.

    Args:
        rows: all m public rows.
        scaling: standard coordinates, one scale for all columns.
        tree: tree from the level before.
        k: number of groups to find.
        weight: smallest weight of a component, w.
        constants: name of the constants.
    """
    known, points = Constants.named(constants), scaling.apply(rows.rows)
    balls, waiting, found = list(tree.balls), list(tree.open), list[tuple[Path, Frame, float, bool]]()
    count = len(tree.groups)
    least = 2 * known.least_public(len(points), weight)
    while waiting:
        path = waiting.pop(0)
        own = points[Balls(tuple(balls), (path,)).members(rows.rows)[0]]
        ball = _supercluster(own, k, known)
        inside = np.linalg.norm(own - ball.center, axis=1) <= ball.radius
        if not inside.all() and count < k:
            balls.append(Cylinder(scaling.frame(ball.center, np.eye(points.shape[1])), ball.radius))
            waiting.append((*path, (len(balls) - 1, False)))
            path, own, count = (*path, (len(balls) - 1, True)), own[inside], count + 1
        frame, radius = _clip(scaling, own, ball.center, ball.radius, known)
        found.append((path, frame, radius, len(own) >= least))
    going = [group for group in found if group[3] and count < k]
    closed = tree.closed + tuple(group[0] for group in found if group not in going)
    grown = Tree(tuple(balls), closed, tuple(path for path, *_ in going))
    return Level(grown, tuple(frame for _, frame, *_ in going), tuple(radius for _, _, radius, _ in going))


def _clip(
    scaling: Scaling, own: np.ndarray, center: np.ndarray, radius: float, constants: Constants
) -> tuple[Frame, float]:
    """Choose centre and clip radius for the principal components of a group with the public points `own`."""
    if constants.tight:
        center = own.mean(axis=0)
        radius = _BEYOND * float(np.linalg.norm(own - center, axis=1).max()) * (1 + 1 / len(own)) ** 0.5
    return scaling.frame(center, np.eye(len(center))), max(radius, _SMALLEST)
