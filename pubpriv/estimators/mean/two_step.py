"""The default way to a mean: a coarse answer around the public one, the lengths of rows around that, and a fine answer.

Where the rows are as long as Gaussian ones of the known covariance, both answers are debiased and weighed with the
public mean; where they are not, the fine answer is clipped further out and reported as it is.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian.clipping import response
from pubpriv.estimators.mean.against_public import contradiction
from pubpriv.estimators.mean.known_covariance import KnownCovariance
from pubpriv.estimators.mean.lengths import Clip, Lengths, choose_clip, count_lengths
from pubpriv.estimators.mean.plan import MeanPlan, combined, sum_question, two_step_errors
from pubpriv.estimators.mean.reference import MeanResult, Options
from pubpriv.estimators.mean.steps import ClippedMean, clipped_mean
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse

_STRAYED = 1.0
"""Public rows led astray where step 2 found the mean so far, in squared standard deviations per column, from its
centre: it is followed, but by more noise than was planned."""

_TELLING = 12
"""Public rows that show whether columns have one scale."""


def two_step(run: Execution, rows: PublicTable, known: KnownCovariance, purse: Purse, options: Options) -> MeanResult:
    """The default: a coarse answer around the public mean, a fine one around that, debiased and combined."""
    curator = run.curator
    # a search ends elsewhere on another machine, and a resumed run has to ask what it planned
    plan = curator.settled(
        "mean/design", partial(MeanPlan.of, purse, curator.n_rows, len(rows.columns), len(rows.rows))
    )
    curator.rehearse(plan.questions)
    public = options.public
    first = run.at("1 of 2")(clipped_mean, known, public, plan.steps[0].radius, plan.asks[0])
    center = np.array(public) + known.colour(plan.move * np.array(first.move))
    around = tuple(center.tolist())
    found = run(count_lengths, known, around, plan.spread, plan.asks[1])
    clip = run(choose_clip, found, plan.d, plan.spread, _noise_of_step(plan), options.assumed)
    radius = plan.steps[1].radius if clip.gaussian else clip.radius
    second = run.at("2 of 2", first)(clipped_mean, known, around, radius, plan.asks[2])
    warnings = []
    if not plan.feasible:
        warnings.append("the private rows tell little more than the public ones do: the mean is about the public one")
    facts = _shares(plan) | {
        "lengths": {"edges": found.edges, "counts": found.counts, "sd": found.sd},
        "could_hide": {"rows": found.unseen, "beyond": radius},
    }
    if not clip.gaussian:
        return _as_released(plan, known, rows if options.assumed else None, second, clip, found, warnings, facts)
    whole = run(_combine_means, plan, known, public, first, second)
    if whole.bias > plan.error / 2:
        warnings.append(
            f"the private mean is {whole.distance:.2g} or more standard deviations from where the public rows and "
            "the first step put it: other public rows, or another covariance, are needed; the mean may be biased"
        )
    facts |= {
        "rows": "as long as Gaussian ones of the known covariance",
        "clip_radii": [step.radius for step in plan.steps],
        "weights": dict(zip(("step-1", "step-2", "public"), whole.weights, strict=True)),
        "distance_after_step_1": whole.distance,
        "clipping_bias": whole.bias,
    }
    return MeanResult(whole.center, whole.sampling, whole.privacy, tuple(warnings), facts)


def _as_released(
    plan: MeanPlan,
    known: KnownCovariance,
    public: PublicTable | None,
    last: ClippedMean,
    clip: Clip,
    found: Lengths,
    warnings: list[str],
    facts: dict[str, Any],
) -> MeanResult:
    """Step 2 as it was released, for rows of any law: nothing is undone, and what lies beyond the clip is an error.

    What rows beyond the clip may have added is a part of the error of each column. A covariance that nobody
    gave takes the scale that the private rows have, unless columns may have different ones.

    Args:
        plan: of the run.
        known: the covariance.
        public: the public rows, where nobody gave the covariance; else None.
        last: step 2.
        clip: of step 2.
        found: lengths of rows.
        warnings: so far.
        facts: so far.
    """
    whole = found.whole
    moved, noise = np.array(last.move) * plan.n / whole, last.noise * plan.n / whole
    squared = max(_mean_square(moved) - noise**2, 0.0)
    spread = clip.spread(squared)
    scaled = public is not None and _same_scale(public, spread)
    unsure = math.hypot(clip.fuzz, clip.hidden)
    moves = known.colour(moved) / known.deviations()
    variances, clipping = clip.by_column(moves, spread, math.hypot(noise, plan.spread, math.sqrt(spread / whole)))
    sampling = np.sqrt((variances + unsure if scaled else np.maximum(variances, 1.0)) / whole)
    if clip.contradicted(squared) and not scaled:
        warnings.append(
            f"the private rows have about {spread:.2g} times the mean square that the covariance says, so the errors "
            "are wrong: give their covariance, or let it be learnt (--covariance unknown)"
        )
    if squared > _STRAYED:
        warnings.append(
            f"the private mean is about {math.sqrt(plan.d * squared):.2g} standard deviations from where the public "
            "rows and the first step put it, and takes more noise to reach than planned: other public rows are needed"
        )
    if clip.open_end:
        warnings.append("private rows lie further out than can be followed: other public rows are needed")
    # as if all columns had their part of it: in one of many, noise alone seems to move a mean
    if clip.sure * clip.lost > math.hypot(float(sampling.mean()), noise):
        warnings.append(
            "rows that are clipped, or too few to be seen, may move the mean by more than all other errors: a "
            "logarithm of columns with long tails helps, or a larger budget"
        )
    center = np.array(last.center) + known.colour(moved)
    facts |= {
        "rows": "not Gaussian with the known covariance: the mean is reported as it was released",
        "clip_radii": [plan.steps[0].radius, clip.radius],
        "beyond_clip": {"share": clip.share, "sd": found.sd / whole},
        "distance_after_step_1": math.sqrt(plan.d * squared),
        "mean_square": spread,
    }
    lost = tuple(clipping.tolist())
    return MeanResult(tuple(center.tolist()), tuple(sampling.tolist()), noise, tuple(warnings), facts, lost)


def _same_scale(public: PublicTable, spread: float) -> bool:
    """Tell whether the columns have the variance `spread`, as far as the public rows show."""
    m, d = public.rows.shape
    if spread <= 0 or (d > 1 and m < _TELLING):
        return False
    return contradiction(public, KnownCovariance.of(np.eye(d) * spread, d)) is None


def _shares(plan: MeanPlan) -> dict[str, Any]:
    """Tell what each question took of the budget, and what was predicted for Gaussian rows."""
    whole = sum(ask.part for ask in plan.asks)
    return {
        "shares": {ask.label: ask.part / whole for ask in plan.asks},
        "predicted_error": plan.error,
        "predicted_ratio_to_non_private": plan.ratio,
    }


def _noise_of_step(plan: MeanPlan) -> float:
    """Give the noise sd of one coordinate of step 2's mean at a clip radius of 1."""
    question = plan.asks[2].as_asked(sum_question(Frame((0.0,) * plan.d), 1.0, plan.asks[2]))
    return float(question.noise()["sum"][0]) / plan.n


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


@step(title="combine means")
def _combine_means(
    plan: MeanPlan, known: KnownCovariance, public: tuple[float, ...], first: ClippedMean, second: ClippedMean
) -> _Combined:
    """Debias both answers, weigh them with the public mean, and say how far they may be off.

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
    """Estimate (distance of mu from the centre of step 2, bias per coordinate that clipping leaves there)."""
    step = plan.steps[1]
    squared = float(move @ move) / step.slope**2 - plan.d * step.variance
    distance = math.sqrt(max(squared, 0.0))
    image = float(response(plan.d, step.radius, np.array([distance]))[0])
    return distance, abs(image / step.slope - distance) / math.sqrt(plan.d)


def _mean_square(values: np.ndarray) -> float:
    return float(np.mean(values * values))
