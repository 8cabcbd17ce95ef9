"""Gaussian or not: what private quantiles of |w| say of the law of the rows."""

import math
from dataclasses import dataclass

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian.clipping import length_quantile
from pubpriv.estimators.gaussian.moments import Quantile
from pubpriv.estimators.steps import step

_NOISES = 2.5
"""Sds that a rank may be off. Two quantiles must both be off to be taken for another law, and the width of a cell comes
on top, so that this happens to a Gaussian far less than once in a hundred runs."""


@public_value
@dataclass(frozen=True)
class Verdict:
    """Which target the quantiles speak for.

    Attributes:
        target: `gaussian` or `moments`.
        gap: by how much the quantiles miss the law of |w| of a Gaussian, in the logarithm, beyond noise; not
            positive for a Gaussian.
    """

    target: str
    gap: float


@step(title="choose the target")
def decide(quantiles: tuple[Quantile, ...], frame: Frame, n: float) -> Verdict:
    """Whether private quantiles of |w| are those of a standard Gaussian, up to one scale.

    Each quantile, with the noise of its rank, sampling and its cell, leaves an interval for the logarithm of the
    scale; for a Gaussian all of them meet.
    """
    d = frame.dimension
    lower, upper = [], []
    for told in quantiles:
        off = _NOISES * math.hypot(told.sd, math.sqrt(n * told.share * (1 - told.share))) / n
        least, most = max(told.share - off, 1 / n), min(told.share + off, 1 - 1 / n)
        lower.append(math.log(told.value) - told.cell - math.log(length_quantile(d, most)))
        upper.append(math.log(told.value) - math.log(length_quantile(d, least)))
    gap = max(lower) - min(upper)
    return Verdict("gaussian" if gap <= 0 else "moments", gap)
