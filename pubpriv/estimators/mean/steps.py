"""The steps of `estimate_mean`: one private question that every method asks, and what the default makes of two."""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian.clipping import response
from pubpriv.estimators.mean.known_covariance import KnownCovariance
from pubpriv.estimators.mean.plan import MeanPlan, combined, sum_question, two_step_errors
from pubpriv.estimators.steps import step


@public_value
@dataclass(frozen=True)
class ClippedMean:
    """A released mean of clipped records around a centre.

    Attributes:
        center: in the data's own units.
        move: sum of the clipped records over n, whitened, (d,).
        noise: standard deviation of the noise in one coordinate of it.
    """

    center: tuple[float, ...]
    move: tuple[float, ...]
    noise: float


@public_value
@dataclass(frozen=True)
class _Combined:
    """The estimate of the two-step method.

    Attributes:
        center: the mean, in the data's own units, (d,).
        sampling, privacy: standard deviations of one whitened coordinate.
        weights: of step 1, step 2 and the public mean.
        distance: estimated distance, in standard deviations, of the mean from the centre of step 2.
        bias: what clipping leaves of it after debiasing, per whitened coordinate, estimated.
    """

    center: tuple[float, ...]
    sampling: float
    privacy: float
    weights: tuple[float, ...]
    distance: float
    bias: float


@step(title="clipped mean", private=True)
def clipped_mean(
    curator: Curator, known: KnownCovariance, center: tuple[float, ...], radius: float, ask: Ask
) -> ClippedMean:
    """Private step: the mean of records, clipped to `radius` around `center` in whitened coordinates.

    A record with a missing or infinite value adds zero and is still one of the n: it pulls the answer to the centre
    by its share of the rows.
    """
    release = curator.release(sum_question(known.frame(np.array(center)), radius, ask), ask.label)
    asked = release.question  # on a resumed run, the question as it was stored
    move = release.values["sum"] / curator.n_rows
    noise = float(asked.noise()["sum"][0]) / curator.n_rows
    return ClippedMean(asked.frames[0].center, tuple(move.tolist()), noise)


@step(title="combine means")
def combine_means(
    plan: MeanPlan, known: KnownCovariance, public: tuple[float, ...], first: ClippedMean, second: ClippedMean
) -> _Combined:
    """Public step: debias both answers, weigh them with the public mean, and say how far they may be off.

    Step 1 and the public mean count for less where they lie farther from step 2 than their errors explain
    (positive-part James-Stein), so public rows of another distribution do no harm that step 2 can see.
    """
    one, two = plan.steps
    origin = np.array(second.center)
    last = np.array(second.move) / two.slope
    early = known.whiten(np.array(first.center) - origin) + np.array(first.move) / one.slope
    outside = known.whiten(np.array(public) - origin)
    seen = _mean_square(early - last) - two.variance + 2 / plan.n  # the steps' errors share 1 / n
    doubted = replace(one, sampling=max(one.sampling, seen - one.privacy))
    public_variance = max(1 / plan.m, _mean_square(outside - last) - two.variance)
    weights, _ = combined(doubted, two, plan.n, public_variance)
    estimate = origin + known.colour(weights[0] * early + weights[1] * last + weights[2] * outside)
    noise = (first.noise / one.slope) ** 2, (second.noise / two.slope) ** 2
    sampling, privacy = two_step_errors(plan, weights, noise)
    distance, bias = _clipping_bias(plan, np.array(second.move))
    return _Combined(tuple(estimate.tolist()), sampling, privacy, tuple(weights.tolist()), distance, bias)


def _clipping_bias(plan: MeanPlan, move: np.ndarray) -> tuple[float, float]:
    """(distance of mu from the centre of step 2, bias per coordinate that clipping leaves there), estimated."""
    step = plan.steps[1]
    squared = float(move @ move) / step.slope**2 - plan.d * step.variance
    distance = math.sqrt(max(squared, 0.0))
    image = float(response(plan.d, step.radius, np.array([distance]))[0])
    return distance, abs(image / step.slope - distance) / math.sqrt(plan.d)


def _mean_square(values: np.ndarray) -> float:
    return float(np.mean(values * values))
