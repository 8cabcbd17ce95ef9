"""Select the one of many public hypotheses that fits the rows best; only the choice is released."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np

from pubpriv.data._checks import integer, kind, size
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions.base import COUNT_FACTOR, LIMIT, Draw, Part, Scale, Totals, Values, check_noise
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class Selection:
    """The mean, of all lattice points in a ball, whose unit Gaussian wins the contests of hypothesis selection.

    Hypothesis j is N(c_j, I) in the coordinates of the frame, c_j = step k_j with k_j an integer point of length at
    most `steps`. Against a rival i whose law gives W_ji = {x: |x - c_j| < |x - c_i|} a chance p_i smaller than its own
    p_j by more than 3 `slack`, j scores max(0, #{x in W_ji} - ceil(n (p_i + 1.5 slack))); its score S_j is the least
    of these. Every j has such a rival, at its antipode at the latest. Released is the j of the largest F S_j + |Z_j|,
    the first of equals, with F = 2^28 and Z_j rounded Laplace noise of scale s (`privacy._radial`), drawn for each
    hypothesis by itself: a noisy maximum with exponential noise, which is permute-and-flip. Source: Bun, Kamath,
    Steinke and Wu 2019, with zeta = 1, who take the exponential mechanism.

    Sensitivity (replace-one): a record is in a half-plane W_ji or it is not, so #W_ji moves by one at most, up or down.
    The numbers that are taken off, and which rivals there are, are public, and neither max(0, .) nor a minimum moves by
    more than what is in it: every S_j moves by one at most, and the integer F S_j by F.

    Privacy: 2 F / s. Fix j and the noise of all others. j is chosen where |Z_j| >= T, an integer: T is the largest of
    F S_i + |Z_i| (one more for i < j), less F S_j. Both terms move by F at most, so T moves by 2 F. Z_j rounds a
    Laplace variable whose length E is exponential, P(E >= t) = min(1, e^(-t / s)), and |Z_j| >= T where E >= T - 1/2.
    So that chance, and its mean over the noise of the others, falls by a factor e^(2 F / s) at most. Noise from
    U = 2^62 on, whose size a draw in 64 bits may not tell, beats all that is less, whatever the scores are, and is
    equal among itself. Where other noise does so, whether j is chosen follows from noise alone; where none does, j is
    chosen where E >= min(T, U) - 1/2, which moves by 2 F at most.

    A record that is not finite is in no half-plane.

    Attributes:
        frame: the map to z, of one direction or two.
        rows: n of the table; if the unit is a person, about the number of persons.
        step: spacing of the lattice, in units of z.
        steps: radius of the ball, in steps.
        slack: alpha: distance of two laws up to which their hypotheses are not rivals.
        noise_scale: s, on multiples of 2^-28 of a record.
    """

    frame: Frame
    rows: int
    step: float
    steps: int
    slack: float
    noise_scale: int

    most: ClassVar[int] = 1 << 11
    """Largest number of hypotheses: each pair has a contest."""

    reach: ClassVar[int] = 85
    """A multiple of s that a Laplace variable exceeds with probability below 1e-20."""

    def __post_init__(self) -> None:
        kind("the frame of a Selection", self.frame, Frame)
        integer("the rows of a Selection", self.rows, 1)
        size("the step of a Selection", self.step)
        integer("the steps of a Selection", self.steps, 1)
        size("the slack of a Selection", self.slack)
        check_noise("a Selection", self.noise_scale)
        if self.frame.dimension > 2:
            raise InvalidInput("hypotheses are selected in one or two columns: take another method for more")
        if self.steps > Selection.most or self.count > Selection.most:
            raise InvalidInput(f"a Selection is of {Selection.most:,} hypotheses at most: take larger steps")
        if not _apart(self.step * self.steps) > 3 * self.slack:
            raise InvalidInput(
                "the slack of a Selection is so large that a hypothesis has no rival: it takes more private rows, or a "
                "larger budget"
            )

    def check(self, columns: int) -> None:
        """Check that the frame fits the columns."""
        self.frame.check(columns)

    @classmethod
    def priced(
        cls, frame: Frame, rows: int, step: float, steps: int, slack: float, squared_distance: Fraction
    ) -> "Selection":
        """Return a selection whose epsilon, squared, is at most `squared_distance`."""
        square = (2 * COUNT_FACTOR) ** 2 / squared_distance
        floor = math.isqrt(square.numerator // square.denominator)
        return cls(frame, rows, step, steps, slack, floor if floor * floor >= square else floor + 1)

    @property
    def count(self) -> int:
        """How many hypotheses there are."""
        return len(_lattice(self.frame.dimension, self.steps))

    @property
    def epsilon(self) -> Fraction:
        """2 F / s."""
        return Fraction(2 * COUNT_FACTOR, self.noise_scale)

    @property
    def squared_distance(self) -> Fraction:
        """epsilon^2."""
        return self.epsilon**2

    @property
    def parts(self) -> Mapping[str, Part]:
        """One part: the number of the chosen hypothesis."""
        return {"chosen": Part(1, COUNT_FACTOR, self.noise_scale, 1, self.count, self.rows)}

    @property
    def draws(self) -> list[tuple[str, Scale, int]]:
        """(name, scales, size) of the noise of each hypothesis."""
        return [(f"hypothesis-{number}", (self.noise_scale,), 1) for number in range(self.count)]

    @property
    def total_sizes(self) -> Mapping[str, int | None]:
        """One count for each half-plane."""
        return {"inside": _contests(self.frame.dimension, self.steps).count}

    def totals(self, view: View) -> Totals:
        """Return {"inside": how many records are in each half-plane}."""
        z, _ = view.mapped(self.frame)
        found = []
        for direction, offsets in _contests(self.frame.dimension, self.steps).lines:
            # cell by cell, one rounding at a time: what a record adds does not depend on its place
            along = sum(coordinate * number for coordinate, number in zip(z, direction, strict=True))
            edges = offsets * (self.step / 2)
            place = np.searchsorted(edges, along[np.isfinite(along)], side="right")
            found.append(np.cumsum(np.bincount(place, minlength=len(edges) + 1))[:-1])
        return {"inside": np.concatenate(found).astype(np.int64)}

    def exact(self, totals: Totals) -> Totals:
        """Return {"chosen": S_j of every hypothesis}."""
        contests = _contests(self.frame.dimension, self.steps)
        own = _apart(self.step * np.sqrt(contests.squared))
        chance = (1 - own) / 2
        needed = np.ceil(self.rows * (chance + 1.5 * self.slack)).astype(np.int64)
        scores = np.maximum(0, totals["inside"][contests.plane] - needed)
        return {"chosen": np.where(own > 3 * self.slack, scores, self.rows).min(axis=1)}

    def answer(self, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:  # noqa: ARG002
        """Return {"chosen": the number of one hypothesis, (1,)}; never wrapped, so `parts` is ignored."""
        noise = [int(draw(*announced)[0]) for announced in self.draws]
        scores = self.exact(totals)["chosen"].tolist()
        noisy = [
            score * COUNT_FACTOR + abs(z) if abs(z) < LIMIT else math.inf
            for score, z in zip(scores, noise, strict=True)
        ]
        return {"chosen": np.array([noisy.index(max(noisy))], dtype=np.int64)}

    def values(self, noisy: Totals) -> Values:
        """Return {"chosen": z of that hypothesis, (l,)}."""
        lattice = _lattice(self.frame.dimension, self.steps)
        return {"chosen": self.step * np.take(lattice, int(noisy["chosen"][0]), axis=0, mode="clip").astype(float)}

    def noise(self) -> Values:
        """Return {}: the standard deviation of a choice depends on the data."""
        return {}


@dataclass(frozen=True)
class _Contests:
    """All pairs of hypotheses.

    Attributes:
        squared: |k_j - k_i|^2, (m, m).
        plane: the number of the half-plane W_ji, (m, m); meaningless on the diagonal.
        lines: (direction, rising offsets): the half-planes {x: direction . x < offset step / 2}, in order.
        count: number of half-planes.
    """

    squared: np.ndarray
    plane: np.ndarray
    lines: tuple[tuple[tuple[int, ...], np.ndarray], ...]
    count: int


@cache
def _lattice(dimension: int, steps: int) -> np.ndarray:
    """Integer points of length `steps` at most, in rising order, (m, dimension)."""
    line = np.arange(-steps, steps + 1)
    points = np.stack(np.meshgrid(*[line] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    return np.asarray(points[(points * points).sum(axis=1) <= steps * steps])


@cache
def _contests(dimension: int, steps: int) -> _Contests:
    """Contests of a lattice; equal half-planes of several pairs become one.

    |x - c_j| < |x - c_i| means that 2 (k_i - k_j) . x / step < |k_i|^2 - |k_j|^2, and both sides may be divided by a
    common factor of k_i - k_j.
    """
    points = _lattice(dimension, steps)
    between = points[None, :, :] - points[:, None, :]
    lengths = (points * points).sum(axis=1)
    common = np.maximum(np.gcd.reduce(between, axis=2), 1)
    # |k_i|^2 - |k_j|^2 = (k_i - k_j) . (k_i + k_j), so that the factor divides it
    sides = np.concatenate([between, (lengths[None, :] - lengths[:, None])[:, :, None]], axis=2) // common[:, :, None]
    planes, plane = _distinct(sides.reshape(-1, dimension + 1))
    starts = np.flatnonzero(np.any(np.diff(planes[:, :-1], axis=0), axis=1)) + 1
    groups = np.split(planes, starts)
    lines = tuple((tuple(group[0, :-1].tolist()), group[:, -1]) for group in groups)
    return _Contests((between * between).sum(axis=2), plane.reshape(between.shape[:2]), lines, len(planes))


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of integers in order, and the index of each row among them; faster than `np.unique`."""
    least, spans = rows.min(axis=0), np.ptp(rows, axis=0) + 1
    keys = np.ravel_multi_index(tuple((rows - least).T), tuple(spans.tolist()))  # refused where 64 bits are too few
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], which


def _apart(distance: np.ndarray | float) -> np.ndarray:
    """p_j - p_i of two unit Gaussians so far apart: their total variation."""
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(np.asarray(distance) / 2) - 1)
