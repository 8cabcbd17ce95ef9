"""Interface of all questions, and integer arithmetic for their noise.

Discrete Gaussian noise may be priced as a continuous Gaussian only where its standard deviation is at least
2^20 on the integers. Small statistics are therefore multiplied by a public integer before noise is added
(counts by 2^28, sums by 2^12): the ratio of sensitivity to noise, and so the price, stays the same. Going far
beyond 2^20 keeps the failure terms of a large epsilon small: they grow with e^epsilon and fall with the
square of the standard deviation.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from pubpriv.data._checks import integer, kind, kinds, size
from pubpriv.data.balls import Balls
from pubpriv.data.categories import ByCategory
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.pairs import PairBins
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, NearestPoint, Partition, Shells, View
from pubpriv.data.score_frames import FRAMES, AnyFrame
from pubpriv.data.uncovered import Uncovered
from pubpriv.errors import InvalidInput

PARTITIONS = (
    *(Everything, NearestPoint, Cells, Refined, Shells, PairBins, Balls, ComponentShells, Uncovered, GridCells),
    *(ByCategory, ColumnCells, MissingPatterns),
)
"""The closed list of partitions: each puts a record in one region at most, as the prices of questions require."""

COUNT_FACTOR = 1 << 28
"""Counts are released as multiples of 2^-28 of a record."""

SUM_FACTOR = 1 << 12
"""Sums of grid vectors are released as multiples of 2^-12 of a grid step."""

LIMIT = 1 << 62
"""Released integers are clamped to [-LIMIT, LIMIT].

The mechanism that is priced adds an unbounded integer Z to the exact integer t of each coordinate, and clamping t + Z
to a public range is post-processing. The sampler draws Z' = Z, saturated to [-2^63, 2^63 - 1]. Before a charge the
door proves |t| < LIMIT from public bounds. So where Z' differs from Z, t + Z' and t + Z lie beyond LIMIT on the same
side: Z > Z' = 2^63 - 1 gives t + Z > t + Z' > 2^63 - 1 - LIMIT, hence >= LIMIT, and Z < Z' = -2^63 gives
t + Z < t + Z' < -2^63 + LIMIT = -LIMIT. Sums are exact, so clamp(t + Z') = clamp(t + Z) for every Z: saturation before
the addition never shows.
"""

Totals = dict[str, np.ndarray]
"""Exact int64 totals of a question, by part."""

Values = dict[str, np.ndarray]
"""Released answers in the question's own units (counts, units of z), as floats."""


Scale = int | tuple[int, ...]
"""Scale of noise: the sd of independent Gaussians, or the scales (N,) of one radial vector."""


Draw = Callable[[str, Scale, int], np.ndarray]
"""draw(part name, scale, size): noise of that scale, int64 (size,)."""


@dataclass(frozen=True)
class Part:
    """One block of coordinates that share a noise scale.

    Attributes:
        size: number of coordinates.
        factor: public integer that multiplies the exact totals.
        noise_scale: sd of the discrete Gaussian on the multiplied integers.
        bound: largest magnitude that one record adds to one coordinate, before the factor.
        drawn: number of coordinates that noise is drawn for, if only some of them are released; None: `size`.
        rows: number of rows that a table must have for this question; None: any number.
    """

    size: int
    factor: int
    noise_scale: int
    bound: int
    drawn: int | None = None
    rows: int | None = None

    @property
    def draws(self) -> int:
        """Number of coordinates that noise is drawn for; public, like all of a part."""
        return self.size if self.drawn is None else self.drawn


class Question(Protocol):
    """A public map of one record to (region or none, integer vector), a statistic, and its noise."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """Blocks of coordinates by name, in the order in which they are answered."""

    def check(self, columns: int) -> None:
        """Check that the question fits records with this number of columns; InvalidInput if not."""

    @property
    def total_sizes(self) -> Mapping[str, int | None]:
        """Number of exact totals, by the names that `totals` uses; None: as many as there are cells.

        Totals with None are arrays of one length: names of cells, and last the counts. Counts of equal cells are added.
        """

    def exact(self, totals: Totals) -> Totals:
        """Return the integers to which noise is added, by part, before the factor."""

    @property
    def squared_distance(self) -> Fraction:
        """sup over neighbours of sum_k Delta_k^2 / sd_k^2, exact: equal to mu^2 of GDP and to twice rho of zCDP."""

    def totals(self, view: View) -> Totals:
        """Return exact totals over one block."""

    def answer(self, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:
        """Return noisy integers, the only result that may be published.

        Args:
            totals: exact totals.
            draw: source of the noise.
            parts: parts with other factors and noise, if another question asks this one; None: its own.
        """

    def values(self, noisy: Totals) -> Values:
        """Return noisy multiplied integers as floats in the question's units; pure post-processing."""

    def noise(self) -> Values:
        """Return standard deviations of the noise in `values`, by part, as arrays that broadcast against `values`."""


