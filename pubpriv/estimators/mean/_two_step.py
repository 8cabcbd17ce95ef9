"""The default method for a mean: a coarse answer around the public mean, counts of lengths, and a fine answer.

If the rows are as long as Gaussian rows of the known covariance, both answers are debiased and combined with the public
mean, in this file. If not, the fine answer is clipped further out (`_clip`) and reported as it is, with a bound on what
clipping may have removed (`_any_law`).
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._whole_rows import count_whole_rows, left_out, of_persons
from pubpriv.estimators.gaussian.clipping import response
from pubpriv.estimators.mean._any_law import as_released
from pubpriv.estimators.mean._clip import choose_clip
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.mean._lengths import count_lengths
from pubpriv.estimators.mean._plan import MeanPlan, combined, sum_question, two_step_errors
from pubpriv.estimators.mean._reference import MeanResult, Options
from pubpriv.estimators.mean._steps import ClippedMean, clipped_mean
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse
from pubpriv.released.findings import DOUBTFUL, Finding

_LITTLE = Finding(
    "few-rows",
    (),
    DOUBTFUL,
    "the private rows add little to the public ones: the mean is close to the public mean",
    remedy="more private rows, or a larger budget",
)

_NONE = Finding(
    "no-rows",
    (),
    DOUBTFUL,
    "almost no private row has a number in each column: the mean is about the public one",
    remedy="look at the file: a column may be text, have decimal commas, or be empty",
)


def two_step(run: Execution, rows: PublicTable, known: KnownCovariance, purse: Purse, options: Options) -> MeanResult:
    """Run the default method: coarse answer, lengths, fine answer; debias and combine if the rows look Gaussian."""
    curator = run.curator
    # floating-point searches may differ between machines, and a resumed run must ask what it planned
    plan = curator.settled(
        "mean/design", partial(MeanPlan.of, purse, curator.n_rows, len(rows.columns), len(rows.rows))
    )
    curator.rehearse(plan.questions)
    public = options.public
    curator.foresee(sum_question(known.frame(np.array(public)), plan.steps[0].radius, plan.asks[1]))
    whole_rows = count_whole_rows(run, plan.asks[0])
    expected, share = plan.of_whole(whole_rows.rows), whole_rows.rows / plan.n
    first = run.at("1 of 2")(clipped_mean, known, public, plan.steps[0].radius, plan.asks[1])
    center = np.array(public) + known.colour(expected.move * np.array(first.over(share).move))
    around = tuple(center.tolist())
    # Gaussian rows are clipped where the plan says, whatever their lengths are
    curator.foresee(sum_question(known.frame(np.array(around)), plan.steps[1].radius, plan.asks[3]))
    found = run(count_lengths, known, around, expected.spread, whole_rows, plan.asks[2])
    clip = run(choose_clip, found, plan.d, expected.spread, _noise_of_step(plan), options.assumed)
    radius = plan.steps[1].radius if clip.gaussian else clip.radius
    second = run.at("2 of 2", first)(clipped_mean, known, around, radius, plan.asks[3])
    share = found.whole / plan.n
    counted, first, second = plan.of_whole(found.whole), first.over(share), second.over(share)
    if clip.gaussian:
        whole = run(_combine_means, counted, known, public, first, second)
        wider = clip.spread.wider(whole.distance**2 / plan.d) if options.assumed else 1.0
        result = _debiased(counted, whole, wider)
    else:
        result = as_released(counted, known, rows if options.assumed else None, second, clip, found)
    facts = _shares(plan) | {
        "lengths": {"edges": found.edges, "counts": found.counts, "sd": found.sd},
        "could_hide": {"rows": found.unseen, "beyond": radius},
    }
    of_run = (_NONE,) if found.none else () if counted.feasible else (_LITTLE,)
    findings = *of_run, *of_persons(curator.size), *result.findings
    notes = left_out(curator.size, whole_rows.rows, whole_rows.sd)
    return replace(result, findings=findings, diagnostics=facts | result.diagnostics, notes=notes)


def _debiased(plan: MeanPlan, whole: "_Combined", wider: float) -> MeanResult:
    """Turn the combined mean into a result; flag it if the mean is so far from step 2's centre that it is biased.

    Args:
        plan: of the run, for the rows without a missing value.
        whole: the combined mean.
        wider: mean square of a coordinate around its mean: a covariance that nobody gave may be too small.
    """
    biased = Finding(
        "biased-by-clipping",
        (),
        DOUBTFUL,
        f"the private mean is {whole.distance:.2g} or more standard deviations from where the public rows and the "
        "first step put it, so that clipping biases it",
        {"distance": whole.distance, "bias": whole.bias},
        remedy="other public rows, or another covariance, are needed",
    )
    facts = {
        "rows": "as long as Gaussian ones of the known covariance",
        "clip_radii": [step.radius for step in plan.steps],
        "weights": dict(zip(("step-1", "step-2", "public"), whole.weights, strict=True)),
        "distance_after_step_1": whole.distance,
        "clipping_bias": whole.bias,
    }
    return MeanResult(
        center=whole.center,
        sampling=math.sqrt(wider) * whole.sampling,
        privacy=whole.privacy,
        findings=(biased,) if whole.bias > plan.error / 2 else (),
        diagnostics=facts,
    )


def _shares(plan: MeanPlan) -> dict[str, Any]:
    """Report each question's share of the budget, and the error predicted for Gaussian rows."""
    whole = sum(ask.part for ask in plan.asks)
    return {
        "shares": {ask.label: ask.part / whole for ask in plan.asks},
        "predicted_error": plan.error,
        "predicted_ratio_to_non_private": plan.ratio,
    }


def _noise_of_step(plan: MeanPlan) -> float:
    """Compute the noise sd of one coordinate of step 2's mean at a clip radius of 1."""
    question = plan.asks[3].as_asked(sum_question(Frame((0.0,) * plan.d), 1.0, plan.asks[3]))
    return float(question.noise()["sum"][0]) / plan.n


@public_value
@dataclass(frozen=True)
class _Combined:
    """The estimate of the two-step method.

    Attributes:
        center: the mean, in the data's own units, (d,).
        sampling, privacy: standard deviations of one whitened coordinate.
        weights: of step 1, step 2 and the public mean.
        distance: estimated distance of the mean from the centre of step 2, in standard deviations.
        bias: estimated bias per whitened coordinate that clipping leaves after debiasing.
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
    """Debias both answers, combine them with the public mean, and estimate the errors.

    Step 1 and the public mean get less weight if they are farther from step 2 than their errors explain (positive-part
    James-Stein), so public rows of another law do no harm as far as step 2 shows that they differ.
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
