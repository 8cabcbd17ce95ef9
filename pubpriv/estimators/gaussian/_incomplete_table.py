"""The targets `moments` and `auto` of a table with missing cells: all rows count, by what their cells tell.

Rounds whiten, a histogram of completed lengths decides where the last release is cut, and shells are measured, as of
whole rows (`_table_driver`), with completed questions. No law of lengths follows for completed rows, so a Gaussian's
shape restores nothing, under `auto` either. Radii are as much larger as what missing cells leave uncertain needs, so in
the core nothing is clipped, and its sum over shells is the E step of EM for rows of any law: with E[w | observed] =
Pi w, linear in the row, the second moment is I + M (Sigma_w - I) if cells are missing completely at random, whatever
the rows' law. Newton's step solves that (`_information`), so the estimate is that of the table's mean and covariance
there; where what is missing depends on observed columns, as far as columns depend on each other in straight lines.

Sampling errors are those of Gaussian rows with such cells, each times what the fourth moments of the column show over
what they would be. A column's completed values have the share R_o^2 of its variance where it is missing and the columns
o are there, so for Gaussian rows their fourth moment is 3 times the mean of R_o^4, and the variance of what a row adds
2 times that; for others kappa of it, the fourth moment over that mean, less 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import CompletedGram
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._whole_rows import count_question
from pubpriv.estimators.asks import Ask, Blank
from pubpriv.estimators.gaussian._cutting import cut
from pubpriv.estimators.gaussian._degenerate_columns import Layout
from pubpriv.estimators.gaussian._incomplete_rounds import completed, count_completed, law_shares, walk_completed
from pubpriv.estimators.gaussian._information import Information, observed_parts
from pubpriv.estimators.gaussian._learner import LEAST_VARIANCE, Fitted, final_rho
from pubpriv.estimators.gaussian._missing_cells import end_without_cells, unclipped
from pubpriv.estimators.gaussian._pattern_law import PatternLaw, count_patterns
from pubpriv.estimators.gaussian._plan import TablePlan, rounds_of, shells_question, split_with_final, table_shares
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._public_shape import public_shape
from pubpriv.estimators.gaussian._shell_reading import CoreRead, ShellMoments
from pubpriv.estimators.gaussian._shells import Cut, Fourths, fourth_question, fourths_of
from pubpriv.estimators.gaussian._table_moments import Outside, error_parts, fourth_of_columns, read_outside
from pubpriv.estimators.gaussian._table_release import Known, Table, shell_moments
from pubpriv.estimators.matrices import entry_variances, floored
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse

_SELDOM = 0.01
"""The room of a radius is for what rows leave uncertain that lack fewer cells than this share of the rows: the longest
of these are clipped a little."""

_MARGIN = 1e-3
"""Part of a squared radius that rounding to integers may need."""

_LEAST_RATIO = 0.05
"""Least variance of a column's square, over a Gaussian's."""


@public_value
@dataclass(frozen=True, kw_only=True)
class IncompleteTablePlan(TablePlan):
    """The questions of the target `moments` or `auto` where rows with missing cells are completed.

    Attributes:
        some: ask for the number of rows that have some cell.
        patterns: ask for the law of the patterns of missing cells.
    """

    some: Ask
    patterns: Ask


def incomplete_table_plan(purse: Purse, n: int, layout: Layout, of_mean: bool = False) -> IncompleteTablePlan:
    """Make the plan for n rows; its first question is that of `table_plan`, at the same price, as is the sum."""
    frame = Frame((0.0,) * layout.dimension)

    def of_completed(blank: Blank) -> Blank:
        return lambda ask: completed(blank(ask), frame)  # type: ignore[arg-type]

    whole, last = table_shares(purse, n, layout, "moments", of_mean)
    shares = {"count": (whole.pop("count")[0], count_question), **law_shares(frame)}
    shares |= {name: (share, of_completed(blank)) for name, (share, blank) in whole.items()}
    asks = split_with_final(purse, shares, of_completed(last))
    return IncompleteTablePlan(
        asks=tuple(asks.values()),
        rounds=rounds_of(asks),
        final=asks["final"],
        count=asks["count"],
        scales=(),
        histogram=asks["histogram"],
        fourth=asks["fourth"],
        far=None,
        may_be_gaussian=False,
        of_mean=of_mean,
        some=asks["some"],
        patterns=asks["patterns"],
    )


@dataclass(frozen=True)
class IncompleteTable:
    """What a run knows of a table with missing cells.

    Attributes:
        known: before the last release.
        table: the release.
        law: of the patterns of missing cells.
        plan: as it was followed.
    """

    known: Known
    table: Table
    law: PatternLaw
    plan: IncompleteTablePlan


def measure_incomplete(
    run: Execution,
    rows: PublicTable,
    preconditioner: Preconditioner,
    plan: IncompleteTablePlan,
    of_mean: bool,
    enough: Callable[[int], None] | None,
) -> IncompleteTable:
    """Ask for patterns, rounds, lengths and shells, once whole rows are counted.

    Args:
        run: the run.
        rows: public rows.
        preconditioner: their preconditioner.
        plan: the questions.
        of_mean: whether only the mean is reported.
        enough: refuses too few rows.
    """
    center, whitening, _ = preconditioner.arrays
    start = Frame.of(center, whitening)
    law = run(count_patterns, start, plan.some, plan.patterns)
    end_without_cells(law, run.curator.size, run.curator.columns, enough)
    position, plan = walk_completed(run, start, preconditioner.typical_radius, plan, law)
    frame, records = position.frame, law.rows
    histogram = run(count_completed, frame, records, plan.histogram)
    shape = run(public_shape, rows, False)
    rho = final_rho(plan.theta(frame.dimension), plan.final.rho)
    where = run(cut, histogram, frame, records, rho, False, shape, None, position.accuracy)
    fourths = run(completed_fourths, frame, where, records, plan.fourth)
    known = Known(preconditioner, frame, position.accuracy, where, histogram, fourths, (), shape, records)
    table = run(measure_completed_shells, known, plan.final, law, of_mean)
    return IncompleteTable(known, table, law, plan)


@step(title="fourth moments of completed rows", private=True)
def completed_fourths(curator: Curator, frame: Frame, where: Cut, records: float, ask: Ask) -> Fourths:
    """Release fourth moments of the columns of completed rows; see `fourth_moments`.

    Privacy: one `Completed` `FourthMoments`, mu^2 at most ask.price.
    """
    return fourths_of(curator.release(completed(fourth_question(frame, where, ask), frame), ask.label), where, records)


@step(title="final release of completed rows in shells", private=True)
def measure_completed_shells(curator: Curator, known: Known, ask: Ask, law: PatternLaw, of_mean: bool = False) -> Table:
    """Release count, sum and second moment of each shell of completed rows, and solve them by one step of Newton.

    Privacy: one `CompletedGram`, mu^2 at most ask.price.
    """
    where, parts = with_room(known.where, law)
    question = shells_question(known.frame, where, ask, TablePlan.counted, of_mean)
    answer = curator.release(CompletedGram.of(question, known.frame, 1.0, parts), ask.label)
    moments = shell_moments(answer, known.records)
    return _read(replace(known, frame=answer.question.frames[0], where=where), moments, law)


def with_room(where: Cut, law: PatternLaw) -> tuple[Cut, tuple[float, ...]]:
    """Make the radii of a cut so much larger that in the core no row is clipped, but for those with very few cells.

    Returns:
        The cut, and the part of a radius to which rows of 1 to d cells are clipped: a row with q missing cells has room
        for a squared length of R^2 - sqrt(q).
    """
    d, core = len(law.columns), where.radii[0]
    lacking = d - 1 - np.arange(d)
    lack_more = np.cumsum(law.cells())  # share of the rows that have at most 1 to d cells
    usual = int(lacking[lack_more >= _SELDOM].max())
    growth = math.sqrt((1 + math.sqrt(usual) / core**2) / (1 - _MARGIN))
    radius = growth * core
    room = 1 - _MARGIN - np.sqrt(lacking) / radius**2
    parts = np.sqrt(np.maximum(room, _MARGIN))
    wider = replace(where, radii=tuple(growth * each for each in where.radii))
    return wider, (*np.minimum(parts[:-1], 1.0).tolist(), 1.0)


@dataclass(frozen=True)
class _Step:
    """Newton's step from moments of completed rows, and by how much it enlarges errors.

    Attributes:
        mean, covariance: of w, (d,) and (d, d).
        mean_gain, gain: variances (d,) and (d, d) of noise in the result over those in the moments.
        widest: the same of a typical entry in w, root mean square.
    """

    mean: np.ndarray
    covariance: np.ndarray
    mean_gain: np.ndarray
    gain: np.ndarray
    widest: float

    @classmethod
    def of(
        cls,
        information: Information,
        colour: np.ndarray,
        mean: np.ndarray,
        second: np.ndarray,
        ridge: tuple[float, float],
    ) -> "_Step":
        """Take it from the mean (d,) and second moment (d, d) of completed w; `colour` is the inverse of the frame."""
        d = len(mean)
        moved, excess = information.solved(mean, second, ridge)
        _, for_mean = information.mean_variances(colour, 1.0, 1.0)
        _, for_second = information.moment_variances(colour, 1.0, 1.0, colour)
        gram, inverse = colour @ colour.T, np.linalg.inv(information.moment)
        return cls(
            moved,
            np.eye(d) + excess - np.outer(moved, moved),
            for_mean / np.diag(gram),
            for_second / entry_variances(gram, 1.0, 1.0),
            float(np.linalg.norm(inverse)) / math.sqrt(len(inverse)),
        )


@np.errstate(over="ignore", invalid="ignore")  # refused by check_held
def _read(known: Known, moments: ShellMoments, law: PatternLaw) -> Table:
    """Compute mean and covariance from a release in shells of completed rows."""
    frame, where, n = known.frame, known.where, moments.records
    center, matrix = frame.dense()
    colour, d = np.linalg.inv(matrix), frame.dimension
    core_sds = float(moments.mean_sds[0]), float(moments.second_sds[0])
    information = unclipped(law, colour)
    unsure = np.eye(d) - information.mean_variance
    of_rows = moments.rows[1:, None, None] / n * unsure
    # lengths of shells are those of the rows as completed, without what is uncertain
    bare = replace(moments, seconds=np.concatenate([moments.seconds[:1], moments.seconds[1:] - of_rows]))
    share = min(max(float(moments.rows[0]) / n, 0.5), 1.0)
    middle = moments.means[0] / share
    around = moments.seconds[0] - share * np.outer(middle, middle)
    outside = read_outside(CoreRead(bare, known.histogram, where, around, middle, frame, known.shape))
    last = outside.tail.last
    mean = moments.means[0] + outside.mean
    apart = mean - middle
    spread = around + outside.second + of_rows[:last].sum(axis=0) - np.outer(apart, apart)
    before = max(known.accuracy, 1e-9) / math.sqrt(d * (d + 1) / 2)
    ridge = (core_sds[0] / before) ** 2, (core_sds[1] / before) ** 2
    found = _Step.of(information, colour, mean, spread + np.outer(mean, mean), ridge)
    edge = math.sqrt((core_sds[1] ** 2 + outside.left) * 2 * d) * found.widest
    covariance = floored(found.covariance, min(LEAST_VARIANCE, edge))
    fitted = Fitted.of(center + colour @ found.mean, colour @ covariance @ colour.T)
    fourth = fourth_of_columns(outside, moments.seconds[0] - share * unsure, known.fourths, where, matrix)
    errors = _errors(np.array(fitted.covariance), fourth, outside, core_sds, found, law, n, matrix)
    return Table.of(
        fitted,
        errors,
        outside,
        colour,
        edge=edge,
        weakest=float(np.linalg.eigvalsh(found.covariance)[0]),
        trace=float(np.trace(spread)),
        average=float(np.trace(covariance)) / d,
    )


def _errors(
    covariance: np.ndarray,
    fourth: np.ndarray,
    outside: Outside,
    core_sds: tuple[float, float],
    found: _Step,
    law: PatternLaw,
    n: float,
    matrix: np.ndarray,
) -> dict[str, dict[str, np.ndarray]]:
    """Compute standard errors, in the table's units; see `error_parts`, and the top of this file."""
    root = np.linalg.cholesky(covariance)
    # fourth moments of completed values are held against variances that make them a Gaussian's where they are
    scale = np.sqrt(observed_parts(law, root))  # R_o^4, root of its mean
    as_seen = covariance * np.sqrt(np.outer(scale, scale))
    parts = error_parts(as_seen, fourth, outside, core_sds, n, matrix)
    own = np.diag(as_seen)
    ratio = parts["covariance"]["sampling"] ** 2 * n / (np.outer(own, own) + as_seen**2)
    standard = unclipped(law, root)
    of_mean, _ = standard.mean_variances(root, n, 0.0)
    of_second, _ = standard.moment_variances(root, n, 0.0, root)
    rows = law.rows_sd / n
    noise = found.gain * parts["covariance"]["privacy"] ** 2 + (rows * covariance) ** 2
    return {
        "mean": {
            "sampling": np.sqrt(of_mean),
            "privacy": np.sqrt(found.mean_gain) * parts["mean"]["privacy"],
            "clipping": np.sqrt(found.mean_gain) * parts["mean"]["clipping"],
        },
        "covariance": {
            "sampling": np.sqrt(of_second * np.maximum(ratio, _LEAST_RATIO)),
            "privacy": np.sqrt(noise),
            "clipping": np.sqrt(found.gain) * parts["covariance"]["clipping"],
        },
    }
