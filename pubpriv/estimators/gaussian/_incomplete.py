"""The target `gaussian` of a table with missing cells: all rows count, by what their cells tell.

What a release can be right about is said with it: cells that are missing for reasons that observed columns show do no
harm; whether the reasons are the missing values themselves, no number of the table can show.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.frames import Frame
from pubpriv.data.questions.radial import GAUSSIAN, bounding_sd
from pubpriv.data.regions import Shells
from pubpriv.errors import InvalidInput
from pubpriv.estimators._lengths import beyond_share
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._incomplete_rounds import (
    IncompletePlan,
    completed,
    measure_completed,
    walk_completed,
)
from pubpriv.estimators.gaussian._information import Information
from pubpriv.estimators.gaussian._learner import Fitted, Measured, pool
from pubpriv.estimators.gaussian._odd_rows import CLEAR, OddRows, tolerant_weights
from pubpriv.estimators.gaussian._pattern_law import MOST_COLUMNS, PatternLaw, count_patterns
from pubpriv.estimators.gaussian._plan import feasible
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._results import (
    MOST_ODD,
    BulkFit,
    GaussianResult,
    debiased_facts,
    odd_row_findings,
    of_run,
)
from pubpriv.estimators.gaussian._shells import BINS_INSIDE, Histogram, gaussian_end, histogram_question
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse
from pubpriv.released.findings import DOUBTFUL, Finding

_UNSEEN = 0.05
"""Least part of the information of a covariance that must be there: below it a release would be the rounds' guess."""


def check_estimated(curator: Curator, d: int) -> None:
    """Refuse what is not measured yet where missing cells are estimated.

    Raises:
        InvalidInput: persons, periods, a pure budget, or too many columns; the message says so.
    """
    why = ""
    if curator.budget.noise_law != GAUSSIAN:
        why = "the noise is Gaussian: take a zcdp or an approx budget"
    elif curator.size.sd or not curator.asks_of_samples:
        why = "the unit of the dataset is a row, and all rows are asked"
    elif d > MOST_COLUMNS:
        why = f"there are at most {MOST_COLUMNS} columns, not {d}"
    elif curator.groups is not None:
        why = "there are no groups"
    if why:
        raise InvalidInput(
            f"missing cells are estimated where {why}. With missing=drop rows that lack one are left out"
        )


def estimate_incomplete(
    run: Execution, preconditioner: Preconditioner, plan: IncompletePlan, purse: Purse, columns: tuple[str, ...]
) -> GaussianResult:
    """Estimate from all rows, once whole rows are counted: patterns, rounds, a last release, and a check of lengths."""
    center, whitening, _ = preconditioner.arrays
    start = Frame.of(center, whitening)
    law = run(count_patterns, start, plan.some, plan.patterns)
    position, plan = walk_completed(run, start, preconditioner.typical_radius, plan, law)
    measured = run(measure_completed, position, plan.final, law)
    fitted = run(pool, preconditioner, measured)
    whitened = np.linalg.inv(np.linalg.cholesky(np.array(fitted.covariance)))
    histogram = run(count_completed, Frame.of(np.array(fitted.mean), whitened), measured.records, plan.histogram)
    fit = run(judge_completed, histogram, measured)
    return _result(run.curator, preconditioner, measured, plan, purse, fitted, fit, law, columns)


