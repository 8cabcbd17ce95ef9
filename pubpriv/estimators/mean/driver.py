"""The mean of private rows whose covariance is known, with one public row or more.

The default method and what it is measured against share one driver. Source: Bie, Kamath and Singhal 2022, Claim 2.1
(a public row is within sqrt(d) of the mean) and Theorem 2.3, with clip radii near sqrt(d) whose shrinkage is undone
exactly; see `plan`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian.clipping import response
from pubpriv.estimators.mean.known_covariance import KnownCovariance
from pubpriv.estimators.mean.plan import MeanPlan, check_feasible, combined, two_step_errors
from pubpriv.estimators.mean.reference import MeanResult, Options, clip_and_noise, coinpress
from pubpriv.estimators.mean.settings import MeanSettings
from pubpriv.estimators.mean.steps import ClippedMean, clipped_mean
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.estimate import provenance_of, told_method
from pubpriv.released.histograms import public_part
from pubpriv.released.kinds import MeanEstimate

_SURPRISE = 1e-6
"""Public rows whose spread is less likely than this under the known covariance are warned about."""


def estimate_mean(
    public: Any,
    curator: Curator,
    *,
    covariance: Any = "identity",
    budget: Budget | None = None,
    method: str = "two-step",
    rounds: int = 2,
    ball: tuple[Any, float] | None = None,
    force: bool = False,
    runner: Runner = plain,
) -> MeanEstimate:
    """The mean of private rows.

    Args:
        public: one public row or more of the same kind: path, DataFrame, (m, d) array or `PublicTable`.
        curator: the run; see `Curator`.
        covariance: `"identity"`, or the known (d, d) covariance in the data's own units; or `"unknown"`, which takes
            d + 1 public rows and is the mean of `estimate_gaussian`.
        budget: what this estimate may spend, in the run's kind; None: all that is left.
        method: `two-step`; or, to compare with, `clip-and-noise` (Theorem 2.3) or `coinpress`.
        rounds: of `coinpress`.
        ball: of `coinpress`: (centre (d,) in the data's units, radius in standard deviations) that is known to hold
            the mean; None: the ball around the public mean, by Claim 2.1.
        force: of `two-step`: run where the private rows can tell little more than the public ones do; flagged.
        runner: who runs the steps.

    Returns:
        The mean in the data's own units, with statement, errors and diagnostics. `converged` is False where the
        answers contradict the known covariance or the public rows.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        PrivateStepFailed: after a charge; run the same release id again.

    Privacy: the sum of the plan's prices, all Gaussian, at most the method's share of the run.

    Records with a missing or infinite value are counted in n and add nothing: they pull each answer to its centre by
    their share of the rows.
    """
    if isinstance(covariance, str) and covariance == "unknown":
        check_two_step(method)
        return _with_unknown_covariance(public, curator, budget, force, runner)
    curator.check_public(public)
    rows, known, options = checked_mean(public, curator.columns, covariance, method, rounds, ball)
    configuration = {
        "method": method,
        "covariance": known.fingerprint(),
        "columns": list(curator.columns),
        **options.configuration(),
    }
    purse = curator.begin("mean", configuration, rows, budget)
    if method == "two-step" and not force:
        check_feasible(curator.n_rows, len(rows.columns), len(rows.rows), purse)
    found = _METHODS[method](Execution(curator, "mean", runner), rows, known, purse, options)
    statement = curator.statement()
    warnings = [*found.warnings, *_notes(rows, known)]
    return MeanEstimate(
        center=found.center,
        columns=curator.columns,
        method=told_method(method, statement),
        converged=not found.warnings,
        standard_errors=_told_errors(found.sampling, found.privacy, known.deviations()),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.n_rows, rows),
        public=public_part(rows),
        diagnostics={
            "covariance": "identity" if known.whitening is None else "known",
            "public_only_error": 1 / math.sqrt(len(rows.rows)),
            **found.diagnostics,
            "warnings": warnings,
        },
    )


def checked_mean(
    public: Any,
    columns: tuple[str, ...],
    covariance: Any = "identity",
    method: str = "two-step",
    rounds: int = 2,
    ball: tuple[Any, float] | None = None,
) -> tuple[PublicTable, KnownCovariance, Options]:
    """Public rows, covariance and options fit for `columns`, or a clear error before anything is opened."""
    if method not in _METHODS:
        raise InvalidInput(f"method must be one of {', '.join(_METHODS)}, not {method!r}")
    if method != "coinpress" and (rounds != 2 or ball is not None):
        raise InvalidInput(f"rounds and ball are options of method coinpress, not of {method}")
    rows = PublicTable.open(public, list(columns))
    return rows, KnownCovariance.of(covariance, len(rows.columns)), Options.of(_public_mean(rows), rounds, ball)


def check_two_step(method: str) -> None:
    """Refuse a method that cannot learn the covariance."""
    if method != "two-step":
        raise InvalidInput(f"method {method} needs a known covariance")


def _with_unknown_covariance(
    public: Any, curator: Curator, budget: Budget | None, force: bool, runner: Runner
) -> MeanEstimate:
    """Learn both, and tell the mean."""
    from pubpriv.estimators.gaussian.driver import estimate_gaussian

    both = estimate_gaussian(public, curator, budget=budget, force=force, runner=runner)
    return MeanEstimate(
        center=tuple(both.mean.tolist()),
        columns=both.columns,
        method=both.method,
        converged=both.converged,
        standard_errors={"mean": both.standard_errors["mean"]},
        privacy=both.privacy,
        provenance=both.provenance,
        public=both.public,
        diagnostics={"covariance": "unknown"} | dict(both.diagnostics),
        target=both.target,
    )


def _public_mean(rows: PublicTable) -> tuple[float, ...]:
    """Mean of the public rows, (d,).

    Raises:
        InvalidInput: values too large to be added.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.rows.mean(axis=0)
    wild = [name for name, value in zip(rows.columns, mean, strict=True) if not math.isfinite(value)]
    if wild:
        raise InvalidInput(f"the public values of {', '.join(wild)} are too large for a mean: use other units")
    return tuple(mean.tolist())


def _two_step(run: Execution, rows: PublicTable, known: KnownCovariance, purse: Purse, options: Options) -> MeanResult:
    """The default: a coarse answer around the public mean, a fine one around that, debiased and combined."""
    curator = run.curator
    # a search ends elsewhere on another machine, and a resumed run has to ask what it planned
    plan = curator.settled("mean/plan", partial(MeanPlan.of, purse, curator.n_rows, len(rows.columns), len(rows.rows)))
    curator.rehearse(plan.questions)
    public = options.public
    first = run.at("1 of 2")(clipped_mean, known, public, plan.steps[0].radius, plan.asks[0])
    center = np.array(public) + known.colour(plan.move * np.array(first.move))
    around = tuple(center.tolist())
    second = run.at("2 of 2", first)(clipped_mean, known, around, plan.steps[1].radius, plan.asks[1])
    whole = run(_combine_means, plan, known, public, first, second)
    warnings = []
    if not plan.feasible:
        warnings.append("the private rows tell little more than the public ones do: the mean is about the public one")
    if whole.bias > plan.error / 2:
        warnings.append(
            f"the private mean is {whole.distance:.2g} or more standard deviations from where the public rows and "
            "the first step put it: other public rows, or another covariance, are needed; the mean may be biased"
        )
    diagnostics = {
        "shares": {ask.label: ask.rho / purse.rho for ask in plan.asks},
        "clip_radii": [step.radius for step in plan.steps],
        "weights": dict(zip(("step-1", "step-2", "public"), whole.weights, strict=True)),
        "distance_after_step_1": whole.distance,
        "clipping_bias": whole.bias,
        "predicted_error": plan.error,
        "predicted_ratio_to_non_private": plan.ratio,
    }
    return MeanResult(whole.center, whole.sampling, whole.privacy, tuple(warnings), diagnostics)


_METHODS = dict(zip(MeanSettings.methods, (_two_step, clip_and_noise, coinpress), strict=True))


def _notes(rows: PublicTable, known: KnownCovariance) -> list[str]:
    """What a reader should know of the public rows."""
    from scipy.special import chdtr, chdtrc

    notes = []
    if rows.dropped:
        notes.append(f"{rows.dropped} public rows with a missing or infinite value were left out")
    m, d = rows.rows.shape
    if m > 1:
        centred = known.whiten((rows.rows - rows.rows.mean(axis=0)).T)
        spread, freedom = float(np.sum(centred * centred)), (m - 1) * d
        if min(chdtr(freedom, spread), chdtrc(freedom, spread)) < _SURPRISE:
            notes.append(
                f"the public rows have {spread / freedom:.3g} times the variance that the covariance says: "
                "if the private rows do too, the mean may be biased and its errors are wrong; give their covariance"
            )
    return notes


def _told_errors(sampling: float, privacy: float, deviations: np.ndarray) -> Mapping[str, Mapping[str, list[float]]]:
    """The `standard_errors` of a mean, in the data's units: {"mean": {"sampling": [d], "privacy": [d]}}."""
    return {"mean": {"sampling": (sampling * deviations).tolist(), "privacy": (privacy * deviations).tolist()}}


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
