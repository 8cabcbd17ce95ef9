"""Algorithms 6 and 9: find the groups of rows that are components, or report which step failed.

Both use Q_pub (algorithms 5 and 8) to find a ball around a public point that splits a group, judged by public points;
algorithm 6 then asks the private rows (Q_priv).
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.balls import Balls, Cylinder, Path
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._pca import Subspaces
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture.bks._constants import Constants
from pubpriv.estimators.mixture.bks.plan import BksPlan
from pubpriv.estimators.mixture.bks.tree import Level, Tree, open_level
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.sample_sizes.terms import BETA
from pubpriv.estimators.steps import Execution, step

_LEAST_RADIUS = 2.0**-20
"""r_min over r_max in algorithm 5. R / sqrt(d), as printed, is larger than its theorem allows: nothing splits."""

_MIDDLE = 0.06
"""Half the width of a practical shell, as a share of the gap between inner and outer public points."""


@public_value
@dataclass(frozen=True)
class _Split:
    """A ball that passes Q_pub: how it would split a group, and what Q_priv asks about it.

    Attributes:
        path: the group to split.
        frame: moves the ball's centre to the origin of the subspace.
        inner: Q_priv requires many rows within this radius,
        outer: few rows between `inner` and this radius, and many beyond.
        cut: radius at which the group is split.
        gap: width of the empty interval of distances around the boundary, between public points inside and outside.
    """

    path: Path
    frame: Frame
    inner: float
    outer: float
    cut: float
    gap: float


@dataclass(frozen=True)
class _Found:
    """A split: the centre's index, the largest distance inside, the smallest outside, and the three radii."""

    center: int
    inside: float
    outside: float
    inner: float
    outer: float
    cut: float


@dataclass(frozen=True)
class Clustering:
    """The result of a clustering.

    Attributes:
        tree: the groups, none of them open.
        asked: labels of the questions that were asked.
        failure: which step left fewer than k groups; None: there are k.
    """

    tree: Tree
    asked: tuple[str, ...]
    failure: str | None


def easy_clustering(rows: PublicTable, run: Execution, scaling: Scaling, settings: MixtureSettings) -> Clustering:
    """Run algorithm 9 (theorem C.26, with theorem C.25 for each split), by public points only."""
    n, k = run.curator.n_rows, settings.most
    tree = run(_easy_clusters, rows, scaling, n, k, settings.smallest_weight, settings.constants)
    short = f"only {len(tree.groups)} of {k} groups were found: no ball around a public point passes Q_pub"
    return Clustering(tree, (), None if len(tree.groups) == k else short)


def hard_clustering(
    rows: PublicTable, run: Execution, scaling: Scaling, level: Level, settings: MixtureSettings, plan: BksPlan
) -> Clustering:
    """Run algorithm 6 (theorem C.21), one level of the tree at a time, starting at `level`.

    A level asks for the principal components of its open groups and then, once, about one split of each group that has
    a candidate. It ends with k groups, with a level that splits nothing (bottom), or with its last level: each level
    adds a group, so k - 1 are enough.
    """
    k, weight, constants = settings.most, settings.smallest_weight, settings.constants
    least = Constants.named(constants).least_public(len(rows.rows), weight)
    asked: list[str] = []
    for number, asks in enumerate(plan.levels, start=1):
        if len(level.tree.groups) == k:
            break
        here = run.at(f"(level {number})")
        where = f"only {len(level.tree.groups)} of {k} groups were found: on level {number} of the tree, "
        if not level.tree.open:
            short = f"{where}no group has the {2 * least:.0f} public points that it takes to split it"
            return Clustering(level.tree, tuple(asked), short)
        subspaces = _whole(level, len(rows.columns))
        if asks.pca is not None:
            asked.append(asks.pca.label)
            subspaces = here(_level_pca, level, k, asks.pca)
        splits = here(_public_query, rows, scaling, level, subspaces, weight, constants)
        if not splits:
            return Clustering(level.tree.closing(), tuple(asked), f"{where}no ball around a public point passes Q_pub")
        asked.append(asks.query.label)
        passed = here(_private_query, level.tree, splits, weight, constants, asks.query)
        if not passed:
            return Clustering(level.tree.closing(), tuple(asked), f"{where}the private rows agree to no split (Q_priv)")
        below = run.at(f"(level {number + 1})")
        level = below(open_level, rows, scaling, _grown(level, passed, k), k, weight, constants)
    return Clustering(level.tree.closing(), tuple(asked), None)


def _whole(level: Level, d: int) -> Subspaces:
    """Give all of R^d for every open group, if there is nothing to reduce."""
    identity = row_tuples(np.eye(d))
    return Subspaces((identity,) * len(level.tree.open))


