"""The target `gaussian` of a table with missing cells: all rows count, by what their cells tell."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.frames import Frame
from pubpriv.estimators._lengths import beyond_share
from pubpriv.estimators.gaussian._incomplete_rounds import (
    IncompletePlan,
    count_completed,
    measure_completed,
    walk_completed,
)
from pubpriv.estimators.gaussian._information import Information
from pubpriv.estimators.gaussian._learner import Fitted, Measured, pool
from pubpriv.estimators.gaussian._missing_cells import end_without_cells, of_columns, sentence, unseen_pair
from pubpriv.estimators.gaussian._odd_rows import CLEAR, OddRows, tolerant_weights
from pubpriv.estimators.gaussian._pattern_law import PatternLaw, count_patterns
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
from pubpriv.estimators.gaussian._shells import BINS_INSIDE, Histogram, gaussian_end
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse


def estimate_incomplete(
    run: Execution,
    preconditioner: Preconditioner,
    plan: IncompletePlan,
    purse: Purse,
    columns: tuple[str, ...],
    enough: Callable[[int], None] | None,
) -> GaussianResult:
    """Estimate from all rows, once whole rows are counted: patterns, rounds, a last release, and a check of lengths.

    Args:
        run: the run.
        preconditioner: of the public rows.
        plan: the questions.
        purse: purse of the run.
        columns: names.
        enough: refuses too few rows.
    """
    center, whitening, _ = preconditioner.arrays
    start = Frame.of(center, whitening)
    law = run(count_patterns, start, plan.some, plan.patterns)
    end_without_cells(law, run.curator.size, run.curator.columns, enough)
    position, plan = walk_completed(run, start, preconditioner.typical_radius, plan, law)
    measured = run(measure_completed, position, plan.final, law)
    fitted = run(pool, preconditioner, measured)
    whitened = np.linalg.inv(np.linalg.cholesky(np.array(fitted.covariance)))
    histogram = run(count_completed, Frame.of(np.array(fitted.mean), whitened), measured.records, plan.histogram)
    fit = run(judge_completed, histogram, measured)
    return _result(run.curator, preconditioner, measured, plan, purse, fitted, fit, law, columns)


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
        *unseen_pair(least, law, columns),
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
        "missing": of_columns(law, information, colour, columns, measured.records) | {"information": least},
        "rounds": [ask.label for ask in plan.asks],
    }
    return GaussianResult(fitted, findings, errors, facts, (sentence(law),), (odd / n, sd / n))


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
