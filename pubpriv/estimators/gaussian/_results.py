"""What the drivers of all targets report: the estimate, its standard errors, findings and facts of the run.

Standard errors have a sampling and a privacy part, from released quantities alone.

In the coordinates w = F (x - c) of the final release the records are close to standard, so with G = F^-1, g_i its
rows, n records and clip constants (slope and variance of the mean; shape, trace and their variances of the second
moment, see `clipping`):

| of | sampling variance | privacy variance |
|---|---|---|
| mean_i | Sigma_ii variance / (slope^2 n) | |g_i|^2 (sd of the clipped mean / slope)^2, exact |
| covariance_ij | A_ij(Sigma^(1/2) rows, shape_variance / n, trace_variance / n) | A_ij(G rows, sd^2, sd^2) |

The covariance is linearised: A_ij(rows a, s, t) is the variance of a_i' E a_j for symmetric E whose traceless part
has variance s / shape^2 and whose trace part has variance t / trace^2 in every direction of unit Frobenius norm.
Public rows that were pooled in with weight p take the factor (1 - p)^2, and add p^2 times their own sampling variance.
Where odd rows are seen beyond the Gaussian ones, others of their kind may lie among these. How little is known of what
they add to a variance is a third part, `clipping`; see `_odd_rows`.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.errors import NoAnswer
from pubpriv.estimators._whole_rows import WholeRows, left_out, of_persons
from pubpriv.estimators.asks import Plan
from pubpriv.estimators.gaussian._learner import LEFT_OUT, Fitted, Measured
from pubpriv.estimators.gaussian._odd_rows import CLEAR, OddRows
from pubpriv.estimators.gaussian._plan import feasible
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._shells import gaussian_end
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants
from pubpriv.estimators.matrices import entry_variances
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import Purse
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding
from pubpriv.released.noise import NoiseLaw

MOST_ODD = 0.03
"""From this share of rows further out than Gaussian ones on all numbers are doubtful: others that belong to them lie
among the rest."""

SURER = 1.25
"""Numbers are doubtful where odd rows that lie together may move one by so many times all its other errors."""

_UNLIKELY = 1e-4
"""Rows are no Gaussian's where so bad a fit is less likely than this."""


@public_value
@dataclass(frozen=True)
class BulkFit:
    """How well the lengths of rows fit a Gaussian's; see `_bulk`.

    Attributes:
        chance: probability of so bad a fit.
        inside: number of rows where a Gaussian has any, and the sd of its noise.
        odd: what odd rows add where they lie among the others.
        rounding: by what part rounding makes the mean square larger that the clip leaves of rows.
        counts: whether those of small counts are nearer, where the public rows are such.
    """

    chance: float
    inside: tuple[float, float]
    odd: OddRows
    rounding: float
    counts: bool = False

    @property
    def gaussian(self) -> bool:
        """Tell whether a Gaussian may be behind the rows."""
        return self.chance >= _UNLIKELY and not self.counts

    def findings(self) -> tuple[Finding, ...]:
        """Find that there is none, and why."""
        if self.gaussian:
            return ()
        lengths = "not those of a Gaussian's rows with a few odd ones among them"
        if self.chance >= _UNLIKELY:
            lengths = (
                "nearer to those of small counts than to a Gaussian's, and all columns of the public rows heap at "
                "their least value"
            )
        text = f"the lengths of the private rows are {lengths}: there is no Gaussian that these numbers are of"
        remedy = "the target moments describes rows of any law"
        return (Finding("no-gaussian", (), DOUBTFUL, text, {"chance": self.chance}, remedy=remedy),)


@dataclass(frozen=True)
class GaussianResult:
    """What a method hands back: the estimate, its errors, what was concluded, and public facts of the run.

    Attributes:
        findings: what was concluded about the numbers.
        notes: remarks for the reader that are about no number.
        beyond: share of the rows that lie beyond all that was measured, and the sd of the noise in it; None: unknown.
        noise: law of the noise; None: not known.
    """

    fitted: Fitted
    findings: tuple[Finding, ...]
    errors: dict[str, Any]
    facts: dict[str, Any]
    notes: tuple[str, ...] = ()
    beyond: tuple[float, float] | None = None
    noise: NoiseLaw | None = None


def check_held(fitted: Fitted, *errors: np.ndarray) -> None:
    """Refuse an estimate that is beyond what numbers hold; its units were small enough where the rounds began.

    Raises:
        NoAnswer: the rounds followed rows, or noise, that far.
    """
    numbers = np.array(fitted.mean), np.array(fitted.covariance), *errors
    if not all(np.isfinite(each).all() for each in numbers):
        raise NoAnswer(
            "no answer: the private rows lie so much further out than the public ones that their covariance is beyond "
            "what numbers hold. Are both tables in the same units? The questions of this run are paid for"
        )