@step(title="partition by public rows")
@one_thread
def _easy_clusters(rows: PublicTable, scaling: Scaling, n: int, k: int, weight: float, constants: str) -> Tree:
    """Split groups of public points by balls in their own top k directions, as long as one passes Q_pub.

    No private row is asked. Mended: principal components are centred, r_max and r_min reach algorithm 8, which ends
    in bottom, distances of a point to itself do not count, and a split is the last one once there are k groups.

    Args:
        rows: all m public rows.
        scaling: standard coordinates, one scale for all columns.
        n: number of private rows; the least radius of the search depends on it.
        k: number of groups to find.
        weight: smallest weight of a component, w.
        constants: name of the constants.
    """
    known, points = Constants.named(constants), scaling.apply(rows.rows)
    least = known.least_public(len(points), weight)
    balls, waiting, closed = list[Cylinder](), list[Path]([()]), list[Path]()
    while waiting:
        path = waiting.pop(0)
        own = points[Balls(tuple(balls), (path,)).members(rows.rows)[0]]
        center, directions = own.mean(axis=0), _directions(own, k)
        most, smallest = _radii(own, n + len(points), k)
        projected = (own - center) @ directions.T
        found = _search(projected, most, smallest, least, known) if len(waiting) + len(closed) + 1 < k else None
        if found is None:
            closed.append(path)
        else:
            split = _split_of(scaling, path, center, directions, projected, found)
            balls.append(Cylinder(split.frame, split.cut))
            waiting += [(*path, (len(balls) - 1, True)), (*path, (len(balls) - 1, False))]
    return Tree(tuple(balls), tuple(closed), ())


def _directions(points: np.ndarray, k: int) -> np.ndarray:
    """The top k right singular vectors (ell, d) of the centred points; signs do not matter to balls."""
    return np.asarray(np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:k])


def _radii(points: np.ndarray, total: int, k: int) -> tuple[float, float]:
    """Compute (r_max, r_min) of algorithm 9: 4 max |x - y|, and sqrt(2 k ln(2 N k / beta)) / (4 sqrt d) min |x - y|."""
    from scipy.spatial.distance import pdist

    if len(points) < 2:
        return 0.0, 0.0
    distances = pdist(points)
    factor = math.sqrt(2 * k * math.log(2 * total * k / BETA)) / (4 * math.sqrt(points.shape[1]))
    most = 4 * float(distances.max())
    return most, max(factor * float(distances.min()), most * 2.0**-30)


def _grown(level: Level, splits: tuple[_Split, ...], k: int) -> Tree:
    """Make the tree after the `splits` that passed; every other group of the level is closed.

    If more pass than components are missing, those with the widest gaps are made.
    """
    tree = level.tree
    missing = k - len(tree.groups)
    made = {split.path: split for split in sorted(splits, key=lambda split: -split.gap)[:missing]}
    balls, children = list(tree.balls), list[Path]()
    for path in tree.open:
        if path in made:
            balls.append(Cylinder(made[path].frame, made[path].cut))
            children += [(*path, (len(balls) - 1, True)), (*path, (len(balls) - 1, False))]
    closed = tree.closed + tuple(path for path in tree.open if path not in made)
    return Tree(tuple(balls), closed, tuple(children))


@step(title="private PCA", private=True)
@one_thread
def _level_pca(curator: Curator, level: Level, n_components: int, ask: Ask) -> Subspaces:
    """Find the top k directions of each open group about its centre: algorithm 4 for a whole level.

    Source: theorem C.17 and corollary C.18.

    Mended: lemma C.19's sensitivity of the second moment is sqrt(2) r^2, and noise with half the variance off the
    diagonal is shaped like it.

    Privacy: `LiftedGram.second_moment` over disjoint groups, mu^2 <= ask.price for all of them together.
    """
    partition = Balls(level.tree.balls, level.tree.open)
    question = LiftedGram.second_moment(partition, level.frames, level.radii, ask.price)
    moments = curator.release(question, ask.label).values["moment"]
    bases = [np.linalg.eigh(moment)[1][:, ::-1][:, :n_components].T for moment in moments]
    return Subspaces(tuple(map(row_tuples, bases)))


