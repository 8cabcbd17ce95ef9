"""A private quantile by bisection: adaptive noisy counts, answered from one scan."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pubpriv.data._checks import flag, integer, kind, number
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.images import counts_of
from pubpriv.data.questions.base import (
    COUNT_FACTOR,
    LIMIT,
    Draw,
    Part,
    Totals,
    Values,
    check_noise,
    noise_for,
    squared_weight,
)
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

_MAX_STEPS = 20


@public_value
@dataclass(frozen=True)
class Bisection:
    """The smallest threshold that `rank` records do not exceed, up to noise and a grid of 2^steps cells.

    Thresholds run from `lower` to `upper`, evenly, or evenly in the logarithm. A record's number is |z|
    under `frame`, or the first coordinate of z if `signed`. A record whose number is not finite is below
    no threshold.

    Each count is clamped (`base.LIMIT`) before it decides where the next threshold lies, and compared with the rank
    in exact arithmetic, so the thresholds are a function of what is published.

    Sensitivity (replace-one): the thresholds rise, so a record has one place among them. Each step asks one count
    #{x <= t} at a threshold fixed by the earlier noisy answers; replacing a record moves it by at most 1, hence
    squared distance 1 a step. The steps compose adaptively; for Gaussian noise their squared distances add under
    zCDP and GDP alike: steps * w^2.
    Inside the door, one scan computes the exact histogram over all cells, which answers every step.
    """

    frame: Frame
    lower: float
    upper: float
    steps: int
    rank: float
    noise_scale: int
    logarithmic: bool = False
    signed: bool = False

    def __post_init__(self) -> None:
        kind("the frame of a Bisection", self.frame, Frame)
        integer("the steps of a Bisection", self.steps, 1)
        if self.steps > _MAX_STEPS:
            raise InvalidInput(f"Bisection takes 1 to {_MAX_STEPS} steps")
        for what in ("lower", "upper", "rank"):
            number(f"the {what} of a Bisection", getattr(self, what))
        for what in ("logarithmic", "signed"):
            flag(f"`{what}` of a Bisection", getattr(self, what))
        check_noise("Bisection", self.noise_scale)
        if not (self.lower < self.upper and (self.lower > 0 or not self.logarithmic)):
            raise InvalidInput("Bisection needs lower < upper, both positive on a logarithmic scale")
        # rounding may make close thresholds equal or swap them, and a range may overflow
        if not (np.isfinite(self.thresholds).all() and (self.thresholds[1:] > self.thresholds[:-1]).all()):
            raise InvalidInput(f"Bisection cannot cut this range into 2^{self.steps} cells: take fewer steps")

    def check(self, columns: int) -> None:
        """Check that the frame fits the columns."""
        self.frame.check(columns)

    @classmethod
    def noise_for(cls, steps: int, squared_distance: Fraction) -> int:
        """The integer sd at which `steps` steps cost at most `squared_distance`."""
        return noise_for(squared_distance / steps, COUNT_FACTOR)

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a step."""
        return {"count": Part(self.steps, COUNT_FACTOR, self.noise_scale, 1)}

    @property
    def squared_distance(self) -> Fraction:
        """steps * w^2."""
        return self.steps * squared_weight(self.parts["count"])

    @cached_property
    def thresholds(self) -> np.ndarray:
        """The 2^steps + 1 thresholds, rising."""
        space = np.geomspace if self.logarithmic else np.linspace
        with np.errstate(all="ignore"):
            return space(float(self.lower), float(self.upper), (1 << self.steps) + 1)  # integers may have any length

    @property
    def total_sizes(self) -> Mapping[str, int | None]:
        """One cell for each threshold, in one histogram."""
        return {"histogram": (1 << self.steps) + 1}

    def exact(self, totals: Totals) -> Totals:
        """How many records do not exceed each threshold."""
        return {"count": np.cumsum(totals["histogram"])}

    def totals(self, view: View) -> Totals:
        """{"histogram": records whose number first fits at each threshold, (2^steps + 1,)}."""
        cells = (1 << self.steps) + 1
        return {"histogram": counts_of(self.integers(view), cells + 1, view.weights)[:cells]}

    def integers(self, view: View) -> np.ndarray:
        """Return the first threshold that each record's number does not exceed, by its place; -1 if not finite."""
        z, norms = view.mapped(self.frame)
        number = z[0] if self.signed else np.sqrt(norms)
        return np.where(np.isfinite(number), np.searchsorted(self.thresholds, number, side="left"), -1)

    def answer(self, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:
        """The noisy counts at the thresholds that were asked, in order: (steps,)."""
        part = (parts or self.parts)["count"]
        below = self.exact(totals)["count"].tolist()
        noise = draw("count", part.noise_scale, self.steps)
        if noise.shape != (self.steps,):
            raise ValueError("noise of another shape than the steps")
        counts: list[int] = []
        for z in noise.tolist():
            middle, _ = self._bracket(counts)
            counts.append(_clamped(below[middle] * part.factor + z))
        return {"count": np.array(counts, dtype=np.int64)}

    def values(self, noisy: Totals) -> Values:
        """{"quantile": (1,), "count": (steps,)}."""
        _, upper = self._bracket(noisy["count"].tolist())
        return {"quantile": self.thresholds[[upper]], "count": noisy["count"] / COUNT_FACTOR}

    def noise(self) -> Values:
        """One sd for all counts; the quantile's own error depends on the data and is not known."""
        return {"count": np.array([self.noise_scale / COUNT_FACTOR])}

    def interpolated(self, counts: np.ndarray) -> float:
        """Guess the quantile inside the cell that was found, from the answered `counts` (steps,) at its ends.

        In the middle of the cell where noise leaves nothing between the ends, or an end was not asked about.
        """
        known, place = dict[int, float](), 0
        for step, count in enumerate(counts.tolist()):
            place, _ = self._bracket([int(each * COUNT_FACTOR) for each in counts[:step].tolist()])
            known[place] = count
        _, high = self._bracket([int(each * COUNT_FACTOR) for each in counts.tolist()])
        below, above = known.get(high - 1, 0.0), known.get(high, 0.0)
        share = min(max((self.rank - below) / (above - below), 0.0), 1.0) if above > below > 0 else 0.5
        low, high = self.thresholds[high - 1 : high + 1]
        return float(low * (high / low) ** share if self.logarithmic else low + share * (high - low))

    def _bracket(self, counts: list[int]) -> tuple[int, int]:
        """(next threshold to ask, current upper end) after the answers `counts`."""
        low, high = 0, 1 << self.steps
        rank = self.rank * COUNT_FACTOR  # exact: a power of two, and Python compares integers with floats exactly
        for count in counts:
            middle = (low + high) // 2
            low, high = (low, middle) if count >= rank else (middle, high)
        return (low + high) // 2, high


def _clamped(value: int) -> int:
    """`value`, or the nearer end of [-LIMIT, LIMIT]."""
    return max(-LIMIT, min(LIMIT, value))
