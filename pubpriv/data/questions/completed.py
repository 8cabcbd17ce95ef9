"""Questions about records whose missing cells are completed by a public Gaussian, instead of being left out."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.data._checks import kind, kinds, number, numbers, size
from pubpriv.data.codec import public_value
from pubpriv.data.completion import MOST_COLUMNS, Directions, room_left
from pubpriv.data.frames import Frame, grid_scale
from pubpriv.data.images import Images
from pubpriv.data.questions._bisection import Bisection
from pubpriv.data.questions._counts import ClippedSums, Counts, JointCounts
from pubpriv.data.questions._fourth import FourthMoments
from pubpriv.data.questions._moments import LiftedGram, Moments
from pubpriv.data.questions.base import Delegating, Totals
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class CompletedGram(LiftedGram):
    """`LiftedGram` of records whose missing cells are completed by a Gaussian, with what that leaves uncertain.

    A record with some cells is completed to E[x | observed cells] under the Gaussian of `fill`, and belongs to the
    region of the completed record. There, q are its integers as in `LiftedGram`, clipped to a part of the radius that
    depends on how many cells it has. V is an integer matrix with a column v_s for each missing cell: sqrt(level) times
    an orthonormal basis of what the observed cells do not tell of, as seen in the region's frame, rounded
    (`data.completion`). It depends on public values and on which cells are missing alone. With B an integer of at least
    |V V'|_F, the record counts if and only if |q|^2 + B <= R^2, and adds (1, q, T) with T = q q' + V V'. A record
    without any cell adds nothing, as one with an infinite cell does. A complete record has B = 0, and adds what it adds
    to `LiftedGram`, bit for bit.

    Sensitivity (replace-one): |q|^2 <= R^2, and |T|_F <= |q q'|_F + |V V'|_F <= |q|^2 + B <= R^2. So the squared length
    of what a record adds is K(x,x) = wN^2 + wS^2 |q|^2 + wM^2 |T|_F^2 <= wN^2 + wS^2 R^2 + wM^2 R^4 = F. Write v_0 = q,
    and v'_t for the vectors of another record. Then <T, T'> = sum_s,t <v_s, v'_t>^2 >= <q, q'>^2 = u^2, as all other
    terms are squares: T is a sum of v v' of integer vectors exactly, not a rounded matrix. Hence within a region
    K(x,x') >= wN^2 + wS^2 u + wM^2 u^2, as for complete records, and the squared distance is at most
    2 F + max(0, wS^4 / (2 wM^2) - 2 wN^2); across regions, and in or out of all of them, the first term alone bounds
    it. Which cells are missing differs from record to record, and the proof compares any two. T is symmetric, so the
    noise on mirrored entries is that of `LiftedGram`.

    Attributes:
        partition, frames, radii, noise_scales: as in `LiftedGram`; regions are those of completed records.
        fill: frame whose Gaussian N(center, (W'W)^-1) completes records.
        level: factor of the conditional covariance: what clipping leaves of a complete record's.
        parts_of_radius: part of the radius to which a record is clipped, by its number of cells, 1 to d; the last is 1.

    Raises:
        InvalidInput: a fill of another number of directions than columns, or numbers out of range.
    """

    frames: tuple[Frame, ...]
    fill: Frame
    level: float
    parts_of_radius: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds("the frames of CompletedGram", self.frames, Frame)  # V is of a linear map
        check_fill(self.fill)
        number("the level of CompletedGram", self.level)
        if not 0 <= self.level <= 1:
            raise InvalidInput("the level of CompletedGram is between 0 and 1")
        numbers("the parts of the radius of CompletedGram", self.parts_of_radius, self.fill.dimension)
        for part in self.parts_of_radius:
            size("each part of the radius of CompletedGram", part)
        if self.parts_of_radius[-1] != 1:
            raise InvalidInput("complete records are clipped to the whole radius of CompletedGram")

    @classmethod
    def of(cls, question: LiftedGram, fill: Frame, level: float, parts_of_radius: tuple[float, ...]) -> "CompletedGram":
        """Ask the same of completed records, at the same price."""
        asked = question.partition, question.frames, question.radii, question.noise_scales
        return cls(*asked, fill, level, parts_of_radius)  # type: ignore[arg-type]  # checks its frames

    def check(self, columns: int) -> None:
        """Check that partition, frames and fill fit the columns."""
        super().check(columns)
        self.fill.check(columns)

    def totals(self, view: View) -> Totals:
        """Return exact totals of the completed records of each region."""
        completed, how = view.completed(self.fill)
        labels = self.partition.assign(completed)
        if how is None:
            return self.weighed(completed, labels)
        parts = np.ones(view.block.shape[1])
        cells = how.missing.shape[1] - how.missing.sum(axis=1)
        parts[how.at] = np.array(self.parts_of_radius)[cells - 1][how.pattern]
        whole = np.zeros(view.block.shape[1])
        k, ell = len(self.frames), self.frames[0].dimension
        counts, sums, grams = np.zeros(k), np.zeros((k, ell)), np.zeros((k, ell, ell))
        for region, (frame, radius) in enumerate(zip(self.frames, self.radii, strict=True)):
            wanted = labels == region
            if not wanted.any():
                continue
            directions = how.directions(frame, math.sqrt(self.level) * grid_scale(ell, radius))
            taken = whole.copy()
            taken[how.at] = directions.bounds[how.pattern]
            weights = completed.weights_of(wanted)
            images = Images.of(
                *completed.picked(frame, wanted), radius, weights, parts[wanted], room_left(taken[wanted])
            )
            counts[region], sums[region] = images.count(), images.sum()
            grams[region] = images.gram() + _uncertain(directions, how.at, how.pattern, wanted, images)
        return self.joined(counts, sums, grams, self._bare_counts(labels, completed, 1))


def _uncertain(
    directions: Directions, at: np.ndarray, pattern: np.ndarray, wanted: np.ndarray, images: Images
) -> np.ndarray:
    """Sum V V' over the records of a region that count, (ell, ell)."""
    held = np.zeros(len(wanted))
    held[wanted] = images.keep if images.weights is None else images.keep * images.weights
    return directions.weighed(np.bincount(pattern, held[at], minlength=len(directions.bounds)))


@public_value
@dataclass(frozen=True)
class Completed(Delegating):
    """Another question, asked of records whose missing cells are completed by a public Gaussian.

    Sensitivity (replace-one): let m be the map of a record with some cells to E[x | observed cells] under the Gaussian
    of `fill`, and of any other record to itself. This question asks the inner one of m(D), in which m is applied to
    each record by itself. So neighbours D ~ D' become neighbours m(D) ~ m(D'), or the same table, and the squared
    distance is at most that of the inner question, as is the length of what a record adds. It is the inner one's, as
    complete records are mapped to themselves. The same holds of the rows of a person, whose weights do not change.

    Attributes:
        inner: the question, about lengths, regions or sums of completed records.
        fill: frame whose Gaussian N(center, (W'W)^-1) completes records.
    """

    inner: Bisection | ClippedSums | Counts | FourthMoments | JointCounts | Moments
    fill: Frame

    def __post_init__(self) -> None:
        kind("the question of completed records", self.inner, *_COMPLETED)
        check_fill(self.fill)

    def check(self, columns: int) -> None:
        """Check that the inner question and the fill fit the columns."""
        self.inner.check(columns)
        self.fill.check(columns)

    @property
    def squared_distance(self) -> Fraction:
        """That of the inner question."""
        return self.inner.squared_distance

    def totals(self, view: View) -> Totals:
        """Return the inner question's totals of the completed records."""
        return self.inner.totals(view.completed(self.fill)[0])


_COMPLETED = (Bisection, ClippedSums, Counts, FourthMoments, JointCounts, Moments)


def fill_of(question: Any) -> Frame | None:
    """Return the frame by which a question completes records, wrapped or not; None if it completes none."""
    while not isinstance(question, Completed | CompletedGram) and hasattr(question, "inner"):
        question = question.inner
    return question.fill if isinstance(question, Completed | CompletedGram) else None


def as_seen(question: Any, view: View) -> View:
    """Return the records of a view as a question sees them: completed, if it completes records."""
    fill = fill_of(question)
    return view if fill is None else view.completed(fill)[0]


def check_fill(fill: Frame) -> None:
    """Check that a frame stands for a Gaussian by which records can be completed.

    Raises:
        InvalidInput: it has another number of directions than columns, or too many columns.
    """
    kind("the fill of completed records", fill, Frame)
    if fill.dimension != len(fill.center):
        raise InvalidInput("the fill of completed records has as many directions as columns")
    if fill.dimension > MOST_COLUMNS:
        raise InvalidInput(f"records of at most {MOST_COLUMNS} columns are completed")
