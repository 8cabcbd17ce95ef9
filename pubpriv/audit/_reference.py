"""Regions of records, computed slowly: one cell at a time, with Python's own numbers.

This is written from the docstrings of `pubpriv.data` and shares no code with its scan: no blocks, no arrays, no masks.
It reads only a partition's fields and its public constants. Floats are rounded in another order here than in a matrix
product; because of that an integer differs with a probability of some 1e-11, if a cell lies at half a step of the grid.
What a record adds to a question is in `catalogue.adds`, written in the same way.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import permutations, product

from pubpriv.data.balls import Balls
from pubpriv.data.categories import ByCategory
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.pairs import PairBins
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, NearestPoint, Partition, Shells
from pubpriv.data.score_frames import AnyFrame, ScoreFrame
from pubpriv.data.uncovered import Uncovered

Vector = list[float]


def mapped(frame: AnyFrame, x: Vector) -> tuple[Vector, float]:
    """Map a record: z = W x - W c where there is a matrix, or D (x - c), or the score (r, r w) of these; and |z|^2."""
    if isinstance(frame, ScoreFrame):
        r, *w = mapped(frame.inner, x)[0]
        score = [r, *(r * cell for cell in w)]
        return score, _added(cell * cell for cell in score)
    if frame.matrix is not None:
        # rounded where the product rounds: on a line, whatever is clipped lies at half a step of the grid
        z = [_dot(row, x) - _dot(row, frame.center) for row in frame.matrix]
    else:
        diagonal = frame.diagonal or (1.0,) * len(x)
        z = [w * (cell - center) for w, cell, center in zip(diagonal, x, frame.center, strict=True)]
    return z, _added(cell * cell for cell in z)


def completed(fill: Frame, x: Vector) -> Vector:
    """Put E[x | observed cells] for the missing cells of a record that has some, under the Gaussian of `fill`."""
    missing = [j for j, cell in enumerate(x) if math.isnan(cell)]
    if not missing or len(missing) == len(x):
        return x
    precision = _precision(fill)
    moved = [0.0 if math.isnan(cell) else cell - center for cell, center in zip(x, fill.center, strict=True)]
    inverse = _inverse_factor(precision, missing)
    half = [_dot(row, [_dot(precision[j], moved) for j in missing]) for row in inverse]
    filled = {j: _added(row[t] * h for row, h in zip(inverse, half, strict=True)) for t, j in enumerate(missing)}
    return [fill.center[j] - filled[j] if j in filled else cell for j, cell in enumerate(x)]


def uncertain(fill: Frame, frame: Frame, missing: list[int]) -> list[Vector]:
    """Work out directions, as seen after `frame`, of what the observed cells do not tell of: W_m L^-T."""
    rows = frame.dense()[1].tolist()
    inverse = _inverse_factor(_precision(fill), missing)
    return [[_dot(across, [row[j] for j in missing]) for row in rows] for across in inverse]


def _precision(fill: Frame) -> list[Vector]:
    rows = fill.dense()[1].tolist()
    columns = [[row[j] for row in rows] for j in range(len(fill.center))]
    return [[_dot(first, second) for second in columns] for first in columns]


def _inverse_factor(precision: list[Vector], missing: list[int]) -> list[Vector]:
    """Invert the lower Cholesky factor of the rows and columns `missing`."""
    size = len(missing)
    lower = [[0.0] * size for _ in missing]
    inverse = [[0.0] * size for _ in missing]
    for t in range(size):
        for s in range(t + 1):
            rest = precision[missing[t]][missing[s]] - _dot(lower[t][:s], lower[s][:s])
            lower[t][s] = math.sqrt(rest) if s == t else rest / lower[s][s]
        for s in range(t + 1):
            start = float(s == t)
            inverse[t][s] = (start - _dot(lower[t][:t], [row[s] for row in inverse[:t]])) / lower[t][t]
    return inverse


def region_of(partition: Partition, x: Vector) -> int:
    """Find the number of the region, or -1."""
    if type(partition) not in _REGIONS:
        raise TypeError(f"no reference for {type(partition).__name__}: write one")
    return _REGIONS[type(partition)](partition, x)


def _everything(partition: Everything, x: Vector) -> int:  # noqa: ARG001 - as every partition
    return 0 if math.isfinite(_added(x)) else -1


def _nearest(partition: NearestPoint, x: Vector) -> int:
    z, norm = mapped(partition.frame, x)
    if not math.isfinite(norm):
        return -1
    far = _far(z, partition.points)
    return partition.groups[far.index(min(far))]


def _likeliest(partition: Cells, x: Vector) -> int:
    scores = scores_of(partition, x)
    return scores.index(max(scores)) if all(map(math.isfinite, scores)) else -1


def _refined(partition: Refined, x: Vector) -> int:
    group = region_of(partition.groups, x)
    inner = region_of(partition.inner[group], x) if group >= 0 else -1
    return inner + sum(cells.n_regions for cells in partition.inner[:group]) if inner >= 0 else -1


def _path_of(partition: Balls, x: Vector) -> int:
    """The path of which every side holds: inside a ball, or outside at a finite distance."""
    if not math.isfinite(_added(x)):
        return -1
    norms = [mapped(ball.frame, x)[1] for ball in partition.balls]
    within = [norm <= ball.radius**2 for norm, ball in zip(norms, partition.balls, strict=True)]
    beyond = [math.isfinite(norm) and not inside for norm, inside in zip(norms, within, strict=True)]
    fits = [all((within if inside else beyond)[ball] for ball, inside in path) for path in partition.paths]
    return fits.index(True) if any(fits) else -1


def _far(z: Vector, points: Iterable[Sequence[float]]) -> Vector:
    """(|z - p|^2 - |z|^2) / 2 of each point p: far away, the squared distances themselves are all the same float."""
    return [_dot(point, point) / 2 - _dot(point, z) for point in points]


def _pair_bin(partition: PairBins, x: Vector) -> int:
    z, norm = mapped(partition.frame, x)
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


def _shell(partition: Shells, x: Vector) -> int:
    _, norm = mapped(partition.frame, x)
    return bisect_left([edge * edge for edge in partition.edges], norm) if math.isfinite(norm) else -1


def _far_from_all(partition: Uncovered, x: Vector) -> int:
    """Count the distances from the nearest point that the record lies beyond, less one, if it lies in the ball."""
    z, norm = mapped(partition.frame, x)
    gap = norm + 2 * min(_far(z, partition.points))
    shell = sum(gap > distance**2 for distance in partition.distances) - 1 if math.isfinite(gap) else -1
    inside = partition.ball is None or mapped(partition.ball.frame, x)[1] <= partition.ball.radius**2
    return shell if inside else -1


def _grid_cell(partition: GridCells, x: Vector) -> int:
    """The place of the record's cell in the list of its group, after the lists of the groups before."""
    group = region_of(partition.groups, x)
    if group < 0:
        return -1
    z, _ = mapped(partition.frames[group], x)
    if not all(map(math.isfinite, z)):
        return -1
    cell, listed = tuple(math.floor(value) for value in z), partition.cells[group]
    return sum(map(len, partition.cells[:group])) + listed.index(cell) if cell in listed else -1