@step(title="histogram of completed lengths", private=True)
def count_completed(curator: Curator, frame: Frame, records: float, ask: Ask) -> Histogram:
    """Count completed rows by |w|; see `count_lengths`.

    Privacy: one `Completed` `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(completed(histogram_question(frame, records, ask), frame), ask.label)
    partition = answer.question.partition
    assert isinstance(partition, Shells)
    return Histogram(partition.edges, tuple(answer.values["count"].tolist()), bounding_sd(answer.question, "count"))


@step(title="tail of completed rows")
def judge_completed(histogram: Histogram, measured: Measured) -> BulkFit:
    """Give the probability of so many long rows, or fewer, if the rows are a Gaussian's.

    Which rows lack cells may depend on the cells that they have, so no law of lengths follows for the completed ones.
    But none is longer than the complete row was: of a Gaussian's rows, at most as many are beyond a length as of
    complete ones, whatever is missing. So long tails show, other departures do not.
    """
    from scipy.special import ndtr

    edges, records = np.array(histogram.edges)[:BINS_INSIDE], measured.records
    counts = np.array(histogram.counts)[1 : BINS_INSIDE + 1]
    beyond = np.cumsum(counts[::-1])[::-1]
    most = records * np.array([beyond_share(len(measured.mean), float(edge)) for edge in edges])
    noise = histogram.sd * np.sqrt(np.arange(len(edges), 0, -1))
    sds = np.hypot(noise, 1 / np.sqrt(tolerant_weights(most, 0.0, records)))
    chance = float(ndtr(-((beyond - most) / sds).max())) * len(edges)
    odd, sd = measured.beyond
    return BulkFit(min(chance, 1.0), (float(counts.sum()), histogram.sd), OddRows(odd > CLEAR * sd), 0.0)


def _result(
    curator: Curator,
    preconditioner: Preconditioner,
    measured: Measured,
    plan: IncompletePlan,
    purse: Purse,
    fitted: Fitted,
    fit: BulkFit,
    law: PatternLaw,
    columns: tuple[str, ...],
) -> GaussianResult:
    """Make the outcome, with errors by the information that the observed cells have."""
    d, n = preconditioner.dimension, float(curator.size.rows)
    colour = np.linalg.inv(measured.frame.dense()[1])
    information = Information.of(law, colour, measured.radius)
    least = information.least()
    errors = _errors(measured, fitted, information, colour, preconditioner.m, law.rows_sd)
    enough = feasible(measured.records * least, d, purse)
    (odd, sd), end = measured.beyond, gaussian_end(n, d)
    many = odd >= max(MOST_ODD * n, CLEAR * sd)
    findings = (
        *of_run(enough, measured.converged, curator.size),
        *_unseen_pair(least, law, columns),
        *odd_row_findings(fit.odd, odd / n, many),
        *fit.findings(),
    )
    facts = {
        "whole_rows": measured.records * law.cells()[-1],
        "clip_radius": measured.radius,
        "feasible": enough,
        **debiased_facts(measured, fitted),
        "fit": fit.chance,
        "could_hide": {"rows": math.ceil(CLEAR * sd), "beyond": end},
        "missing": _of_columns(law, information, colour, columns, measured.records) | {"information": least},
        "rounds": [ask.label for ask in plan.asks],
    }
    return GaussianResult(fitted, findings, errors, facts, (_sentence(law),), (odd / n, sd / n))


def _errors(
    measured: Measured, fitted: Fitted, information: Information, colour: np.ndarray, m: int, rows_sd: float
) -> dict[str, Any]:
    """{"mean" (d,), "covariance" (d, d)}: {"sampling", "privacy"}, in the table's units; see `_results`.

    All moments are divided by a number of rows that is known to within the sd `rows_sd`.
    """
    covariance, n = np.array(fitted.covariance), measured.records
    own, p, q = np.diag(covariance), fitted.mean_weight, fitted.covariance_weight
    sampled, noisy = information.mean_variances(colour, n, measured.mean_sd)
    spread = np.array(measured.covariance)
    values, vectors = np.linalg.eigh(spread)
    rows = colour @ ((vectors * np.sqrt(values)) @ vectors.T)
    sampled_second, noisy_second = information.moment_variances(rows, n, measured.moment_sd, colour)
    _, scale = information.solved(np.zeros(len(own)), information.level * (1 + rows_sd / n))
    noisy_second = noisy_second + (colour @ scale @ colour.T) ** 2
    public = np.outer(own, own) + covariance**2
    return {
        "mean": {
            "sampling": np.sqrt((1 - p) ** 2 * sampled + p**2 * own / m),
            "privacy": (1 - p) * np.sqrt(noisy),
        },
        "covariance": {
            "sampling": np.sqrt((1 - q) ** 2 * sampled_second + q**2 * public / max(m - 1, 1)),
            "privacy": (1 - q) * np.sqrt(noisy_second),
        },
    }


def _unseen_pair(least: float, law: PatternLaw, columns: tuple[str, ...]) -> tuple[Finding, ...]:
    """Find that the information of some covariance is next to nothing, and name the columns that fewest rows have."""
    if least >= _UNSEEN:
        return ()
    has, shares = law.arrays
    together = (has.T * shares) @ has
    lone = int(np.argmin(np.diag(together)))
    pair = np.unravel_index(int(np.argmin(together)), together.shape)
    rare = {lone} if together[lone, lone] < _UNSEEN else {int(each) for each in pair}
    names = tuple(columns[i] for i in sorted(rare))
    text = (
        f"few rows have {' and '.join(names)}{' together' if len(names) > 1 else ''}: what is said of that is a guess"
    )
    remedy = "leave one of them out, or ask the rows that have it by themselves"
    return (Finding("unseen-pair", names, DOUBTFUL, text, {"information": least}, remedy=remedy),)


def _of_columns(
    law: PatternLaw, information: Information, colour: np.ndarray, columns: tuple[str, ...], n: float
) -> dict[str, Any]:
    """Tell of each column the share that is missing, and of how many complete rows its mean would be as certain."""
    sampled, _ = information.mean_variances(colour, n, 0.0)
    whole = Information.of(_whole(law), colour, 1e3 * math.sqrt(len(columns)))
    best, _ = whole.mean_variances(colour, n, 0.0)
    effective = n * np.minimum(best / sampled, 1.0)
    return {
        "columns": {
            name: {"share": share, "sd": law.sd, "effective_rows": float(rows)}
            for name, share, rows in zip(columns, law.columns, effective, strict=True)
        }
    }


def _whole(law: PatternLaw) -> PatternLaw:
    return replace(law, missing=((),), shares=(1.0,))


def _sentence(law: PatternLaw) -> str:
    """Say what was done, and what it is right about."""
    share = 1 - law.cells()[-1]
    return (
        f"about {share:.3g} of the private rows lack some cells; these rows are used, and what they lack is estimated "
        "from their other cells. That is right if what is missing depends on the columns here; whether it also depends "
        "on the missing values themselves, no number here can show"
    )
