"""The table's own moments: one last release, clipped where almost no record is, and nothing debiased.

Real tables are not Gaussian, and debiasing for one leaves a floor that no budget removes. Here the rounds serve as a
whitening alone; a private high quantile of |w| says where to clip, and what the release says is what is reported.

Source: our study, section E (`docs/gaussian.md`).
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian.learner import LEAST_VARIANCE, Fitted, floored, released_moments
from pubpriv.estimators.gaussian.plan import final_theta, joint_question
from pubpriv.estimators.gaussian.quantiles import Quantile, Whole
from pubpriv.estimators.steps import step

_LOUD = 0.5
"""The clip radius is at most where the noise's largest eigenvalue is this, in whitened units."""

_ROOM = 1.4
"""The clip radius is at most this many times the reach."""

_FAINT, _STANDING_OUT = 1e-6, 4.0
"""A column of which no spread was found keeps the center, with this standard deviation in whitened units, unless its
variance is so many times the noise."""


@public_value
@dataclass(frozen=True)
class Table:
    """What the last release says of the table, without debiasing.

    Attributes:
        frame: the map to w.
        fitted: mean and covariance in the table's units.
        records: rows without missing or infinite values.
        radius: clip radius.
        mean_sd: noise sd of a coordinate of the mean of w.
        moment_sd: noise sd of a diagonal entry of the second moment of w.
        edge: largest eigenvalue of the noise alone.
        weakest: smallest eigenvalue of the covariance of w as it was released.
    """

    frame: Frame
    fitted: Fitted
    records: float
    radius: float
    mean_sd: float
    moment_sd: float
    edge: float
    weakest: float

    @property
    def quiet(self) -> bool:
        """The noise is not of the size of the estimate: its largest eigenvalue is clearly below the loudest."""
        return self.edge <= 0.9 * _LOUD


def _moment_noise(frame: Frame, n: float, ask: Ask) -> float:
    """Noise sd of a diagonal entry of the second moment of records clipped to 1; it grows with the radius squared."""
    return float(joint_question(frame, 1.0, final_theta(frame.dimension), ask).noise()["moment"].max()) / n


def loud_radius(frame: Frame, n: float, ask: Ask) -> float:
    """The radius at which noise alone has an eigenvalue of `_LOUD`: public."""
    return math.sqrt(_LOUD / (_moment_noise(frame, n, ask) * math.sqrt(2 * frame.dimension)))


def clip_radius(frame: Frame, n: float, upper: Quantile, reach: Quantile, ask: Ask) -> float:
    """Where clipping and noise together are least, if the tail goes on beyond `reach` as it came there from `upper`.

    With P(|w| > r + t) = f exp(-t / h) beyond the reach r, the fit of the two quantiles, clipping at c takes
    2 f h (c + h) exp((r - c) / h) from the trace of the second moment, all of it from one direction at worst, and the
    noise has a Frobenius norm in proportion to c^2. A Gaussian's h is small, and c = r; long tails are given more room.
    """
    d, r, beyond = frame.dimension, reach.value, max(1 - reach.share, 1 / n)
    h = max(r - upper.value, 0.01 * r) / max(math.log((1 - upper.share) / beyond), 0.1)
    c = r * np.linspace(1, _ROOM, 201)
    noise = _moment_noise(frame, n, ask) * math.sqrt(d * (d + 1) / 2) * c**2
    lost = 2 * beyond * h * (c + h) * np.exp((r - c) / h)
    return min(float(c[np.argmin(noise**2 + lost**2)]), max(r, loud_radius(frame, n, ask)))


@step(title="final release as it is", private=True)
def measure_table(
    curator: Curator, frame: Frame, radius: float, guessed: tuple[int, ...], whole: Whole, ask: Ask
) -> Table:
    """Mean and covariance of the records clipped to `radius`, in the table's units.

    Args:
        curator: the run.
        frame: the map to w, (d, d).
        radius: beyond which almost no record is.
        guessed: coordinates of w whose scale is a guess, because hardly a record differs from the center there.
        whole: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `LiftedGram`, mu^2 at most ask.price.
    """
    d = frame.dimension
    answer = released_moments(curator, frame, radius, final_theta(d), ask)
    per = answer.records / whole.records  # the rows were counted better than beside the moments
    center, matrix = answer.frame.dense()
    colour = np.linalg.inv(matrix)
    mean, sd = answer.mean * per, answer.moment_sd * per
    spread, edge = answer.second * per - np.outer(mean, mean), sd * math.sqrt(2 * d)
    covariance = floored(spread, min(LEAST_VARIANCE, edge))
    for index in guessed:
        if spread[index, index] < _STANDING_OUT * sd:
            covariance[index], covariance[:, index], mean[index] = 0.0, 0.0, 0.0
            covariance[index, index] = _FAINT**2
    return Table(
        frame=answer.frame,
        fitted=Fitted.of(center + colour @ mean, colour @ covariance @ colour.T),
        records=whole.records,
        radius=answer.radius,
        mean_sd=answer.mean_sd * per,
        moment_sd=sd,
        edge=edge,
        weakest=float(np.linalg.eigvalsh((spread + spread.T) / 2)[0]),
    )