def _component_shell(partition: ComponentShells, x: Vector) -> int:
    owner = region_of(partition.cells, x)
    if owner < 0:
        return -1
    _, norm = mapped((partition.frames or partition.cells.frames)[owner], x)
    if not math.isfinite(norm):
        return -1
    shell = bisect_left([edge * edge for edge in partition.edges], norm)
    each = len(partition.edges) + 1 - partition.shared
    return owner * each + shell if shell < each else len(partition.cells.frames) * each + shell - each


def _category(partition: ByCategory, x: Vector) -> int:
    """Give the place of the word for where a record lies, in a table whose groups follow from its cells."""
    a, log1p_b = x
    if not abs(a) <= _LISTED:
        return -1
    word = "north" if log1p_b >= math.log1p(_HIGH) else "west" if a < 0 else "east"
    return partition.values.index(word) if word in partition.values else -1


def _column_cell(partition: ColumnCells, x: Vector) -> int:
    """Count the edges below the record's cell of that column; one without a cell is in the last region."""
    cell = x[partition.column]
    return sum(edge < cell for edge in partition.edges) if math.isfinite(cell) else partition.n_regions - 1


def _missing_pattern(partition: MissingPatterns, x: Vector) -> int:
    """Look the missing columns up, or count them; a record without any cell, or with an infinite one, is nowhere."""
    if all(map(math.isnan, x)) or any(map(math.isinf, x)):
        return -1
    lacking = tuple(j for j in partition.columns if math.isnan(x[j]))
    if lacking in partition.listed:
        return partition.listed.index(lacking)
    return len(partition.listed) + len(lacking) if partition.by_number else -1


_HIGH, _LISTED = 10.0, 500.0
"""Where audited records begin to be in the north, and where words for them end (`neighbours.categories_of`)."""

_REGIONS: dict[type, Callable[..., int]] = {
    Everything: _everything,
    NearestPoint: _nearest,
    Cells: _likeliest,
    Refined: _refined,
    Shells: _shell,
    PairBins: _pair_bin,
    Balls: _path_of,
    Uncovered: _far_from_all,
    ComponentShells: _component_shell,
    GridCells: _grid_cell,
    ByCategory: _category,
    ColumnCells: _column_cell,
    MissingPatterns: _missing_pattern,
}


def scores_of(cells: Cells, x: Vector) -> Vector:
    """Work out the score of each cell: its offset less half the squared distance."""
    return [offset - mapped(frame, x)[1] / 2 for frame, offset in zip(cells.frames, cells.offsets, strict=True)]


def _dot(row: Iterable[float], x: Iterable[float]) -> float:
    return _added(w * cell for w, cell in zip(row, x, strict=True))


def _added(numbers: Iterable[float]) -> float:
    """Add from the first to the last: `sum` of newer Pythons adds floats in another way."""
    total = 0.0
    for number in numbers:
        total += number
    return total


@cache
def half_planes(dimension: int, steps: int) -> list[tuple[tuple[int, ...], int]]:
    """Sides of the bisectors of all pairs of lattice points, (direction, offset) in rising order.

    Of points k and l it is {x: x . (l - k) < (|l|^2 - |k|^2) step / 2}, divided by what the numbers of l - k share.
    """
    line = range(-steps, steps + 1)
    points = [k for k in product(line, repeat=dimension) if sum(number**2 for number in k) <= steps**2]
    found = {((0,) * dimension, 0)}
    for k, other in permutations(points, 2):
        between = [b - a for a, b in zip(k, other, strict=True)]
        shared = math.gcd(*between)
        offset = sum(number**2 for number in other) - sum(number**2 for number in k)
        found.add((tuple(number // shared for number in between), offset // shared))
    return sorted(found)