class Additive:
    """Answers by adding noise to every coordinate of the multiplied totals."""

    @property
    def total_sizes(self: Question) -> Mapping[str, int | None]:
        """Sizes of the parts."""
        return {name: part.size for name, part in self.parts.items()}

    def exact(self, totals: Totals) -> Totals:
        """Return the totals themselves."""
        return totals

    def answer(self: Question, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:
        """Return factor * total + noise, part by part."""
        return {
            name: _noisy(totals[name], part.factor, draw(name, part.noise_scale, part.size))
            for name, part in (parts or self.parts).items()
        }


class Around:
    """Base class of a question that wraps another one: methods that it does not define are those of the inner question.

    Attributes:
        inner: the wrapped question.
    """

    inner: Question

    def check(self, columns: int) -> None:
        """Check that the inner question fits the columns."""
        self.inner.check(columns)

    @property
    def parts(self) -> Mapping[str, Part]:
        """Parts of the inner question."""
        return self.inner.parts

    @property
    def total_sizes(self) -> Mapping[str, int | None]:
        """Sizes of the inner question's totals."""
        return self.inner.total_sizes

    def exact(self, totals: Totals) -> Totals:
        """Return the exact integers of the inner question."""
        return self.inner.exact(totals)

    def totals(self, view: View) -> Totals:
        """Return the inner question's totals."""
        return self.inner.totals(view)

    def answer(self, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:
        """Answer as the inner question does, with the factors and noise of these parts."""
        return self.inner.answer(totals, draw, parts or self.parts)

    def values(self, noisy: Totals) -> Values:
        """Return answers in the inner question's own units."""
        return self.inner.values(noisy)

    def noise(self) -> Values:
        """Return standard deviations in the inner question's own units."""
        return self.inner.noise()


class Delegating(Around):
    """Base class of a question that also shows the attributes of the inner one: frames, radii, edges."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the inner question."""
        if name == "inner" or name.startswith("_"):  # not there yet during unpickling
            raise AttributeError(name)
        return getattr(self.inner, name)


class InGrains(Around):
    """Base class of a question in which a record weighs a whole number of grains, of which G are one record.

    The exact totals are those of the inner question times G. Noise: a factor F of the inner question that G divides
    becomes F / G, with the same sd on the integers, and T F / G is in the inner question's own units; a factor that G
    does not divide stays, and the sd is multiplied by G, as the totals are.

    Attributes:
        grain: G, a power of two.
    """

    grain: int

    @property
    def parts(self) -> Mapping[str, Part]:
        """Parts of the inner question, in grains; each bound is for what one record adds."""
        return {name: self._in_grains(part) for name, part in self.inner.parts.items()}

    def _in_grains(self, part: Part) -> Part:
        bound = part.bound * self.grain
        if part.factor % self.grain == 0:
            return replace(part, factor=part.factor // self.grain, bound=bound)
        return replace(part, noise_scale=part.noise_scale * self.grain, bound=bound)

    def values(self, noisy: Totals) -> Values:
        """Return answers in the inner question's own units."""
        parts = self.inner.parts
        return self.inner.values(
            {
                name: integers if parts[name].factor % self.grain == 0 else integers / self.grain
                for name, integers in noisy.items()
            }
        )


@dataclass(frozen=True)
class OverRegions(Additive):
    """Base class of sums over each region, of images of the records under the region's own frame.

    Attributes:
        partition: regions; frames and radii are theirs, in order.
    """

    counts_bare: ClassVar[bool] = False
    """Whether the last regions may have no frame, so that their records are only counted."""

    partition: Partition
    frames: tuple[AnyFrame, ...]
    radii: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_regions(type(self).__name__, self.partition, self.frames, self.radii, self.counts_bare)

    def check(self, columns: int) -> None:
        """Check that partition and frames fit the columns."""
        check_columns(columns, self.partition, self.frames)


def _noisy(totals: np.ndarray, factor: int, noise: np.ndarray) -> np.ndarray:
    """clamp(factor * total + noise), without overflow; noise must have one number for each total.

    With |t| < LIMIT = 2^62 for t = factor * total, checked in Python's integers, neither LIMIT - t nor -LIMIT - t
    leaves int64, and t + clip(z, -LIMIT - t, LIMIT - t) is clamp(t + z).
    """
    if totals.shape != noise.shape:
        raise ValueError("noise of another shape than the totals")
    if totals.size and max(int(totals.max()), -int(totals.min())) * factor >= LIMIT:
        raise ValueError("a total beyond the room that was proven for it")
    exact = totals * factor
    return np.asarray(exact + np.clip(noise, -LIMIT - exact, LIMIT - exact))


def check_totals(question: Question, totals: Totals, rows: int | None) -> None:
    """Check that totals are int64 of the announced sizes, and none is larger than this number of rows can make it.

    A shorter part would share noise between coordinates.

    Args:
        question: question that was summed.
        totals: exact totals.
        rows: number of rows of the table; None if it is private, and no check may depend on it.

    Raises:
        ValueError: a defect; nothing may be answered.
    """
    sizes = {name: part.shape for name, part in totals.items() if part.dtype == np.int64}
    some = next((totals[name].shape for name, count in question.total_sizes.items() if count is None), (0,))
    announced = {name: some if count is None else (count,) for name, count in question.total_sizes.items()}
    if sizes != announced or len(some) != 1 or len(sizes) != len(totals):
        raise ValueError("totals of other shapes than the question announced")
    if rows is None:
        return
    for name, values in question.exact(totals).items():
        most = rows * question.parts[name].bound
        if values.size and not -most <= int(values.min()) <= int(values.max()) <= most:
            raise ValueError("a total larger than the question announced")


def check_noise(what: str, scale: int) -> None:
    """Check that a noise scale is a positive integer; the door also checks it against the sampler's limits.

    Raises:
        InvalidInput: it is not.
    """
    integer(f"the noise scale of {what}", scale, 1)


def _check_regions(
    what: str, partition: Partition, frames: tuple[AnyFrame, ...], radii: tuple[float, ...], bare: bool
) -> None:
    """Check the class of the partition, and that each region has a frame and a radius; if `bare`, the last may not.

    Raises:
        InvalidInput: they do not match.
    """
    kind(f"the partition of {what}", partition, *PARTITIONS)
    kinds(f"the frames of {what}", frames, *FRAMES)
    kind(f"the radii of {what}", radii, tuple)
    for radius in radii:
        size(f"each radius of {what}", radius)
    enough = 0 < len(frames) <= partition.n_regions if bare else len(frames) == partition.n_regions
    if not enough or len(radii) != len(frames):
        raise InvalidInput(
            f"{what} needs a frame and a radius for each of the {partition.n_regions} regions of its partition, "
            f"not {len(frames)} and {len(radii)}"
        )


def check_columns(columns: int, partition: Partition, frames: tuple[AnyFrame, ...] = ()) -> None:
    """Check that partition and frames fit records with this number of columns.

    Raises:
        InvalidInput: one of them does not.
    """
    partition.check(columns)
    for frame in frames:
        frame.check(columns)


def squared_weight(part: Part) -> Fraction:
    """Return w^2 = (factor / sd)^2."""
    return Fraction(part.factor * part.factor, part.noise_scale * part.noise_scale)


def root_up(value: Fraction) -> int:
    """Return the smallest integer whose square is at least `value`."""
    floor = math.isqrt(value.numerator // value.denominator)
    return floor if floor * floor >= value else floor + 1


def noise_for(weight_squared: Fraction, factor: int) -> int:
    """Return the smallest integer sd with (factor / sd)^2 <= weight_squared."""
    if not isinstance(weight_squared, Fraction | int):
        raise InvalidInput("the price of a question must be an exact fraction")
    if weight_squared <= 0:
        raise InvalidInput("a part of a question needs a positive share of the price")
    return root_up(factor * factor / weight_squared)
