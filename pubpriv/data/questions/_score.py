"""One bounded number per record: which of two public models the private rows prefer."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pubpriv.data._checks import kind, size
from pubpriv.data.codec import public_value
from pubpriv.data.questions.base import (
    SUM_FACTOR,
    Additive,
    Part,
    Totals,
    Values,
    check_columns,
    check_noise,
    noise_for,
    squared_weight,
)
from pubpriv.data.regions import Cells, View


@public_value
@dataclass(frozen=True)
class BoundedScore(Additive):
    """Sum of log p_first(x) - log p_second(x), clipped to [-bound, bound] nats per record.

    Each record adds an integer in [-c, c], or 0 where its difference is not finite.
    Sensitivity (replace-one): the sum moves by at most 2c, squared distance 4 c^2.
    """

    first: Cells
    second: Cells
    bound: float
    noise_scale: int

    grid: ClassVar[int] = 1 << 16
    """c: the largest magnitude of a record's integer score."""

    def __post_init__(self) -> None:
        for cells in (self.first, self.second):
            kind("each side of a BoundedScore", cells, Cells)
        size("the bound of a BoundedScore", self.bound)
        check_noise("BoundedScore", self.noise_scale)

    def check(self, columns: int) -> None:
        """Check that both models fit the columns."""
        for cells in (self.first, self.second):
            check_columns(columns, cells)

    @classmethod
    def priced(cls, first: Cells, second: Cells, bound: float, squared_distance: Fraction) -> "BoundedScore":
        """The score whose price mu^2 is at most `squared_distance`."""
        return cls(first, second, bound, noise_for(squared_distance / (4 * BoundedScore.grid**2), SUM_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """Describe the one coordinate of an answer."""
        return {"score": Part(1, SUM_FACTOR, self.noise_scale, BoundedScore.grid)}

    @property
    def squared_distance(self) -> Fraction:
        """4 c^2 w^2."""
        return 4 * BoundedScore.grid**2 * squared_weight(self.parts["score"])

    def totals(self, view: View) -> Totals:
        """{"score": (1,)}."""
        scores = self.integers(view)
        return {"score": np.array([scores.sum() if view.weights is None else scores @ view.weights]).astype(np.int64)}

    def integers(self, view: View) -> np.ndarray:
        """Return the score of each record in steps of the grid, integers as floats; 0 for one that is not finite."""
        view = view.counting()
        difference = self.first.log_density(view) - self.second.log_density(view)
        scaled = np.rint(np.clip(difference, -self.bound, self.bound) * (BoundedScore.grid / self.bound))
        return np.where(np.abs(scaled) <= BoundedScore.grid, scaled, 0.0)

    def values(self, noisy: Totals) -> Values:
        """The sum of clipped differences, in nats, (1,)."""
        return {"score": noisy["score"] * (self.bound / (BoundedScore.grid * SUM_FACTOR))}

    def noise(self) -> Values:
        """sd of the sum, in nats."""
        return {"score": np.array([self.noise_scale * (self.bound / (BoundedScore.grid * SUM_FACTOR))])}
