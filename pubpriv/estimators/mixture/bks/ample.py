"""Algorithms 8 and 9: groups that public points find alone, where there are about d / w of them."""

import math

import numpy as np

from pubpriv.data.balls import Balls, Cylinder, Path
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture.bks.constants import BETA, CONSTANTS, least_public
from pubpriv.estimators.mixture.bks.queries import search, split_of
from pubpriv.estimators.mixture.bks.tree import Tree
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step


@step(title="partition by public rows")
@one_thread
def easy_clusters(rows: PublicTable, scaling: Scaling, n: int, k: int, weight: float, constants: str) -> Tree:
    """Groups of public points, each split by a ball in its own top k directions while one passes Q_pub.

    No private row is asked. Mended: principal components are centred, r_max and r_min reach algorithm 8, which ends
    in bottom, distances of a point to itself do not count, and a split is the last one once there are k groups.

    Args:
        rows: all m public rows.
        scaling: standard coordinates, one scale for all columns.
        n: private rows; the search for a ball ends at a radius that depends on their number.
        k: groups that are looked for.
        weight: smallest weight of a component, w.
        constants: name.
    """
    known, points = CONSTANTS[constants], scaling.apply(rows.rows)
    least = least_public(known, len(points), weight)
    balls, waiting, closed = list[Cylinder](), list[Path]([()]), list[Path]()
    while waiting:
        path = waiting.pop(0)
        own = points[Balls(tuple(balls), (path,)).members(rows.rows)[0]]
        center, directions = own.mean(axis=0), _directions(own, k)
        most, smallest = _radii(own, n + len(points), k)
        projected = (own - center) @ directions.T
        found = search(projected, most, smallest, least, known) if len(waiting) + len(closed) + 1 < k else None
        if found is None:
            closed.append(path)
        else:
            split = split_of(scaling, path, center, directions, projected, found)
            balls.append(Cylinder(split.frame, split.cut))
            waiting += [(*path, (len(balls) - 1, True)), (*path, (len(balls) - 1, False))]
    return Tree(tuple(balls), tuple(closed), ())


def _directions(points: np.ndarray, k: int) -> np.ndarray:
    """The top k right singular vectors (ell, d) of the centred points; signs do not matter to balls."""
    return np.asarray(np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:k])


def _radii(points: np.ndarray, total: int, k: int) -> tuple[float, float]:
    """(r_max, r_min) of algorithm 9: 4 max |x - y|, and sqrt(2 k ln(2 N k / beta)) / (4 sqrt d) min |x - y|."""
    from scipy.spatial.distance import pdist

    if len(points) < 2:
        return 0.0, 0.0
    distances = pdist(points)
    factor = math.sqrt(2 * k * math.log(2 * total * k / BETA)) / (4 * math.sqrt(points.shape[1]))
    most = 4 * float(distances.max())
    return most, max(factor * float(distances.min()), most * 2.0**-30)
