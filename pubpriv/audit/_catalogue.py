"""Audit data of each question: examples over regions of every kind, and what one record adds to its totals.

The latter is computed independently of the product's code, as in `reference` for regions. Tables have the columns
`neighbours.COLUMNS`; regions are cut at a = 0, so that (-4, 0) and (4, 0) lie deep in two of them. Questions are built
by the product's code at each call.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from pubpriv.audit._neighbours import GROUPS, Integers, Record, cell_name
from pubpriv.audit._reference import Vector, completed, half_planes, mapped, region_of, scores_of, uncertain
from pubpriv.data.balls import Balls, Cylinder
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import GRID, Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import (
    Bisection,
    BoundedScore,
    ClippedSums,
    Completed,
    CompletedGram,
    Counts,
    FourthMoments,
    InShares,
    JointCounts,
    LiftedGram,
    Moments,
    Question,
    Radial,
    Selection,
    StableCells,
)
from pubpriv.data.questions.base import COUNT_FACTOR, SUM_FACTOR, root_up, squared_weight
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, NearestPoint, Partition, Shells
from pubpriv.data.score_frames import AnyFrame, ScoreFrame
from pubpriv.data.uncovered import Uncovered

PRICE = Fraction(7, 10)
"""Price of the questions, mu^2."""

_SHARES = Fraction(24, 100), Fraction(45, 100), Fraction(31, 100)
"""Shares of count, sum and second part in joint releases."""

WEST, EAST, NORTH, NEAR = (-4.0, 0.0), (4.0, 0.0), (4.0, 6.0), (-3.0, 0.5)
_PLANE = Frame.of(np.zeros(2), np.array([[1.0, 0.0], [0.0, 0.5]]))
_ACROSS = Frame.of(np.zeros(2), np.array([[0.5, 1.0]]))
_TILTED = np.array([[1.0, 0.25], [-0.5, 2.0]])
_FILL = Frame.of(np.array([-3.75, 0.0]), np.array([[2.0, 0.0], [-1.0, 6.0]]))
"""The Gaussian by which audited records are completed: what one cell leaves uncertain is about half a radius."""

_FAR = 30.0
"""Much further from a region's point than its radius."""

_BEYOND_CELLS = 2.0**62
"""No cell of `StableCells` lies further out; NaN compares as false."""

_Point = tuple[float, float]


def _cells(*centers: _Point) -> Cells:
    frames = tuple(Frame.of(np.array(center), np.eye(2)) for center in centers)
    return Cells(frames, tuple(0.1 * i for i in range(len(centers))))


PARTITIONS: dict[str, Partition] = {
    "everything": Everything(),
    "nearest": NearestPoint(_PLANE, (WEST, EAST, (40.0, 1.0)), (0, 1, 1)),
    "cells": _cells(WEST, EAST),
    "refined": Refined(NearestPoint(_PLANE, (WEST, EAST), (0, 1)), (_cells(WEST), _cells(EAST, NORTH))),
    "shells": Shells(Frame(WEST), (3.0, 12.0)),
    "category": GROUPS,
}
_BALLS = Balls(
    (Cylinder(Frame(WEST), 2.0), Cylinder(Frame.of(np.array(EAST), np.array([[1.0, 0.0]])), 3.0)),
    (((0, True), (1, False)), ((0, False), (1, True)), ((0, False), (1, False))),
)
CENTERS = {
    "everything": [WEST],
    "nearest": [WEST, EAST],
    "cells": [WEST, EAST],
    "refined": [WEST, EAST, NORTH],
    "shells": [WEST, EAST, (40.0, 1.0)],
    "category": [WEST, EAST, NORTH],
}
_UNCOVERED = Uncovered(_PLANE, (WEST, (-4.0, 3.0)), (2.0, 6.0))
_BALL = Uncovered(_PLANE, (WEST,), (3.0,), Cylinder(Frame(EAST), 3.0))

_NESTED = Refined(_cells(WEST, EAST), (_cells(WEST), _cells(EAST, NORTH)))
_GRID = GridCells(_cells(WEST, EAST), (_PLANE, Frame(EAST, ((0.25, 0.0),))), (((-4, 0), (-3, 0)), ((-1,), (0,))))


