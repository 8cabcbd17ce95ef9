"""Private quantiles: how near to the top one may be asked for, of |w|, and what they say of the law of the rows."""

import math
from dataclasses import dataclass

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection, Counts
from pubpriv.data.questions.base import COUNT_FACTOR
from pubpriv.data.regions import Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step

_MARGIN, _LEAST_MARGIN = 3.5, 20.0
"""A high quantile leaves this many sds of its noisy counts above it, and this many rows: else noise alone could carry
it beyond the records."""

_DOUBT = 2.0
"""Sds of the count of whole rows within which no row is taken to be missing, and which the margin allows for."""

_LOW, _STEPS = 1 / 30, 8
"""A quantile of |w| is looked for from LOW sqrt(d) to the loudest radius, in 2^STEPS cells even in the logarithm."""

_NOISES = 2.5
"""Sds that a rank may be off. Two quantiles must both be off to be taken for another law, and the width of a cell comes
on top, so that this happens to a Gaussian far less than once in a hundred runs."""


@public_value
@dataclass(frozen=True)
class Whole:
    """How many rows have no missing or infinite value.

    Attributes:
        records: n, or the released count where it is clearly less.
        sd: of the noise in that count.
    """

    records: float
    sd: float

    def high_rank(self, noise_scale: int) -> float:
        """Give a rank that noise does not carry beyond the records: n - max(3.5 sd, 20) - 2 sd of n, at least n / 2."""
        margin = max(_MARGIN * noise_scale / COUNT_FACTOR, _LEAST_MARGIN) + _DOUBT * self.sd
        return max(self.records - margin, self.records / 2)


def count_question(ask: Ask) -> Counts:
    """How many rows have finite cells throughout."""
    return Counts.priced(Everything(), ask.price)


@step(title="count of whole rows", private=True)
def count_rows(curator: Curator, ask: Ask) -> Whole:
    """How many rows count: ranks near the top must not ask for more than there are.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(count_question(ask), ask.label)
    count, sd = float(answer.values["count"][0]), float(answer.question.noise()["count"][0])
    return Whole(float(curator.n_rows) if count > curator.n_rows - _DOUBT * sd else max(count, 2.0), sd)


@public_value
@dataclass(frozen=True)
class Quantile:
    """A private quantile of |w|.

    Attributes:
        share: of the records that it was asked for, rank / n.
        value: what was found.
        sd: of the noisy counts, in records.
        cell: how far below `value` it may be, in the logarithm.
    """

    share: float
    value: float
    sd: float
    cell: float


def quantile_question(frame: Frame, share: float | None, whole: Whole, most: float, ask: Ask) -> Bisection:
    """The |w| up to `most` that `share` of the records do not exceed; None: as many as noise allows."""
    low = _LOW * math.sqrt(frame.dimension)
    noise = Bisection.noise_for(_STEPS, ask.price)
    rank = whole.high_rank(noise) if share is None else share * whole.records
    return Bisection(frame, low, max(most, 2 * low), _STEPS, rank, noise, logarithmic=True)


@step(title="quantile of the spread", private=True)
def spread_quantile(
    curator: Curator, frame: Frame, share: float | None, whole: Whole, most: float, ask: Ask
) -> Quantile:
    """A private quantile of |w|.

    Args:
        curator: the run.
        frame: the map to w.
        share: of the records that do not exceed it; None: as many as noise allows.
        whole: rows without missing or infinite values.
        most: a larger quantile is reported as this.
        ask: label and price.

    Privacy: one `Bisection`, mu^2 at most ask.price.
    """
    answer = curator.release(quantile_question(frame, share, whole, most, ask), ask.label)
    asked = answer.question
    return Quantile(
        share=asked.rank / whole.records,
        value=float(answer.values["quantile"][0]),
        sd=asked.noise_scale / COUNT_FACTOR,
        cell=math.log(asked.upper / asked.lower) / 2**asked.steps,
    )


def _length_quantile(d: int, share: float) -> float:
    """The quantile of |z| below which `share` of standard Gaussian rows z in R^d lie: chi's, without `scipy.stats`."""
    from scipy.special import gammaincinv

    return math.sqrt(2 * float(gammaincinv(d / 2, share)))


@public_value
@dataclass(frozen=True)
class _Verdict:
    """Which target the quantiles speak for.

    Attributes:
        target: `gaussian` or `moments`.
        gap: by how much the quantiles miss the law of |w| of a Gaussian, in the logarithm, beyond noise; not
            positive for a Gaussian.
    """

    target: str
    gap: float


@step(title="choose the target")
def decide(quantiles: tuple[Quantile, ...], frame: Frame, n: float) -> _Verdict:
    """Whether private quantiles of |w| are those of a standard Gaussian, up to one scale.

    Each quantile, with the noise of its rank, sampling and its cell, leaves an interval for the logarithm of the
    scale; for a Gaussian all of them meet.
    """
    d = frame.dimension
    lower, upper = [], []
    for each in quantiles:
        off = _NOISES * math.hypot(each.sd, math.sqrt(n * each.share * (1 - each.share))) / n
        least, most = max(each.share - off, 1 / n), min(each.share + off, 1 - 1 / n)
        lower.append(math.log(each.value) - each.cell - math.log(_length_quantile(d, most)))
        upper.append(math.log(each.value) - math.log(_length_quantile(d, least)))
    gap = max(lower) - min(upper)
    return _Verdict("gaussian" if gap <= 0 else "moments", gap)
