"""What one record adds to a question, worked out slowly: one cell at a time, in Python's own numbers.

Written from the docstrings of `pubpriv.data` and shares no code with its scan: no blocks, no arrays, no masks. Only
a question's fields and its public constants are read. Floats are rounded in another order here than in a matrix
product; an integer differs for that with a probability of some 1e-11, where a cell lies at half a step of the grid.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from pubpriv.audit.neighbours import Integers, Record
from pubpriv.data.balls import Balls
from pubpriv.data.frames import GRID, Frame
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import Bisection, BoundedScore, ClippedSums, Counts, LiftedGram, Moments, Question
from pubpriv.data.regions import Cells, Everything, NearestPoint, Partition, Refined

_Vector = list[float]


def adds(question: Question, record: Record) -> Integers:
    """Work out what a record with the cells (a, b) adds to a question about the columns `catalogue.COLUMNS`."""
    a, b = record
    with np.errstate(all="ignore"):
        x = [a, float(np.log1p(b))]  # `math.log1p` has other last bits
    if isinstance(question, Bisection):
        return {"histogram": _first_fit(question, x)}
    if isinstance(question, BoundedScore):
        return {"score": [_score(question, x)]}
    if isinstance(question, Counts):
        return {"count": _one_of(question.partition.n_regions, _region(question.partition, x), 1)}
    if isinstance(question, ClippedSums | Moments | LiftedGram):
        return _by_region(question, x)
    raise TypeError(f"no reference for {type(question).__name__}: write one")


def _mapped(frame: Frame, x: _Vector) -> tuple[_Vector, float]:
    """z = W x - W c where there is a matrix, or D (x - c); and |z|^2."""
    if frame.matrix is not None:
        # rounded where the product rounds: on a line, whatever is clipped lies at half a step of the grid
        z = [_dot(row, x) - _dot(row, frame.center) for row in frame.matrix]
    else:
        diagonal = frame.diagonal or (1.0,) * len(x)
        z = [w * (cell - center) for w, cell, center in zip(diagonal, x, frame.center, strict=True)]
    return z, _added(cell * cell for cell in z)


def _region(partition: Partition, x: _Vector) -> int:
    """Number of the region, or -1."""
    if type(partition) not in _REGIONS:
        raise TypeError(f"no reference for {type(partition).__name__}: write one")
    return _REGIONS[type(partition)](partition, x)


def _everything(partition: Everything, x: _Vector) -> int:  # noqa: ARG001 - as every partition
    return 0 if math.isfinite(_added(x)) else -1


def _nearest(partition: NearestPoint, x: _Vector) -> int:
    z, norm = _mapped(partition.frame, x)
    if not math.isfinite(norm):
        return -1
    far = _far(z, partition.points)
    return partition.groups[far.index(min(far))]


def _likeliest(partition: Cells, x: _Vector) -> int:
    scores = _scores(partition, x)
    return scores.index(max(scores)) if all(map(math.isfinite, scores)) else -1


def _refined(partition: Refined, x: _Vector) -> int:
    group = _region(partition.groups, x)
    inner = _region(partition.inner[group], x) if group >= 0 else -1
    return inner + sum(cells.n_regions for cells in partition.inner[:group]) if inner >= 0 else -1


def _path_of(partition: Balls, x: _Vector) -> int:
    """The path of which every side holds: inside a ball, or outside at a finite distance."""
    if not math.isfinite(_added(x)):
        return -1
    norms = [_mapped(ball.frame, x)[1] for ball in partition.balls]
    within = [norm <= ball.radius**2 for norm, ball in zip(norms, partition.balls, strict=True)]
    beyond = [math.isfinite(norm) and not inside for norm, inside in zip(norms, within, strict=True)]
    fits = [all((within if inside else beyond)[ball] for ball, inside in path) for path in partition.paths]
    return fits.index(True) if any(fits) else -1


def _far(z: _Vector, points: Iterable[Sequence[float]]) -> _Vector:
    """(|z - p|^2 - |z|^2) / 2 of each point p: far away, the squared distances themselves are all the same float."""
    return [_dot(point, point) / 2 - _dot(point, z) for point in points]


def _pair_bin(partition: PairBins, x: _Vector) -> int:
    z, norm = _mapped(partition.frame, x)
    if not math.isfinite(norm):
        return -1
    far = _far(z, partition.centers)
    i, j = sorted(sorted(range(len(far)), key=far.__getitem__)[:2])
    gap = math.dist(partition.centers[i], partition.centers[j])
    # equal centers have no line between them: all records lie at t = 0
    t = 2 * (far[i] - far[j]) / gap**2 if gap > 0 else 0.0
    place = min(max(math.floor(t / PairBins.width + PairBins.inner / 2 + 1), 0), PairBins.bins - 1)
    pairs = [(first, second) for first in range(len(far)) for second in range(first + 1, len(far))]
    return pairs.index((i, j)) * PairBins.bins + place


_REGIONS: dict[type, Callable[..., int]] = {
    Everything: _everything,
    NearestPoint: _nearest,
    Cells: _likeliest,
    Refined: _refined,
    PairBins: _pair_bin,
    Balls: _path_of,
}


def _quantised(frame: Frame, radius: float, x: _Vector) -> list[int] | None:
    """The record's integers, or None where it does not count."""
    z, norm = _mapped(frame, x)
    if not math.isfinite(norm):
        return None
    scale = (GRID - math.sqrt(len(z)) / 2 - 1) / radius
    shorter = radius / math.sqrt(norm) if norm > radius * radius else 1.0
    q = [round(cell * scale * shorter) for cell in z]
    return q if sum(cell * cell for cell in q) <= GRID * GRID else None


