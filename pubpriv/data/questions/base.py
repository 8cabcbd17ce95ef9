"""What every question offers, and integer arithmetic for its noise.

Discrete Gaussian noise may be priced as a continuous Gaussian only where its standard deviation is at least
2^20 on the integers. Small statistics are therefore multiplied by a public integer before noise is added
(counts by 2^28, sums by 2^12): the ratio of sensitivity to noise, and so the price, stays what it was. What
is above 2^20 keeps the failure terms of a large epsilon small: they grow with e^epsilon and fall with the
square of the standard deviation.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from pubpriv.data.regions import View

COUNT_FACTOR = 1 << 28
"""Counts are released as multiples of 2^-28 of a record."""

SUM_FACTOR = 1 << 12
"""Sums of grid vectors are released as multiples of 2^-12 of a grid step."""

Totals = dict[str, np.ndarray]
"""Exact int64 totals of a question, by part."""

Values = dict[str, np.ndarray]
"""Released answers in the question's own units (counts, units of z), as floats."""


Draw = Callable[[str, int, int], np.ndarray]
"""draw(part name, sd, size): independent discrete Gaussians, int64 (size,)."""


@dataclass(frozen=True)
class Part:
    """One block of coordinates that share a noise scale.

    Attributes:
        size: number of coordinates.
        factor: public integer that multiplies the exact totals.
        noise_scale: sd of the discrete Gaussian on the multiplied integers.
        bound: largest magnitude one record adds to one coordinate, before the factor.
    """

    size: int
    factor: int
    noise_scale: int
    bound: int


class Question(Protocol):
    """A public map of one record to (region or none, integer vector), a statistic, and its noise."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """Blocks of coordinates by name, in the order in which they are answered."""

    @property
    def squared_distance(self) -> Fraction:
        """sup over neighbours of sum_k Delta_k^2 / sd_k^2, exact; rho of zCDP is half of it, mu^2 of GDP is it."""

    def totals(self, view: View) -> Totals:
        """Exact totals over one block."""

    def answer(self, totals: Totals, draw: Draw) -> Totals:
        """Noisy integers: the only thing that may leave, once it is published."""

    def values(self, noisy: Totals) -> Values:
        """Noisy multiplied integers as floats in the question's units; pure post-processing."""

    def noise(self) -> Values:
        """Standard deviation of the noise in `values`, by part: an array that broadcasts against it."""


class Additive:
    """Answers by adding noise to every coordinate of the multiplied totals."""

    def answer(self: Question, totals: Totals, draw: Draw) -> Totals:
        """factor * total + noise, part by part."""
        return {
            name: totals[name] * part.factor + draw(name, part.noise_scale, part.size)
            for name, part in self.parts.items()
        }


def squared_weight(part: Part) -> Fraction:
    """w^2 = (factor / sd)^2."""
    return Fraction(part.factor * part.factor, part.noise_scale * part.noise_scale)


def root_up(value: Fraction) -> int:
    """The smallest integer whose square is at least `value`."""
    floor = math.isqrt(value.numerator // value.denominator)
    return floor if floor * floor >= value else floor + 1


def noise_for(weight_squared: Fraction, factor: int) -> int:
    """The smallest integer sd with (factor / sd)^2 <= weight_squared."""
    if weight_squared <= 0:
        raise ValueError("a part of a question needs a positive share of the price")
    return root_up(factor * factor / weight_squared)


def shares_of(names: str, shares: tuple[Fraction, ...]) -> None:
    """Shares of a price are positive and sum to at most one."""
    if min(shares) <= 0 or sum(shares) > 1:
        raise ValueError(f"the shares of {names} must be positive and sum to at most 1")


def counts_of(labels: np.ndarray, regions: int) -> np.ndarray:
    """Records per region, int64 (regions,); label -1 is nobody's."""
    return np.bincount(labels[labels >= 0], minlength=regions).astype(np.int64)
