"""Events: data about the mechanisms that ran. Each kind of budget prices them (`Budget.price`).

Events are stored in ledgers: their meaning never changes, they carry an explicit tag and never an import
path, and unknown events are refused.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy._conversions import normal_tail
from pubpriv.privacy.units import LARGEST, UNIT, stored_fraction, stored_integer


@dataclass(frozen=True)
class GaussianEvent:
    """Independent discrete Gaussians on the integers, added to an integer vector.

    Attributes:
        squared_distance: sup over neighbours (one record replaced, n public) of sum_k Delta_k^2 / sd_k^2. The
            mechanism is rho-zCDP at half of it (Canonne, Kamath and Steinke 2020), and mu-GDP with mu^2 equal
            to it, except for the discretisation below.
        noise: (integer sd, number of coordinates) of each part.

    Raises:
        InvalidInput: a distance that is not a positive fraction, no noise, or noise without a spread.
    """

    squared_distance: Fraction
    noise: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not (_is_exact(self.squared_distance) and self.squared_distance > 0):
            raise InvalidInput("the squared distance of a Gaussian event must be a positive fraction")
        numbers = [number for part in self.noise for number in part]
        if not numbers or not all(type(number) is int and number > 0 for number in numbers):
            raise InvalidInput("a Gaussian event needs noise: positive standard deviations and coordinates")

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON: exact, with a tag."""
        return {
            "event": "gaussian",
            "squared_distance": str(self.squared_distance),
            "noise": [[str(sd), size] for sd, size in self.noise],
        }

    def total_variation(self) -> Fraction:
        """Bound on the distance to a post-processed continuous Gaussian mechanism, rounded up.

        Rounding N(0, sd^2) to the integers is such a post-processing, and its KL divergence from the discrete
        Gaussian is at most 1 / (576 sd^4) per coordinate to leading order; KL adds, and TV <= sqrt(KL / 2).
        """
        divergence = sum((Fraction(size, 576 * sd**4) for sd, size in self.noise), Fraction(0))
        scale = 10**60
        return Fraction(isqrt(int(divergence / 2 * scale**2)) + 1, scale)


