"""Public records made from a question: its own centers and points, hostile ones, and ones beside a border.

A record is beside a border if a last bit of floating point decides in which region it lies, or to which integer one of
its coordinates is rounded. Nothing in here reads a private row.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pubpriv.data.frames import Frame, grid_scale
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import Bisection, BoundedScore
from pubpriv.data.questions.base import PARTITIONS, OverRegions, Question
from pubpriv.data.questions.completed import as_seen, fill_of
from pubpriv.data.regions import NearestPoint, View
from pubpriv.data.score_frames import FRAMES, AnyFrame
from pubpriv.data.uncovered import Uncovered

HOSTILE = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, 0.0, -0.0)
"""Cells that are hard for floating-point arithmetic."""

TRIED = 64
"""Number of records of a trial of places, a multiple of every processor's vectors: an eighth hostile, an eighth zeros,
a quarter plain, and half near borders."""

HOSTILE_ONES = TRIED // 8
"""Number of hostile records, which come first."""

_NEAR = TRIED // 2

CODES = np.concatenate([np.resize((np.nan, 0.0, -1.0, 1.0, 2.0), _NEAR), np.zeros(TRIED - _NEAR)])
"""Codes of the trial's records, where a question is about groups: those near borders belong to the first group."""

_PARTITIONS = 8
"""Most partitions, and most regions, whose borders are sought."""

_HALVINGS = 54
"""Halvings of the way between two records, after which no float lies between them."""


def frames_in(value: Any) -> list[AnyFrame]:
    """Return the frames in a public value, each once; of a `ScoreFrame` both itself and the one in it."""
    return list({frame: None for frame in parts_of(value) if isinstance(frame, FRAMES)})


def integers_in(question: Question) -> list[Callable[[View], np.ndarray]]:
    """Return the maps of a record to one integer that a question makes: regions of its partitions, cells, a score."""
    parts = dict.fromkeys(parts_of(question, PARTITIONS))
    regions = [part.assign for part in parts if isinstance(part, PARTITIONS)]
    return [*regions, *(part.integers for part in parts if isinstance(part, Bisection | BoundedScore))]


def parts_of(value: Any, whole: tuple[type[Any], ...] = ()) -> Iterator[Any]:
    """Yield the dataclasses in a public value, outermost first; those of the classes `whole` are not taken apart."""
    if isinstance(value, tuple):
        if not isinstance(value[0] if value else 0, tuple | float | int | str):  # tuples of numbers contain none
            for item in value:
                yield from parts_of(item, whole)
    elif dataclasses.is_dataclass(value):
        yield value
        if not isinstance(value, whole):
            for field in dataclasses.fields(value):
                yield from parts_of(getattr(value, field.name), whole)