def debiased(
    curator: Curator,
    preconditioner: Preconditioner,
    measured: Measured,
    plan: Plan,
    purse: Purse,
    fitted: Fitted,
    fit: BulkFit,
    counted: WholeRows,
) -> GaussianResult:
    """The outcome of a debiased release of rows whose lengths fit a Gaussian's so well; see `fit_to_gaussian`."""
    size, d = counted.of(curator.size), preconditioner.dimension
    n = size.rows
    enough = feasible(measured.records, d, purse)
    (odd, sd), end = measured.beyond, gaussian_end(n, d)
    whole = min(measured.records + odd, n)
    facts = {
        "whole_rows": whole,
        "clip_radius": measured.radius,
        "feasible": enough,
        **debiased_facts(measured, fitted),
        "fit": fit.chance,
        "could_hide": {"rows": math.ceil(CLEAR * sd), "beyond": end},
        "rounds": [ask.label for ask in plan.asks],
    }
    fitted, unsure = _rescaled(size, measured, fitted, fit)
    errors = standard_errors(measured, fitted, preconditioner.m)
    errors["covariance"]["privacy"] = np.hypot(errors["covariance"]["privacy"], unsure * np.array(fitted.covariance))
    if fit.odd.seen:
        errors["mean"]["clipping"] = np.zeros(d)
        errors["covariance"]["clipping"] = _unsure_by(fit.odd, fitted)
    findings = (
        *of_run(enough, measured.converged, curator.size),
        *odd_row_findings(fit.odd, odd / n, odd >= max(MOST_ODD * n, CLEAR * sd)),
        *fit.findings(),
        *_one_sided(fit.odd, errors, fitted),
    )
    noise = replace(core_noise(measured, fitted), patterns=(row_tuples(unsure * np.array(fitted.covariance)),))
    notes = left_out(curator.size, counted.rows, counted.sd)
    return GaussianResult(fitted, findings, errors, facts, notes, (odd / n, sd / n), noise)


def of_run(enough: bool, settled: bool, size: Size) -> tuple[Finding, ...]:
    """Find what makes all numbers of a run doubtful.

    Args:
        enough: whether there are rows enough for the budget.
        settled: whether the rounds converged.
        size: of the table.
    """
    findings = []
    if not settled:
        remedy = "more public rows, or a larger budget"
        findings.append(Finding("rounds-unsettled", (), DOUBTFUL, "the rounds did not converge", remedy=remedy))
    if not enough:
        text = "too few private rows for this budget: the estimate may be noise"
        findings.append(Finding("few-rows", (), DOUBTFUL, text, remedy="more rows, fewer columns or a larger budget"))
    return *findings, *of_persons(size)


def odd_row_findings(odd: OddRows, share: float, many: bool) -> tuple[Finding, ...]:
    """Find that odd rows were left out; too many of them make all numbers doubtful."""
    if not (odd.seen or many):
        return ()
    text = f"about {share:.2g} of the private rows are further out than Gaussian rows are, and are left out"
    if many:
        text += "; others that belong to them are likely to lie among the rest"
    severity, remedy = DOUBTFUL if many else NOTE, "the target moments counts them in"
    return (Finding("odd-rows", (), severity, text, {"share": share}, remedy=remedy),)


def core_noise(measured: Measured, fitted: Fitted) -> NoiseLaw:
    """Give the law of the noise in an estimate that was debiased and pooled with public rows."""
    d = len(measured.mean)
    place, law = mean_constants(d, measured.radius), moment_constants(d, measured.radius)
    center, matrix = measured.frame.dense()
    return NoiseLaw(
        frame=row_tuples(matrix),
        center=tuple(center.tolist()),
        sd_mean=measured.mean_sd / place.slope,
        sd_moment=measured.moment_sd,
        shape=law.shape,
        trace=law.trace,
        pooled=(fitted.mean_weight, fitted.covariance_weight),
        stretch=(1.0,) * d,
        lost=row_tuples(np.zeros((d, d))),
    )


def _unsure_by(odd: OddRows, fitted: Fitted) -> np.ndarray:
    """Give what is not known (d, d) of what odd rows add to a covariance where they lie among the others."""
    sds = np.sqrt(np.diag(np.array(fitted.covariance)))
    return np.asarray(math.hypot(odd.unsure, odd.one_column / math.sqrt(len(sds))) * np.outer(sds, sds))


def _one_sided(odd: OddRows, errors: dict[str, Any], fitted: Fitted) -> tuple[Finding, ...]:
    """Find that odd rows that lie together may move a column by clearly more than all other errors."""
    parts = (np.diag(errors["covariance"][part]) for part in ("sampling", "privacy"))
    others = np.hypot(*parts) / np.diag(np.array(fitted.covariance))
    if odd.one_column <= SURER * float(np.median(others)):
        return ()
    text = (
        "odd rows that lie together are among the others, too: the variance of one column may be too large by up to "
        f"{odd.one_column:.1%}, and its mean off"
    )
    remedy = "look for a group of its own among the rows, or for values that stand for missing ones"
    return (Finding("odd-rows-together", (), DOUBTFUL, text, {"variance": odd.one_column}, remedy=remedy),)