@dataclass(frozen=True)
class Example:
    """A question, and the share of its sensitivity that an attack can reach.

    Attributes:
        name: short and unique, `gram-cells`.
        mechanism: for a reader, `LiftedGram over 2 regions (Cells)`.
        question: as the product builds it now.
        attainable: largest share of the declared squared distance that two records of real vectors reach.
    """

    name: str
    mechanism: str
    question: Question
    attainable: float


def _framed(name: str) -> tuple[Partition, tuple[Frame, ...], tuple[float, ...]]:
    """Return a partition of a kind, with a frame centred deep in each region, and a radius for each.

    The radii are so small that both ends of a diameter lie in the region.
    """
    centers = CENTERS[name]
    frames = tuple(Frame.of(np.array(center), _TILTED) for center in centers)
    return PARTITIONS[name], frames, tuple(0.5 + 0.25 * i for i in range(len(centers)))


def at(center: _Point, direction: _Point, length: float = _FAR) -> _Point:
    """Return the cells of a record at `center` + `length` times `direction`, the direction as seen after the frame."""
    tilted = np.linalg.solve(_TILTED, np.array(direction))
    a, log1p_b = np.array(center) + length * tilted
    return float(a), math.expm1(float(log1p_b))


def _by_region(name: str) -> dict[str, Question]:
    """Every question that asks by region, over one kind of partition."""
    partition, frames, radii = _framed(name)
    without_count = LiftedGram.priced(partition, frames, radii, PRICE, _SHARES).noise_scales
    return {
        f"counts-{name}": Counts.priced(partition, PRICE),
        f"sums-{name}": ClippedSums.priced(partition, frames, radii, PRICE),
        f"fourth-{name}": FourthMoments.priced(partition, frames, radii, PRICE),
        f"moments-{name}": Moments.priced(partition, frames, radii, PRICE, _SHARES),
        f"gram-{name}": LiftedGram.priced(partition, frames, radii, PRICE, _SHARES),
        f"second-moment-{name}": LiftedGram.second_moment(partition, frames, radii, PRICE),
        f"gram-without-count-{name}": LiftedGram(partition, frames, radii, (0, *without_count[1:])),
    }


def _of_one_kind() -> dict[str, Question]:
    """Questions about one number of a record, or about several partitions."""
    sd = Bisection.noise_for(6, PRICE)
    frame = Frame.of(np.array([0.5, 0.5]), _TILTED)
    return {
        "bisection-linear": Bisection(frame, 0.5, 9.0, 6, 4.0, sd),
        "bisection-log": Bisection(frame, 1e-3, 1e3, 6, 4.0, sd, logarithmic=True),
        "bisection-signed": Bisection(frame, -5.0, 5.0, 6, 4.0, sd, signed=True),
        "stable-cells": StableCells.priced(_PLANE, 100, 2, PRICE, Fraction(6)),
        "selection": Selection.priced(_PLANE, 100, 1.5, 2, 0.05, PRICE),
        "score": BoundedScore.priced(_cells(WEST, NORTH), _cells(EAST), 3.0, PRICE),
        "gram-shares": InShares(_over_cells(LiftedGram, _cells(WEST, EAST)), 8),
        "joint": JointCounts.priced((PARTITIONS["cells"], PARTITIONS["shells"]), PRICE),
        **_of_scores(),
        "completed-gram": _completed("everything", (0.7, 1.0)),
        "completed-sums": Completed(ClippedSums.priced(*_framed("everything"), PRICE), _FILL),
    }