def centers_and_points(value: Any, most: int) -> Iterator[np.ndarray]:
    """Yield centers of the frames of a public value, and the first and last points of its partitions, as records.

    Args:
        value: a question, for example.
        most: most points of each partition.
    """
    for part in parts_of(value):
        if isinstance(part, Frame):
            yield np.array(part.center, dtype=np.float64)
        elif isinstance(part, NearestPoint | PairBins | Uncovered):
            points = part.centers if isinstance(part, PairBins) else part.points
            yield from _back(part.frame, np.array(points[: most // 2] + points[most // 2 :][-(most // 2) :]))


def _back(frame: Frame, images: np.ndarray) -> np.ndarray:
    """Records (count, d) that `frame` maps to or near `images` (count, ell); none if its matrix is singular."""
    center, matrix = frame.dense()
    with np.errstate(all="ignore"):
        try:
            return np.asarray(center + np.linalg.solve(matrix @ matrix.T, images.T).T @ matrix)
        except np.linalg.LinAlgError:
            return np.empty((0, len(center)))


def trial_records(question: Question, columns: int, random: np.random.Generator) -> np.ndarray:
    """Return records (columns, TRIED) for a trial of places: hostile ones, zeros, plain ones, and some near borders.

    The caller has set up floating point as a scan does.
    """
    plain = _around(question, columns, random)
    if fill_of(question) is not None:
        plain = _with_missing(plain, random)
    beside = [*_between_regions(question, plain, random), *_between_steps(question, plain, random)]
    near = np.concatenate([plain[:, :0], *beside], axis=1)
    near = near[:, np.isfinite(_view(question, near).block).all(axis=0)]
    near = near[:, random.permutation(near.shape[1])[:_NEAR]] if near.shape[1] else plain
    near = near[:, np.arange(_NEAR) % near.shape[1]]
    hostile = random.choice(HOSTILE, (columns, HOSTILE_ONES))
    hostile[:, ::2] = random.choice((1e308, -1e308), (columns, HOSTILE_ONES // 2))  # finite sums, by order of adding
    zeros = np.zeros((columns, TRIED // 8))
    return np.concatenate([hostile, zeros, plain[:, : TRIED // 4], near], axis=1)


def _around(question: Question, columns: int, random: np.random.Generator) -> np.ndarray:
    """Records (columns, TRIED) about the question's centers and points, as far from them as its lengths say."""
    lengths = [abs(number) for part in parts_of(question) if not isinstance(part, Frame) for number in _numbers(part)]
    linear = [frame for frame in frames_in(question) if isinstance(frame, Frame)]
    frames = _some(linear, random) or [Frame((0.0,) * columns)]
    starts = [record for record in centers_and_points(question, TRIED) if np.isfinite(record).all()]
    starts = [starts[i] for i in random.permutation(len(starts))] or [np.zeros(columns)]
    far = random.choice(lengths or [1.0], TRIED) * random.uniform(0.1, 1.5, TRIED)
    records = np.resize(starts, (TRIED, columns))
    for places, frame in zip(np.array_split(np.arange(TRIED), len(frames)), frames, strict=True):
        steps = random.normal(size=(len(places), frame.dimension)) * far[places, None] / np.sqrt(frame.dimension)
        about = _back(Frame((0.0,) * columns, frame.matrix, frame.diagonal), steps)
        if np.isfinite(about).all() and len(about):
            records[places] += about
    return records.T


def _numbers(part: Any) -> Iterator[float]:
    """Numbers that are fields of a dataclass, or stand in tuples that are: radii, edges, distances."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and number:
                yield number


def _with_missing(records: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Take cells out of records (d, count): one of each fourth record, all but one, or about half; none of the last."""
    columns, count = records.shape
    if columns == 1:
        return records
    lacking = random.random(records.shape) < 0.5
    one = np.arange(columns)[:, None] == random.integers(columns, size=count)
    turn = np.arange(count) % 4
    lacking = np.where(turn == 0, one, np.where(turn == 1, ~one, lacking & ~one)) & (turn < 3)
    return np.where(lacking, np.nan, records)


def _view(question: Question, records: np.ndarray) -> View:
    """Show records as the question sees them."""
    return as_seen(question, View(np.ascontiguousarray(records), codes=np.zeros(records.shape[1])))


def _between_regions(question: Question, plain: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield records (columns, any number) beside borders of regions, by halving ways from one of them to another."""
    for integers in _some(integers_in(question), random):
        labels = integers(_view(question, plain))
        one, other = random.integers(plain.shape[1], size=(2, 16 * TRIED))
        alike = (np.isnan(plain[:, one]) == np.isnan(plain[:, other])).all(axis=0)
        crossing = np.flatnonzero((labels[one] != labels[other]) & alike)[:TRIED]
        if len(crossing) == 0:
            continue
        crossing = np.resize(crossing, TRIED)
        near, far, here = plain[:, one[crossing]], plain[:, other[crossing]], labels[one[crossing]]
        for _ in range(_HALVINGS):
            middle = near / 2 + far / 2
            same = integers(_view(question, middle)) == here
            near, far = np.where(same, middle, near), np.where(same, far, middle)
        yield near
        yield far


def _between_steps(question: Any, plain: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield records with a coordinate of the image midway between two integers of the grid, for some regions."""
    asked = question
    while hasattr(question, "inner"):
        question = question.inner
    if not isinstance(question, OverRegions):
        return
    labels = question.partition.assign(_view(asked, plain))
    for region in _some(range(len(question.frames)), random):
        if (labels == region).any():
            frame, records = question.frames[region], plain[:, labels == region]
            scale = grid_scale(frame.dimension, question.radii[region])

            def image(records: np.ndarray, frame: AnyFrame = frame) -> np.ndarray:
                block = _view(asked, records).block
                return frame.map(np.ascontiguousarray(block), np.empty((frame.dimension, block.shape[1])))

            yield _midway(frame, records, image, scale, random)


def _midway(
    frame: AnyFrame,
    records: np.ndarray,
    image: Callable[[np.ndarray], np.ndarray],
    scale: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Move one cell of each record so that a coordinate of its image, times `scale`, is an integer and a half."""
    records, count = records.copy(), np.arange(records.shape[1])
    rows = random.integers(frame.dimension, size=len(count))
    along = frame.slopes(records)[rows, :, count].T
    cells = np.where(np.isnan(records), -1.0, np.abs(along)).argmax(axis=0)
    slopes = along[cells, count]
    if np.isnan(records).any():  # completed cells move with the others, in proportion
        moved, start = records.copy(), image(records)
        moved[cells, count] += 1.0
        slopes = (image(moved) - start)[rows, count]
    wanted = (np.floor(image(records)[rows, count] * scale) + 0.5) / scale
    for _ in range(3):  # the last steps undo what rounding did to the first
        records[cells, count] += (wanted - image(records)[rows, count]) / slopes
        if not isinstance(frame, Frame):  # the way to the border is no line
            slopes = frame.slopes(records)[rows, cells, count]
    return records


def _some(values: Any, random: np.random.Generator) -> list[Any]:
    """Return `values`, or as many of them, at random, as there is time for."""
    values = list(values)
    return values if len(values) <= _PARTITIONS else [values[i] for i in random.permutation(len(values))[:_PARTITIONS]]