def _by_region(question: ClippedSums | Moments | LiftedGram, x: _Vector) -> Integers:
    """Count, sum, squared norm and second moment of the one region that the record is in."""
    found = _region(question.partition, x)
    pieces: list[Mapping[str, list[int]]] = []
    for number, (frame, radius) in enumerate(zip(question.frames, question.radii, strict=True)):
        q = _quantised(frame, radius, x) if number == found else None
        ell, counted = frame.dimension, int(q is not None)
        q = q or [0] * ell
        upper = [q[i] * q[j] for i in range(ell) for j in range(i + 1, ell)]
        diagonal = [cell * cell for cell in q]
        pieces.append({"count": [counted], "sum": q, "square": [sum(diagonal)], "diagonal": diagonal, "upper": upper})
    return {name: [value for piece in pieces for value in piece[name]] for name in question.parts}


def _first_fit(question: Bisection, x: _Vector) -> list[int]:
    """One at the first threshold that is not below the record's number; nothing beyond the last."""
    z, norm = _mapped(question.frame, x)
    thresholds = question.thresholds.tolist()
    number = z[0] if question.signed else math.sqrt(norm)
    at = bisect_left(thresholds, number) if math.isfinite(number) else -1
    return _one_of(len(thresholds), at if at < len(thresholds) else -1, 1)


def _score(question: BoundedScore, x: _Vector) -> int:
    first, second = _log_density(question.first, x), _log_density(question.second, x)
    if math.isnan(first - second):
        return 0
    clipped = min(max(first - second, -question.bound), question.bound)
    return round(clipped * BoundedScore.grid / question.bound)


def _log_density(cells: Cells, x: _Vector) -> float:
    scores = _scores(cells, x)
    top = max(scores)
    # all components infinitely far: there is no density to compare
    return top + math.log(sum(math.exp(score - top) for score in scores)) if math.isfinite(top) else math.nan


def _scores(cells: Cells, x: _Vector) -> _Vector:
    return [offset - _mapped(frame, x)[1] / 2 for frame, offset in zip(cells.frames, cells.offsets, strict=True)]


def _one_of(size: int, place: int, value: int) -> list[int]:
    """Zeros, with `value` at `place`; -1 is nowhere."""
    return [value if i == place else 0 for i in range(size)]


def _dot(row: Iterable[float], x: Iterable[float]) -> float:
    return _added(w * cell for w, cell in zip(row, x, strict=True))


def _added(numbers: Iterable[float]) -> float:
    """From the first to the last; `sum` of newer Pythons adds floats in another way."""
    total = 0.0
    for number in numbers:
        total += number
    return total