@dataclass(frozen=True)
class RadialEvent:
    """Rounded radial noise (`privacy._radial`), added to an integer vector.

    Attributes:
        squared_distance: epsilon^2, where epsilon is the sup over neighbours of the sum, over the independent noise
            vectors, of the l2 distance of the vectors to which each is added, in units of its scales.
        noise: (integer scale, number of coordinates) of each part.
        blocks: number of independent noise vectors, equal in scales and sizes.

    Raises:
        InvalidInput: a distance that is not a positive fraction, no noise, noise without a spread, or parts that cannot
            be divided into this number of blocks.
    """

    squared_distance: Fraction
    noise: tuple[tuple[int, int], ...]
    blocks: int = 1

    def __post_init__(self) -> None:
        if not (_is_exact(self.squared_distance) and 0 < self.squared_distance <= LARGEST**2):
            raise InvalidInput("the squared distance of a radial event must be a positive fraction, of no such size")
        numbers = [self.blocks, *(number for part in self.noise for number in part)]
        if not self.noise or not all(type(number) is int and number > 0 for number in numbers):
            raise InvalidInput("a radial event needs noise: positive scales, coordinates and blocks")
        if any(size % self.blocks for _, size in self.noise):
            raise InvalidInput("the parts of a radial event must be divided into its blocks evenly")

    @property
    def epsilon(self) -> Fraction:
        """The root of the squared distance, rounded up to a unit."""
        square = self.squared_distance * UNIT**2
        floor = isqrt(square.numerator // square.denominator)
        return Fraction(floor if floor * floor >= square else floor + 1, UNIT)

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON: exact, with a tag."""
        return {
            "event": "radial",
            "squared_distance": str(self.squared_distance),
            "noise": [[str(scale), size] for scale, size in self.noise],
            "blocks": self.blocks,
        }


@dataclass(frozen=True)
class PureEvent:
    """Any epsilon-DP mechanism under replacement of one record; epsilon must be positive."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not (_is_exact(self.epsilon) and 0 < self.epsilon <= LARGEST):
            raise InvalidInput(f"the epsilon of an event must be a positive fraction (at most {LARGEST:,})")

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON: exact, with a tag."""
        return {"event": "pure", "epsilon": str(self.epsilon)}


@dataclass(frozen=True)
class ThresholdEvent:
    """Discrete Gaussian noise on counts whose number depends on rows; counts above a threshold are released.

    Which counts exist depends on rows: each of two neighbours has at most `alone` counts that the other has not. Adding
    noise to the counts that either of the two has is the `gaussian` part. The real mechanism differs from it only if a
    count that does not exist would have been released, and that takes noise above `margin`.

    Attributes:
        gaussian: the mechanism on the counts that either neighbour has. Its noise is that of counts that differ: the
            others have the same law on both sides, whatever their number.
        margin: in steps of the integers; a released value is at least `margin` + 1 above a count that does not exist.
        alone: largest number of counts that one of two neighbours has and the other has not.

    Raises:
        InvalidInput: parts of another kind, or not positive integers.
    """

    gaussian: GaussianEvent
    margin: int
    alone: int

    def __post_init__(self) -> None:
        if type(self.gaussian) is not GaussianEvent or len(self.gaussian.noise) != 1:
            raise InvalidInput("a threshold event needs a Gaussian one with one scale of noise")
        if not all(type(number) is int and number > 0 for number in (self.margin, self.alone)):
            raise InvalidInput("a threshold event needs a positive margin and a positive number of counts")

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON: exact, with a tag."""
        return {
            "event": "threshold",
            "gaussian": self.gaussian.to_json(),
            "margin": str(self.margin),
            "alone": self.alone,
        }

    def tail(self) -> Fraction:
        """Bound on the total variation, on either of two neighbours, between this mechanism and its Gaussian part.

        For the discrete Gaussian Z and t = `margin`, P(Z >= t + 1) <= P(N(0, sd^2) > t): a term e^(-k^2 / (2 sd^2)) of
        the sum over k > t is at most the integral from k - 1 to k, and the sum over all integers, by which both are
        divided, is at least sd sqrt(2 pi) (Poisson). A union over the counts that are alone.
        """
        return self.alone * normal_tail(Fraction(self.margin, self.gaussian.noise[0][0]))


def _is_exact(value: object) -> bool:
    """Exclude floats: a float would be stored in decimal and priced in binary, which may be different numbers."""
    return isinstance(value, Fraction) or type(value) is int


Event = GaussianEvent | RadialEvent | PureEvent | ThresholdEvent


def noisy_part(event: Event) -> GaussianEvent | RadialEvent | None:
    """Return the event's noisy mechanism, without failures; None if only the price of the event is known."""
    if isinstance(event, ThresholdEvent):
        return event.gaussian
    return None if isinstance(event, PureEvent) else event


def gaussian_part(event: Event) -> GaussianEvent | None:
    """Return the event's Gaussian mechanism, without failures; None if it has none."""
    part = noisy_part(event)
    return part if isinstance(part, GaussianEvent) else None


def event_from_json(data: dict[str, Any]) -> Event:
    """Read what `to_json` wrote.

    Raises:
        InvalidInput: a tag that this version does not know, or not an event.
        ValueError, KeyError, TypeError: something that `to_json` did not write.
    """
    if data.get("event") == "gaussian":
        noise = tuple((stored_integer(sd), size) for sd, size in data["noise"])
        return GaussianEvent(stored_fraction(data["squared_distance"]), noise)
    if data.get("event") == "radial":
        noise = tuple((stored_integer(scale), size) for scale, size in data["noise"])
        return RadialEvent(stored_fraction(data["squared_distance"]), noise, data["blocks"])
    if data.get("event") == "pure":
        return PureEvent(stored_fraction(data["epsilon"]))
    if data.get("event") == "threshold":
        gaussian = event_from_json(data["gaussian"])
        if isinstance(gaussian, GaussianEvent):
            return ThresholdEvent(gaussian, stored_integer(data["margin"]), data["alone"])
    raise InvalidInput("the ledger holds an event that this version does not know: upgrade pubpriv")