@step(title="partition", private=True)
def _private_query(
    curator: Curator, tree: Tree, splits: tuple[_Split, ...], weight: float, constants: str, ask: Ask
) -> tuple[_Split, ...]:
    """Ask Q_priv of algorithm 5 for a whole level, and return the splits that the private rows confirm.

    For each group, it asks how many rows lie in the ball, in the shell and beyond, by one joint `Counts` over three
    disjoint regions per group. The test min(c1 - t, c3 - t, tau - c2) >= 0 is post-processing. (A replaced record
    reduces the test's own margin by at most one, and may change two groups, so a question that adds noise to the margin
    would need the same noise sd, sqrt(2 / mu^2). The counts give more information for that price.)

    Mended: one Q_priv for each partition, and bottom if it fails; the proofs charge one count where the printed
    algorithm asks three for every candidate.

    Privacy: one `Counts` over a partition, mu^2 <= ask.price for all groups together.

    Raises:
        ValueError: two splits of one group.
    """
    if len({split.path for split in splits}) != len(splits):
        raise ValueError("a group may be asked about one split only")
    balls, paths = list(tree.balls), []
    for split in splits:
        inner, outer = len(balls), len(balls) + 1
        balls += [Cylinder(split.frame, split.inner), Cylinder(split.frame, split.outer)]
        paths += [
            (*split.path, (inner, True)),
            (*split.path, (inner, False), (outer, True)),
            (*split.path, (inner, False), (outer, False)),
        ]
    question = Counts.priced(Balls(tuple(balls), tuple(paths)), ask.price)
    counts = curator.release(question, ask.label).values["count"].reshape(-1, 3)
    known = Constants.named(constants)
    least = known.least_private(curator.n_rows, weight)
    margins = [min(c1 - least, c3 - least, known.shell_share * least - c2) for c1, c2, c3 in counts]
    return tuple(split for split, margin in zip(splits, margins, strict=True) if margin >= 0)


# Q_pub: find a ball around a public point that splits a group, judged by public points (algorithms 5 and 8)


@step(title="public query")
@one_thread
def _public_query(
    rows: PublicTable, scaling: Scaling, level: Level, subspaces: Subspaces, weight: float, constants: str
) -> tuple[_Split, ...]:
    """Propose at most one split for each open group of `level`, about which the private rows are then asked.

    Post-processing of the subspaces: free. Mended: algorithm 5 asks the private rows about every ball that passes
    Q_pub until one passes Q_priv. Its theorem C.20 shows that under its conditions the first one does, or none.

    Args:
        rows: all m public rows.
        scaling: standard coordinates.
        level: groups, with the balls that they are clipped to.
        subspaces: a basis (ell, d) for each.
        weight: smallest weight of a component.
        constants: name of the constants.
    """
    known = Constants.named(constants)
    least = known.least_public(len(rows.rows), weight)
    members = level.tree.partition.members(rows.rows)[len(level.tree.closed) :]
    splits = []
    for path, own, frame, radius, basis in zip(
        level.tree.open, members, level.frames, level.radii, subspaces.bases, strict=True
    ):
        center, directions = scaling.standard(frame)[0], np.array(basis)
        projected = (scaling.apply(rows.rows[own]) - center) @ directions.T
        found = _search(projected, radius, _LEAST_RADIUS * radius, least, known)
        if found is not None:
            splits.append(_split_of(scaling, path, center, directions, projected, found))
    return tuple(splits)


def _split_of(
    scaling: Scaling, path: Path, center: np.ndarray, directions: np.ndarray, projected: np.ndarray, found: _Found
) -> _Split:
    """Make the split of the group `path` by the ball `found` among its `projected` points."""
    origin = center + directions.T @ projected[found.center]
    frame = scaling.frame(origin, directions)
    return _Split(path, frame, found.inner, found.outer, found.cut, found.outside - found.inside)


def _search(points: np.ndarray, most: float, least_radius: float, least: float, constants: Constants) -> _Found | None:
    """Find the ball around one of `points` (m', ell) that passes Q_pub; None if there is none.

    Q_pub(c, r): at least `least` points within r of c, none further than r and within `public_shell` r, and at least
    `least` beyond. Ties are broken by a fixed order, so the answer is a function of radii and numbers of points.

    Args:
        points: public points of a group in their subspace.
        most: r_max.
        least_radius: r_min.
        least: t.
        constants: choose halving radii and the first ball that passes; or all radii and the widest gap.
    """
    from scipy.spatial.distance import cdist

    if len(points) < 2 * least:
        return None
    far = cdist(points, points)
    return (_widest if constants.widest else _first)(far, most, least_radius, least, constants)


def _first(far: np.ndarray, most: float, least_radius: float, least: float, constants: Constants) -> _Found | None:
    """Try radii r_i = r_max / 2^i down to r_min, then centres; take the first that passes, as printed, cut at 2 r_i."""
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
    """Find the ball with the widest gap between two consecutive distances; the cut is in its middle."""
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
