"""Algorithm 3: a ball around the most isolated public point that cuts through no component."""

from dataclasses import dataclass

import numpy as np

from pubpriv.estimators.mixture.bks.constants import Constants


@dataclass(frozen=True)
class _Supercluster:
    """Centre (d,) and radius of the ball."""

    center: np.ndarray
    radius: float


def supercluster(points: np.ndarray, k: int, constants: Constants) -> _Supercluster:
    """SC(points): a pure ball under the paper's conditions (theorem C.14), of radius O(k) times a component's.

    Mended: the nearest neighbour of a point is another point; one point is its own ball of radius 0; where every
    point has an equal the smallest scale is 0, and the ball holds all points.

    Args:
        points: public points (m', d).
        k: at most so many times the ball grows.
        constants: its `supercluster` is 16 in the paper.
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

    The loop of algorithm 3 as its proof reads it (claims C.15 and C.16): where nothing is new within one step, the
    ball is returned if the step before this one found nothing either, and with one step more if the next finds
    nothing; a ball that found points only within the first of two steps may be pure.
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