def _of_scores() -> dict[str, Question]:
    """Questions of a regression: score rows with their meat, their lengths, and regressors where scores are short."""
    plane = Frame.of(np.array(WEST), _TILTED)
    score, quarters = ScoreFrame(plane), (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    short = Shells(score, (2.0,))
    return {
        "sums-score": ClippedSums.priced(Everything(), (score,), (0.5,), PRICE),
        "gram-score": LiftedGram.priced(Everything(), (score,), (0.5,), PRICE, quarters),
        "counts-score": Counts.priced(Shells(score, (0.5, 2.0, 40.0)), PRICE),
        "gram-score-shells": LiftedGram.priced(short, (score, score), (0.5, 4.0), PRICE, _SHARES),
        "gram-beside-score": LiftedGram.priced(short, (plane,), (0.75,), PRICE, quarters),
    }


def _completed(name: str, parts: tuple[float, float], level: float = 0.6) -> CompletedGram:
    """Make a question about completed records, with nothing but the second moment if there is one region.

    Shells are of a few records' length; the fill is correlated and centred elsewhere than the frames are.
    """
    partition, frames, radii = _framed(name)
    question = LiftedGram.priced(partition, frames, radii, PRICE, _SHARES)
    if partition.n_regions == 1:
        question = LiftedGram.second_moment(partition, frames, radii, PRICE)
    return CompletedGram.of(question, _FILL, level, parts)


def questions() -> dict[str, Question]:
    """Make every kind of question over every partition, at one price."""
    return {name: q for partition in PARTITIONS for name, q in _by_region(partition).items()} | _of_one_kind()


def _at_the_edge() -> dict[str, Question]:
    """Make questions at the edges of a proof: maps that overflow, one dimension, shares at the limit, many regions."""
    one, frames, radius = _framed("everything")
    steep = (Frame.of(np.array(WEST), np.array([[4.0, 1.0], [-3.0, 8.0]])),)
    line = (Frame.of(np.array(WEST), np.array([[1.0, 1.0]])),)
    balanced = Fraction(1, 4), Fraction(4999, 10000), Fraction(1, 4)
    east = (Frame.of(np.array(EAST), _TILTED),)
    outside = ComponentShells(_cells(WEST, EAST), (3.0, 12.0), (), 2)
    about = tuple(Frame.of(np.array(center), _TILTED) for center in (WEST, EAST, NORTH, (40.0, 1.0)))
    shells = Refined(GROUPS, (Shells(Frame(WEST), (12.0,)), Shells(Frame(EAST), (12.0,)), _cells(NORTH)))
    sd = Bisection.noise_for(6, PRICE)
    within = tuple(Frame.of(np.array(c), _TILTED) for c in (WEST, (-40.0, 1.0), EAST, (40.0, 1.0), NORTH))
    return {
        "counts-balls": Counts.priced(_BALLS, PRICE),
        "counts-component-shells": Counts.priced(ComponentShells(_cells(WEST, EAST), (1.0, 3.0)), PRICE),
        "counts-shared-component-shells": Counts.priced(ComponentShells(_cells(WEST, EAST), (1.0, 3.0), (), 1), PRICE),
        "counts-axes": Counts.priced(ComponentShells(_cells(WEST, EAST), (1.0, 3.0), (_ACROSS, _ACROSS)), PRICE),
        "joint-one-region": JointCounts.priced((_BALL, PARTITIONS["cells"]), PRICE),
        "joint-same-cells": JointCounts.priced(_about_and_along(), PRICE),
        "counts-column": Counts.priced(ColumnCells(0, (-4.5, -4.0, 0.0, 4.0)), PRICE),
        "counts-missing": Counts.priced(MissingPatterns((0, 1), ((), (1,)), by_number=True), PRICE),
        "joint-missing": JointCounts.priced(_of_patterns(), PRICE),
        "columns-joint": JointCounts.priced(_of_columns(), PRICE),
        "columns-by-category": JointCounts.priced(_of_columns_by_category(), PRICE),
        "counts-grid": Counts.priced(_GRID, PRICE),
        "counts-nested": Counts.priced(Refined(_NESTED, (_cells(WEST), _cells(EAST), _cells(NORTH, EAST))), PRICE),
        "counts-category-cells": Counts.priced(Refined(GROUPS, (_cells(WEST, NORTH), *[_cells(EAST)] * 2)), PRICE),
        "gram-category-shells": LiftedGram.priced(shells, within, (0.5,) * 5, PRICE, _SHARES),
        "moments-category-shells": Moments.priced(shells, within, (0.5,) * 5, PRICE, _SHARES),
        "sums-grid": ClippedSums.priced(_GRID, east * 4, (0.5,) * 4, PRICE),
        "counts-pairs": Counts.priced(PairBins(_PLANE, (WEST, EAST, NORTH)), PRICE),
        "counts-uncovered": Counts.priced(_UNCOVERED, PRICE),
        "moments-uncovered": Moments.priced(_UNCOVERED, east * 2, (0.5, 0.75), PRICE, _SHARES),
        "gram-outside": LiftedGram.priced(outside, about, (0.5,) * 4, PRICE, _SHARES),
        "gram-outside-counted": LiftedGram.priced(outside, about[:2], (0.5,) * 2, PRICE, _SHARES),
        "gram-shares-outside": InShares(_over_cells(LiftedGram, outside), 8),
        "completed-tight": _completed("everything", (1.0, 1.0), 1.0),
        "completed-shells": _completed("shells", (0.7, 1.0)),
        "completed-cells": _completed("cells", (1.0, 1.0)),
        "completed-counts": Completed(Counts.priced(PARTITIONS["nearest"], PRICE), _FILL),
        "completed-bisection": Completed(Bisection(frames[0], 1e-3, 1e3, 6, 4.0, sd, logarithmic=True), _FILL),
        "moments-shares": InShares(_over_cells(Moments, _cells(WEST, NEAR, EAST)), 8),
        "gram-ball": LiftedGram.priced(_BALL, east, radius, PRICE, _SHARES),
        "sums-overflow": ClippedSums.priced(one, steep, radius, PRICE),
        "fourth-overflow": FourthMoments.priced(one, steep, radius, PRICE),
        "fourth-line": FourthMoments.priced(one, line, radius, PRICE),
        "moments-overflow": Moments.priced(one, steep, radius, PRICE, _SHARES),
        "gram-overflow": LiftedGram.priced(one, steep, radius, PRICE, _SHARES),
        "gram-line": LiftedGram.priced(one, line, radius, PRICE, _SHARES),
        "gram-balanced": LiftedGram.priced(one, frames, radius, PRICE, balanced),
        "gram-unbalanced": LiftedGram(one, frames, radius, _unbalanced_scales((5, 55, 40))),
        "counts-lengths": Counts.priced(Shells(frames[0], (1.0, 12.0)), PRICE),  # which the question before left
    }


def _over_cells(kind: type[LiftedGram] | type[Moments], cells: Cells | ComponentShells) -> LiftedGram | Moments:
    """Make a joint question over components, with radii so large that records between two are not all clipped."""
    frames = (cells if isinstance(cells, Cells) else cells.cells).frames
    return kind.priced(cells, frames, (0.5, 3.0, 0.5)[: len(frames)], PRICE, _SHARES)


def _of_patterns() -> tuple[MissingPatterns, ...]:
    """Patterns of both columns, and each column by itself, as completed records are counted."""
    each = tuple(MissingPatterns((j,), ((j,),), by_number=False) for j in (0, 1))
    return MissingPatterns((0, 1), ((), (0,)), by_number=True), *each


def _of_columns() -> tuple[ColumnCells, ColumnCells]:
    """Cells of both columns, with one for the value 0 alone, as quantiles count them."""
    below = float(np.nextafter(0.0, -1.0))
    return ColumnCells(0, (-5.0, below, 0.0, 5.0)), ColumnCells(1, (below, 0.0, 1.5))


def _of_columns_by_category() -> tuple[Refined, Refined]:
    """The same for each category, with edges of its own, as quantiles of groups count them."""
    first, second = _of_columns()
    others = ColumnCells(0, (1.0,)), ColumnCells(1, (-2.0, 2.0))
    return Refined(GROUPS, (first, others[0], first)), Refined(GROUPS, (others[1], second, second))


def _about_and_along() -> tuple[ComponentShells, ComponentShells]:
    """Shells of the distance from a component, and along an axis, as a mixture counts them."""
    cells = _cells(WEST, EAST)
    return ComponentShells(cells, (1.0, 3.0), (), 1), ComponentShells(cells, (1.0, 3.0), (_ACROSS, _ACROSS))


def _radial() -> dict[str, Question]:
    """Make questions under radial noise: joint ones, by region, and in a bisection."""
    known = questions()
    apart = [*(f"{kind}-refined" for kind in ("counts", "sums", "fourth", "moments", "gram")), "joint"]
    joint = [name for name, question in _of_one_kind().items() if not isinstance(question, Selection | StableCells)]
    return {
        **{f"radial-{name}": Radial(known[name]) for name in (*apart, *joint, "gram-everything")},
        **{f"radial-apart-{name}": Radial(known[name], by_region=True) for name in apart},
        "radial-apart-gram-shares": Radial(InShares(_over_cells(LiftedGram, _cells(WEST, EAST)), 8), by_region=True),
    }


def _unbalanced_scales(shares: tuple[int, int, int]) -> tuple[int, int, int]:
    """Integer sds whose squared weights at norm R are `shares` hundredths of the price, condition or no condition."""
    n, s, second = (PRICE / 2 * share / 100 for share in shares)
    return root_up(COUNT_FACTOR**2 / n), root_up((SUM_FACTOR * GRID) ** 2 / s), root_up(GRID**4 / second)


def unsound() -> dict[str, Callable[[], Question]]:
    """List makers of questions whose proof does not hold: each must refuse with a ValueError."""
    one, frames, radii = _framed("everything")
    shares, scales = (Fraction(1, 10), Fraction(8, 10), Fraction(1, 10)), _unbalanced_scales((10, 80, 10))
    return {
        "Moments, noise that breaks 2 wN wQ >= wS^2": lambda: Moments(one, frames, radii, scales),
        "Moments, shares that break 4 N Q >= S^2": lambda: Moments.priced(one, frames, radii, PRICE, shares),
        "LiftedGram, shares that break 4 N M >= S^2": lambda: LiftedGram.priced(one, frames, radii, PRICE, shares),
    }


def examples() -> list[Example]:
    """Make all examples, with what an attack can hope for."""
    return [
        Example(name, _describe(name, question), question, _attainable(question))
        for name, question in (questions() | _at_the_edge() | _radial()).items()
    ]


def _describe(name: str, question: Question) -> str:
    """`LiftedGram over 3 regions (refined)`."""
    kind, _, rest = name.partition("-")
    regions = getattr(getattr(question, "partition", None), "n_regions", None)
    rest = f"{kind}-{rest}" if kind == "second" else rest
    for part in ("second-moment", "without-count"):
        rest = rest.replace(f"{part}-", f"{part.replace('-', ' ')}, ")
    over = "" if regions is None else f" over {regions} region{'s' if regions > 1 else ''}"
    return f"{type(question).__name__}{over}" + (f" ({rest})" if rest else "")


def bare(question: Any) -> Any:
    """Return the question without its wrappers for radial noise and for completed records."""
    while isinstance(question, Radial | Completed):
        question = question.inner
    return question


def _attainable(question: Question) -> float:
    """Compute the largest share of the declared squared distance that real vectors in the ball reach.

    Two regions always reach it: one record in each, on the spheres. In a single region, with K the kernel of the
    proofs and weights N, S, M of count, sum and second part at norm R, the furthest pair is

    - `LiftedGram`: two vectors on the sphere at u = <q, q'> = -S / (2 M) R^2, or opposite ends if that is
      beyond -R^2 (in one dimension only opposite ends or nobody's record are there);
    - `Moments`: opposite vectors, or a vector and nobody's record.
    """
    if isinstance(question, Radial | InShares | Completed):
        return 1.0 if isinstance(question, Radial) and question.by_region else _attainable(question.inner)
    if isinstance(question, FourthMoments) and question.partition.n_regions == 1:
        # two columns reach it; one column alone has no second vector at a right angle
        return 1.0 if question.frames[0].dimension > 1 else 0.5
    if not isinstance(question, LiftedGram | Moments) or question.partition.n_regions > 1:
        return 1.0
    parts = question.parts
    second = "diagonal" if "diagonal" in parts else "square"
    weights = [squared_weight(parts[p]) if p in parts else Fraction(0) for p in ("count", "sum", second)]
    n, s, m = (float(weight * GRID ** (2 * power)) for power, weight in enumerate(weights))
    alone = n + s + m
    if isinstance(question, Moments):
        return max(alone, 4 * s, *(_opposite(s, m, t / 64) for t in range(64))) / float(question.squared_distance)
    cosine = max(-1.0, -s / (2 * m)) if question.frames[0].dimension > 1 else -1.0
    furthest = 2 * alone - 2 * (n + s * cosine + m * cosine**2)
    return max(alone, furthest) / float(question.squared_distance)


def _opposite(s: float, m: float, shorter: float) -> float:
    """Squared distance of opposite vectors of norms R and `shorter` R in one region."""
    return s * (1 + shorter) ** 2 + m * (1 - shorter**2) ** 2


# --- what a record adds


def adds(question: Question, record: Record) -> Integers:
    """Compute what a record with the cells (a, b) adds to a question about the columns `COLUMNS`."""
    (a, b), fill = record, getattr(question.inner if isinstance(question, Radial) else question, "fill", None)
    question = bare(question)
    with np.errstate(all="ignore"):
        x = [a, float(np.log1p(b))]  # `math.log1p` has other last bits
    if fill is not None and not isinstance(question, CompletedGram):
        x = completed(fill, x)
    added = next((_ADDED[kind] for kind in type(question).__mro__ if kind in _ADDED), None)
    if added is None:
        raise TypeError(f"no reference for {type(question).__name__}: write one")
    return added(question, x)


def _quantised(frame: AnyFrame, radius: float, x: Vector, fourth: bool = False) -> list[int] | None:
    """The record's integers, or None if it does not count; with `fourth`, those of its fourth powers."""
    z, norm = mapped(frame, x)
    if fourth:
        z, radius = [(cell * cell) * (cell * cell) for cell in z], radius**4
        norm = sum(cell * cell for cell in z)
    if not math.isfinite(norm):
        return None
    scale = (GRID - math.sqrt(len(z)) / 2 - 1) / radius
    shorter = radius / math.sqrt(norm) if norm > radius * radius else 1.0
    q = [round(cell * scale * shorter) for cell in z]
    return q if sum(cell * cell for cell in q) <= GRID * GRID else None


def _quantised_completed(
    question: CompletedGram, frame: Frame, radius: float, x: Vector
) -> tuple[list[int], list[list[int]]] | None:
    """The completed record's integers, and those of what its missing cells leave uncertain; None: it does not count."""
    missing = [j for j, cell in enumerate(x) if math.isnan(cell)]
    if not missing or len(missing) == len(x):
        q = _quantised(frame, radius, x)
        return None if q is None else (q, [])
    z, norm = mapped(frame, completed(question.fill, x))
    if not math.isfinite(norm):
        return None
    scale = (GRID - math.sqrt(len(z)) / 2 - 1) / radius
    clip = radius * question.parts_of_radius[len(x) - len(missing) - 1]
    shorter = clip / math.sqrt(norm) if norm > clip * clip else 1.0
    q = [round(cell * scale * shorter) for cell in z]
    factor = math.sqrt(question.level) * scale
    vectors = [[round(cell * factor) for cell in vector] for vector in uncertain(question.fill, frame, missing)]
    squared = sum(sum(a * b for a, b in zip(v, w, strict=True)) ** 2 for v in vectors for w in vectors)
    bound = math.sqrt(squared) * (1 + 2.0**-30)
    return (q, vectors) if sum(cell * cell for cell in q) + math.ceil(bound) <= GRID * GRID else None


def _of_completed(question: CompletedGram, x: Vector) -> Integers:
    """Count, sum and second moment of the region of the completed record, with V V' in the second moment."""
    region = region_of(question.partition, completed(question.fill, x))
    added = {name: [0] * part.size for name, part in question.parts.items()}
    if region < 0:
        return added
    if region >= len(question.frames):
        return added | {"count": _one_of(question.partition.n_regions, region, 1)}
    integers = _quantised_completed(question, question.frames[region], question.radii[region], x)
    if integers is None:
        return added
    q, vectors = integers
    ell = len(q)
    second = [[sum(v[i] * v[j] for v in (q, *vectors)) for j in range(ell)] for i in range(ell)]
    pieces = {
        "count": [1],
        "sum": q,
        "diagonal": [second[i][i] for i in range(ell)],
        "upper": [second[i][j] for i in range(ell) for j in range(i + 1, ell)],
    }
    for name, values in added.items():
        size = len(pieces[name])
        values[region * size : (region + 1) * size] = pieces[name]
    return added


def _each_region(
    question: ClippedSums | FourthMoments | Moments | LiftedGram, x: Vector, only: int | None = None
) -> Integers:
    """Count, sum, squared norm and second moment of the one region that the record is in, or of the `only` one."""
    found = region_of(question.partition, x) if only is None else only
    pieces: list[Mapping[str, list[int]]] = []
    for number, (frame, radius) in enumerate(zip(question.frames, question.radii, strict=True)):
        fourth = isinstance(question, FourthMoments)
        q = _quantised(frame, radius, x, fourth) if number == found else None
        ell, counted = frame.dimension, int(q is not None)
        q = q or [0] * ell
        upper = [q[i] * q[j] for i in range(ell) for j in range(i + 1, ell)]
        diagonal = [cell * cell for cell in q]
        pieces.append(
            {"count": [counted], "sum": q, "fourth": q, "square": [sum(diagonal)], "diagonal": diagonal, "upper": upper}
        )
    bare = range(len(question.frames), question.partition.n_regions)
    pieces += [{name: [int(number == found)] if name == "count" else [] for name in question.parts} for number in bare]
    return {name: [value for piece in pieces for value in piece[name]] for name in question.parts}


def _in_shares(question: InShares, x: Vector) -> Integers:
    """What the record would add to each component if it were in it, times its share, in grains."""
    partition, k, whole = question.partition, len(question.frames), question.grain
    found = region_of(partition, x)
    shares = {found: whole} if found >= k else {}
    if 0 <= found < k:
        scores = scores_of(partition if isinstance(partition, Cells) else partition.cells, x)
        parts = list(accumulate(math.exp(score - max(scores)) for score in scores))
        ends = [round(part * (whole / parts[-1])) for part in parts[:-1]] + [whole]
        shares = {j: end - start for j, (start, end) in enumerate(pairwise([0, *ends]))}
    added = {name: [0] * part.size for name, part in question.parts.items()}
    for region, share in shares.items():
        for name, own in _each_region(question.inner, x, region).items():
            added[name] = [total + share * value for total, value in zip(added[name], own, strict=True)]
    return added


def _cells_of(question: StableCells, x: Vector) -> Integers:
    """One for the cell of each coordinate, by its name."""
    z, _ = mapped(question.frame, x)
    return {cell_name(i, math.floor(cell)): [1] for i, cell in enumerate(z) if abs(cell) < _BEYOND_CELLS}


def _sides(question: Selection, x: Vector) -> list[int]:
    """1 for each half-plane that contains the record, else 0; all 0 for a record that is not finite."""
    z, _ = mapped(question.frame, x)
    found = []
    for direction, offset in half_planes(question.frame.dimension, question.steps):
        along = sum(cell * number for cell, number in zip(z, direction, strict=True))
        found.append(int(math.isfinite(along) and along < offset * (question.step / 2)))
    return found


def _first_fit(question: Bisection, x: Vector) -> list[int]:
    """1 at the first threshold that is not below the record's number; all 0 if it is beyond the last."""
    z, norm = mapped(question.frame, x)
    thresholds = question.thresholds.tolist()
    number = z[0] if question.signed else math.sqrt(norm)
    at = bisect_left(thresholds, number) if math.isfinite(number) else -1
    return _one_of(len(thresholds), at if at < len(thresholds) else -1, 1)


def _score(question: BoundedScore, x: Vector) -> int:
    first, second = _log_density(question.first, x), _log_density(question.second, x)
    if math.isnan(first - second):
        return 0
    clipped = min(max(first - second, -question.bound), question.bound)
    return round(clipped * BoundedScore.grid / question.bound)


def _log_density(cells: Cells, x: Vector) -> float:
    scores = scores_of(cells, x)
    top = max(scores)
    # all components infinitely far: there is no density to compare
    return top + math.log(sum(math.exp(score - top) for score in scores)) if math.isfinite(top) else math.nan


def _counted(partition: Partition, x: Vector) -> list[int]:
    return _one_of(partition.n_regions, region_of(partition, x), 1)


def _one_of(size: int, place: int, value: int) -> list[int]:
    """Zeros, with `value` at `place`; -1 is nowhere."""
    return [value if i == place else 0 for i in range(size)]


_ADDED: dict[type, Callable[[Any, Vector], Integers]] = {
    Bisection: lambda question, x: {"histogram": _first_fit(question, x)},
    BoundedScore: lambda question, x: {"score": [_score(question, x)]},
    ClippedSums: _each_region,
    CompletedGram: _of_completed,
    Counts: lambda question, x: {"count": _counted(question.partition, x)},
    FourthMoments: _each_region,
    InShares: _in_shares,
    JointCounts: lambda question, x: {"count": [n for each in question.partitions for n in _counted(each, x)]},
    LiftedGram: _each_region,
    Moments: _each_region,
    Selection: lambda question, x: {"inside": _sides(question, x)},
    StableCells: _cells_of,
}
"""Functions for what a record adds, by kind of question."""
