"""Any question under radial noise, for pure DP; only the question's proof of l2 sensitivity is needed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from pubpriv.data._checks import flag, kind
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions._counts import JointCounts
from pubpriv.data.questions.base import Delegating, Draw, Part, Question, Scale, Totals, Values, root_up
from pubpriv.data.questions.completed import Completed
from pubpriv.data.questions.in_shares import InShares
from pubpriv.data.questions.of_rows import BY_REGION, UNDER_RADIAL
from pubpriv.data.questions.per_person import PerPerson, PersonSizes, of_one_row
from pubpriv.data.questions.selection import Selection
from pubpriv.errors import InvalidInput

_INNER = (*UNDER_RADIAL, PerPerson, PersonSizes)

GAUSSIAN, RADIAL = "gaussian", "radial"
"""The laws of noise that a run may have."""


@public_value
@dataclass(frozen=True)
class Radial(Delegating):
    """The inner question with radial noise (`privacy._radial`) of the same scales s_k, instead of Gaussian noise.

    z has the density proportional to exp(-|(z_k / s_k)_k|), and an answer is the exact totals plus round(z). Write D
    for the distance of neighbours' totals in units of s, coordinate by coordinate; then the answer is D-DP.

    Jointly, all coordinates share one length. Sensitivity: D^2 is the inner question's squared distance at most, whose
    proof is about the totals and their scales and knows nothing of the noise's law. That of `Bisection` adds up squared
    distances of adaptive steps, which holds here too, as `privacy._radial` shows.

    By region, each region's coordinates have a length of their own, drawn independently. Sensitivity (replace-one): let
    f be the squared length, in units of s, of what one record adds to its region, at most (`squared_length`). A record
    that leaves region i and enters j moves the one by |phi(q)| <= sqrt(f) and the other by |phi(q')| <= sqrt(f), and
    independent steps add up: 2 sqrt(f). One that stays moves its region by |phi(q) - phi(q')| <= 2 sqrt(f), by the
    triangle inequality. So epsilon^2 = 4 f; no condition on the kernel is needed. With several partitions
    (`JointCounts`) a record has a region in each, and sqrt(f) is the sum of what it adds to all of them. Where there
    are three regions or more this is mostly less noise.

    Where a person's rows count as L records (`PerPerson`): a person adds sum a_r phi(x_r), a_r >= 0 and sum a_r <= A.
    To region i that is of length sum a_r sqrt(f) at most, over the rows that lie in i, and these lengths add up, over
    all regions, to A sqrt(f). Two persons, or a person and nobody, move all regions by 2 A sqrt(f) together, and
    epsilon^2 = 4 A^2 f, or 4 L^2 f in units of the inner question.

    Attributes:
        inner: the question.
        by_region: whether each region has a length of its own; frames then have the same dimension.
    """

    inner: Any
    by_region: bool = False

    def __post_init__(self) -> None:
        flag("`by_region` of radial noise", self.by_region)
        kind("the question under radial noise", self.inner, *_INNER)
        if of_one_row(self.inner) is not None:
            raise InvalidInput(f"a {type(of_one_row(self.inner)).__name__} has noise of its own, which is not radial")
        if self.by_region:
            kind("the question under radial noise by region", _of_record(self.inner), *BY_REGION)
        if self.by_region and not _alike(self.inner):
            raise InvalidInput("radial noise by region needs frames of one dimension, one for each region")

    @property
    def blocks(self) -> int:
        """How many independent lengths the noise has."""
        return _regions(self.inner) if self.by_region else 1

    @property
    def squared_distance(self) -> Fraction:
        """epsilon^2: the inner question's squared distance, or 4 f by region."""
        return Fraction(4 * self.inner.squared_length if self.by_region else self.inner.squared_distance)

    @cached_property
    def block_size(self) -> int:
        """N: coordinates that share one length."""
        return sum(part.size for part in self.parts.values()) // self.blocks

    @property
    def spread(self) -> float:
        """sqrt(N + 1): standard deviation of a coordinate over its scale."""
        return math.sqrt(self.block_size + 1)

    @property
    def louder(self) -> float:
        """A coordinate's sd over that of a Gaussian answer whose mu is this one's epsilon."""
        return self.spread * math.sqrt(self.squared_distance / self.inner.squared_distance)

    @property
    def reach(self) -> int:
        """A length that the noise exceeds with probability below 1e-20: Gamma(N) is below N + 12 sqrt(N) + 60."""
        return self.block_size + 12 * (math.isqrt(self.block_size) + 1) + 60

    @cached_property
    def draws(self) -> tuple[tuple[str, Scale, int], ...]:
        """(name, scales, size) of each block's noise."""
        pieces = [(part.noise_scale,) * (part.size // self.blocks) for part in self.parts.values()]
        scales = tuple(scale for piece in pieces for scale in piece)
        return tuple((f"block-{number}", scales, len(scales)) for number in range(self.blocks))

    def answer(self, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:  # noqa: ARG002
        """Answer as the inner question does, with noise drawn block by block; never wrapped, so `parts` is ignored."""
        blocks = np.array([draw(*announced) for announced in self.draws])
        if blocks.shape != (self.blocks, self.block_size):
            raise ValueError("noise of another shape than was announced")
        noise = {name: blocks[:, own].ravel() for name, own in self._places.items()}
        answer: Totals = self.inner.answer(totals, lambda name, scale, size: noise[name])  # noqa: ARG005 - of a draw
        return answer

    @cached_property
    def _places(self) -> dict[str, slice]:
        """Coordinates of each noise vector that belong to each part."""
        ends = list(accumulate(part.size // self.blocks for part in self.parts.values()))
        return {name: slice(*own) for name, own in zip(self.parts, pairwise([0, *ends]), strict=True)}

    def noise(self) -> Values:
        """Return standard deviations: those of Gaussians of these scales, times sqrt(N + 1)."""
        return {name: sd * self.spread for name, sd in self.inner.noise().items()}


def under_law(law: str, question: Any) -> Any:
    """Return the question for a run whose noise has this law, at no higher price.

    A Gaussian question of squared distance mu^2 becomes a radial one of epsilon^2 <= mu^2: jointly with the same
    scales; by region, where that is less noise, with scales sqrt(4 f / mu^2) times as large, rounded up.

    Args:
        law: `GAUSSIAN` or `RADIAL`.
        question: any question; one without Gaussian noise is returned as it is.
    """
    if law != RADIAL or not isinstance(question, _INNER) or of_one_row(question) is not None:
        return question
    together, asked = Radial(question), _of_record(question)
    if not isinstance(asked, BY_REGION) or not _alike(question):
        return together
    # also for a person's rows: both are L^2 times as large
    wider = 4 * asked.squared_length / asked.squared_distance
    apart = Radial(_widened(question, max(wider, Fraction(1))), by_region=True)
    return apart if wider * (apart.block_size + 1) < together.block_size + 1 else together


def without_law(question: Any) -> Any:
    """Return the question without its wrapper for radial noise."""
    return question.inner if isinstance(question, Radial) else question


def in_person_unit(question: Any) -> bool:
    """Return whether a question protects all rows of a person together."""
    return type(without_law(question)) in (PerPerson, PersonSizes)


def draws_of(question: Question) -> list[tuple[str, Scale, int]]:
    """Return (name, scale or scales, size) of each noise draw that `question` makes, in order."""
    noise = _of_noise(question)
    if isinstance(noise, Radial | Selection):
        return list(noise.draws)
    return [(name, part.noise_scale, part.draws) for name, part in question.parts.items()]


def reach_of(question: Question) -> int:
    """Return a number of noise scales that the noise never reaches in practice, to check that totals fit 64 bits."""
    noise = _of_noise(question)
    return noise.reach if isinstance(noise, Radial | Selection) else _SDS


def _of_noise(question: Question) -> Any:
    """The question that determines the noise; if it is asked of one row of each person, the inner one."""
    return of_one_row(question) or question


def bounding_sd(question: Question, part: str) -> float:
    """Return an sd of the noise in `part` that may be used with thresholds meant for Gaussian noise, of 2 to 4 sds.

    A coordinate of radial noise has a longer tail: with N = 1, Laplace's law, 5.4 sds are exceeded as seldom as 3.5 sds
    of a Gaussian. So the sd is returned 1 + 0.55 / sqrt(N) times as large; at 3.5 sds that is enough for every N.
    """
    sd = float(question.noise()[part].flat[0])
    return sd * (1 + _TAIL / math.sqrt(question.block_size)) if isinstance(question, Radial) else sd


_SDS, _TAIL = 64, 0.55
"""Sds that noise without a `reach` of its own never reaches in practice; and the factor of `bounding_sd`."""


def _of_record(question: Any) -> Any:
    """The question about single records, without the wrapper `PerPerson`."""
    return question.inner if isinstance(question, PerPerson) else question


def _regions(question: Any) -> int:
    """Number of regions in all partitions of the question."""
    question = _of_record(question)
    partitions = question.partitions if isinstance(question, JointCounts) else (question.partition,)
    return sum(partition.n_regions for partition in partitions)


def _alike(question: Any) -> bool:
    """Check whether all regions have the same number of coordinates."""
    frames: tuple[Frame, ...] = getattr(_of_record(question), "frames", ())
    return not frames or (len(frames) == _regions(question) and len({frame.dimension for frame in frames}) == 1)


def _widened(question: Any, squared: Fraction) -> Any:
    """The question with noise scales sqrt(squared) times as large, rounded up."""
    if isinstance(question, PerPerson | InShares | Completed):
        return replace(question, inner=_widened(question.inner, squared))
    if hasattr(question, "noise_scale"):
        return replace(question, noise_scale=root_up(squared * question.noise_scale**2))
    scales = tuple(root_up(squared * scale * scale) if scale else 0 for scale in question.noise_scales)
    return replace(question, noise_scales=scales)