def _rescaled(size: Size, measured: Measured, fitted: Fitted, fit: BulkFit) -> tuple[Fitted, float]:
    """Take out of the covariance what rounding, a wrong number of rows and odd rows add; public rows have none of it.

    Returns:
        The estimate, and the sd of its scale by the number of rows.
    """
    records, sd = _recounted(size, measured, fit)
    law, own = moment_constants(len(measured.mean), measured.radius), 1 - fitted.covariance_weight
    gain = own * law.level / law.trace  # of variances, by what clipped rows have more
    more = fit.rounding - (measured.records - records) / records
    factor = (1 - gain * more) * (1 - own * fit.odd.among / (1 + fit.odd.among))
    covariance = row_tuples(factor * np.array(fitted.covariance))
    return replace(fitted, covariance=covariance), gain * sd / records


def _recounted(size: Size, measured: Measured, fit: BulkFit) -> tuple[float, float]:
    """Count the rows that are no further out than Gaussian ones by all counts that there are, with the sd of its noise.

    In many columns the last release alone does not know them to one in a hundred; and as half of such rows are clipped,
    an error in their number is twice that in variances.
    """
    (inside, sd), (odd, _) = measured.counted, measured.beyond
    if not sd:
        return measured.records, 0.0
    counts = [(inside, sd), fit.inside]
    if not size.sd and inside + odd > size.rows - SURELY * math.sqrt(2) * sd:  # no row lacks a value
        counts.append((size.rows - odd, sd))
    weights = np.array([1 / noise**2 for _, noise in counts])
    noise = 1 / math.sqrt(weights.sum())
    found = float(weights @ [count for count, _ in counts]) * noise**2
    records = size.counted(found, noise, LEFT_OUT, least=LEFT_OUT * noise)
    if not size.sd:
        return records, 0.0 if records == size.rows else noise
    return records, 1 / math.sqrt(1 / noise**2 + 1 / size.sd**2)


def debiased_facts(measured: Measured, fitted: Fitted) -> dict[str, Any]:
    """How far the release was from what it should be, what noise adds, and what public rows weigh."""
    d = len(measured.mean)
    return {
        "deviation": measured.deviation,
        "expected_deviation": measured.expected,
        "predicted_ratio": {
            "covariance": measured.expected / math.sqrt(d * (d + 1) / measured.records),
            "mean": measured.expected_mean / math.sqrt(d / measured.records),
        },
        "weight_of_public_rows": {"mean": fitted.mean_weight, "covariance": fitted.covariance_weight},
    }


def standard_errors(measured: Measured, fitted: Fitted, m: int) -> dict[str, Any]:
    """{"mean" (d,), "covariance" (d, d)}: {"sampling", "privacy"}, in the table's units.

    Args:
        measured: the final release.
        fitted: the estimate made of it.
        m: public rows; without any their weights are zero.
    """
    m = max(m, 2)
    covariance = np.array(fitted.covariance)
    d, n = len(covariance), measured.records
    place, law = mean_constants(d, measured.radius), moment_constants(d, measured.radius)
    colour = np.linalg.inv(measured.frame.dense()[1])
    own = np.diag(covariance)
    p, q = fitted.mean_weight, fitted.covariance_weight
    sampling = entry_variances(
        covariance, law.shape_variance / (n * law.shape**2), law.trace_variance / (n * law.trace**2)
    )
    noise = entry_variances(
        colour @ colour.T, (measured.moment_sd / law.shape) ** 2, (measured.moment_sd / law.trace) ** 2
    )
    public = np.outer(own, own) + covariance**2
    return {
        "mean": {
            "sampling": np.sqrt(own * ((1 - p) ** 2 * place.variance / (place.slope**2 * n) + p**2 / m)),
            "privacy": (1 - p) * np.sqrt((colour**2).sum(axis=1)) * measured.mean_sd / place.slope,
        },
        "covariance": {
            "sampling": np.sqrt((1 - q) ** 2 * sampling + q**2 * public / (m - 1)),
            "privacy": (1 - q) * np.sqrt(noise),
        },
    }


def plain_errors(
    fitted: Fitted, n: int, mean_noise: tuple[np.ndarray, float], moment_noise: tuple[np.ndarray, float]
) -> dict[str, Any]:
    """The same for an estimate without debiasing or pooling: each noise is (colour G (d, d), sd in its coordinates)."""
    covariance = np.array(fitted.covariance)
    own = np.diag(covariance)
    (mean_colour, mean_sd), (colour, sd) = mean_noise, moment_noise
    return {
        "mean": {"sampling": np.sqrt(own / n), "privacy": np.sqrt((mean_colour**2).sum(axis=1)) * mean_sd},
        "covariance": {
            "sampling": np.sqrt((np.outer(own, own) + covariance**2) / n),
            "privacy": np.sqrt(entry_variances(colour @ colour.T, sd * sd, sd * sd)),
        },
    }
