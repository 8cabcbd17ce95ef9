"""Rounds where rows with missing cells are completed, and the last release of the target `gaussian`.

They are the learner's, see `_learner`, with completed questions: each is the score of the observed-data likelihood at
the current map, which Newton's step solves with the information that the observed cells have (`_information`). Far from
standard coordinates a round takes the step of EM instead, whose inverse of the clipping holds there.

Source: EM for incomplete Gaussian rows is that of Dempster, Laird and Rubin 1977; completed moments under privacy, and
the step, are ours.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection, Completed, CompletedGram, Counts, FourthMoments, LiftedGram
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Shells
from pubpriv.estimators._whole_rows import COUNT_SHARE, count_question
from pubpriv.estimators.asks import Ask, Blank
from pubpriv.estimators.gaussian._all_rows import shells_of_round, whitened_by_all
from pubpriv.estimators.gaussian._information import Information, completed_clips
from pubpriv.estimators.gaussian._learner import (
    LEAST_VARIANCE,
    LEFT_OUT,
    MISSED,
    WIDENING,
    ClippedMoments,
    Measured,
    Position,
    final_radius,
    has_settled,
    moments_of,
)
from pubpriv.estimators.gaussian._pattern_law import PatternLaw, patterns_question, some_cell_question
from pubpriv.estimators.gaussian._plan import (
    CHECK_SHARE,
    AnyPlan,
    LearnerPlan,
    all_rows_question,
    final_question,
    joint_question,
    radius_question,
    round_shares,
    rounds_of,
    split_with_final,
)
from pubpriv.estimators.gaussian._shells import Histogram, gaussian_end, histogram_question
from pubpriv.estimators.gaussian.clipping import median_norm_squared, unclip_variances
from pubpriv.estimators.matrices import floored
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse, percent

_ROWS_SHARE = percent(1)
"""Share of the count of rows that have some cell, by which all moments are divided: variances are off as it is."""

_PATTERNS_SHARE = percent(2)
"""Share of the law of patterns in the budget: errors in it cost speed, not correctness."""

_STANDARD = 0.6
"""Newton's step is taken where no eigenvalue of the released moment is further from standard than this part of it."""

_LEAST_STEP, _MOST_STEP = 0.05, 8.0
"""Bounds of the variances by which one round's step of Newton scales the map."""


@public_value
@dataclass(frozen=True)
class IncompletePlan(LearnerPlan):
    """The questions of the learner where rows with missing cells are completed.

    Attributes:
        some: ask for the number of rows that have some cell.
        patterns: ask for the law of the patterns of missing cells.
    """

    some: Ask
    patterns: Ask


def completed(question: Bisection | Counts | FourthMoments | LiftedGram, fill: Frame) -> Completed | CompletedGram:
    """Ask the same of rows that are completed by the Gaussian of `fill`, at the same price."""
    if isinstance(question, LiftedGram):
        return CompletedGram.of(question, fill, *completed_clips(fill.dimension, question.radii[0]))
    return Completed(question, fill)


def law_shares(fill: Frame) -> dict[str, tuple[Fraction, Blank]]:
    """Give the shares of what is asked of missing cells before the rounds, with the makers of their questions."""
    return {
        "some": (_ROWS_SHARE, partial(some_cell_question, fill)),
        "patterns": (_PATTERNS_SHARE, partial(patterns_question, fill.dimension)),
    }


def incomplete_plan(purse: Purse, n: int, d: int) -> IncompletePlan:
    """Make the plan for n rows of d columns; its first question is that of the learner's plan, at the same price."""
    frame = Frame((0.0,) * d)

    def of_completed(blank: Blank) -> Blank:
        return lambda ask: completed(blank(ask), frame)  # type: ignore[arg-type]

    shares = {"count": (COUNT_SHARE, count_question), **law_shares(frame)}
    shares |= {name: (share, of_completed(blank)) for name, (share, blank) in round_shares(n, d, purse, frame).items()}
    shares["histogram"] = CHECK_SHARE, of_completed(partial(histogram_question, frame, float(n)))
    asks = split_with_final(purse, shares, of_completed(partial(final_question, frame, 1.0, 1.0)))
    histogram = asks.pop("histogram")
    ordered = (*asks.values(), histogram)
    own = asks["some"], asks["patterns"]
    return IncompletePlan(ordered, asks["count"], rounds_of(asks), asks["final"], histogram, *own)


def walk_completed(
    run: Execution, start: Frame, typical: float, plan: AnyPlan, law: PatternLaw
) -> tuple[Position, AnyPlan]:
    """Run the rounds of `plan` from the map `start`, under which the median of |w| is about `typical`; see `walk`."""
    position, asked = Position(start, law.rows), 0
    for number, asks in enumerate(plan.rounds):
        last = number == len(plan.rounds) - 1
        if position.settled and not last:
            continue
        here, of_all = run.at(f"{number + 1} of {len(plan.rounds)}"), last and plan.whitens_all
        position = here(approach_completed, position, typical, WIDENING[number], asks, law, of_all)
        typical, asked = law.median_length(), asked + 1
    return position, plan.with_rounds(asked - 1)


@step(title="approach with completed rows", private=True)
def approach_completed(
    curator: Curator,
    position: Position,
    typical: float,
    widening: float,
    asks: tuple[Ask, Ask],
    law: PatternLaw,
    of_all: bool = False,
) -> Position:
    """Run one round: find a map under which the completed records are closer to standard.

    Args:
        curator: the run.
        position: result of the rounds before.
        typical: expected median of |w|.
        widening: clip radius divided by the median length of standard rows.
        asks: for the radius and for the moments.
        law: of the patterns of missing cells.
        of_all: whether to whiten all rows, and not only the inner ones; see `_all_rows`.

    Privacy: a `Completed` `Bisection` and a `CompletedGram`, mu^2 at most the two prices.
    """
    search = radius_question(position.frame, typical, position.records / 2, asks[0])
    answer = curator.release(completed(search, position.frame), asks[0].label)
    center, matrix = answer.question.fill.dense()
    # the conditional covariance is that of the map, so the map gets the records' scale first
    frame = Frame.of(center, matrix / (float(answer.values["quantile"][0]) / law.median_length()))
    median = math.sqrt(median_norm_squared(np.ones(frame.dimension)))
    radius = widening * median
    question = joint_question(frame, radius, LearnerPlan.round_mean, asks[1])
    if of_all:
        shells = shells_of_round(position.records, frame.dimension, radius, median)
        question = all_rows_question(frame, shells, asks[1])
    answer = curator.release(completed(question, frame), asks[1].label)
    moments = moments_of(answer, law.used(curator.size), MISSED)
    information = Information.of(law, np.linalg.inv(moments.frame.dense()[1]), moments.radius)
    accuracy = information.errors(moments.records, moments.mean_sd, moments.moment_sd)[1]
    off = np.abs(np.linalg.eigvalsh(moments.second - information.level)).max()
    standard = bool(off <= _STANDARD * np.trace(information.level) / frame.dimension)
    moved = _moved(moments, *(_newton(moments, information) if standard else _em(moments)))
    if of_all:
        seconds, sds = (part["moment"][1:] / position.records for part in (answer.values, answer.question.noise()))
        return Position(whitened_by_all(moments.frame, moved, seconds, sds.ravel()), moments.records, accuracy)
    settled = standard and has_settled(position.frame, moved, position.accuracy, accuracy)
    return Position(moved, moments.records, accuracy, settled=settled)


def _newton(moments: ClippedMoments, information: Information) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of w by one step of Newton; noise is never taken for shape."""
    shift, excess = information.solved(moments.mean, moments.second)
    inverse = np.linalg.inv(information.mean)
    shift = shift * max(0.0, 1 - float((inverse**2).sum()) * moments.mean_sd**2 / float(shift @ shift))
    edge = min(_edge(moments), 0.5)
    values, vectors = np.linalg.eigh(np.eye(len(shift)) + excess - np.outer(shift, shift))
    return shift, (vectors * np.clip(values, max(edge, _LEAST_STEP), _MOST_STEP)) @ vectors.T


def _em(moments: ClippedMoments) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of w by one step of EM, with the inverse of the clipping of complete rows."""
    length = float(moments.mean @ moments.mean)
    mean = moments.mean * max(0.0, 1 - len(moments.mean) * moments.mean_sd**2 / length)
    values, vectors = np.linalg.eigh(moments.second - np.outer(mean, mean))
    edge = _edge(moments)
    unclipped = np.maximum(unclip_variances(values, moments.radius, edge / 1000), edge)
    return mean, (vectors * unclipped) @ vectors.T


def _edge(moments: ClippedMoments) -> float:
    """Return the largest eigenvalue of the noise alone."""
    return moments.moment_sd * math.sqrt(2 * len(moments.mean))


def _moved(moments: ClippedMoments, mean: np.ndarray, covariance: np.ndarray) -> Frame:
    """Return the map under which records of this mean and covariance of w are standard."""
    center, matrix = moments.frame.dense()
    values, vectors = np.linalg.eigh(covariance)
    return Frame.of(center + np.linalg.solve(matrix, mean), (vectors / np.sqrt(values)) @ vectors.T @ matrix)


@step(title="final release of completed rows", private=True)
def measure_completed(curator: Curator, position: Position, ask: Ask, law: PatternLaw) -> Measured:
    """Make the final release with the map of the rounds, and solve it by one step of Newton.

    Where the observed cells tell less of an entry than the rounds did, it is drawn to what they found.

    Privacy: one `CompletedGram`, mu^2 at most ask.price.
    """
    size, frame = law.used(curator.size), position.frame
    n, d = size.rows, position.frame.dimension
    radius = final_radius(n, d, ask.rho)
    answer = curator.release(completed(final_question(frame, radius, gaussian_end(n, d), ask), frame), ask.label)
    moments = moments_of(answer, size, LEFT_OUT)
    information = Information.of(law, np.linalg.inv(moments.frame.dense()[1]), moments.radius)
    before = max(position.accuracy, 1e-9) / math.sqrt(d * (d + 1) / 2)
    ridge = (moments.mean_sd / before) ** 2, (moments.moment_sd / before) ** 2
    mean, excess = information.solved(moments.mean, moments.second, ridge)
    expected_mean, expected = information.errors(moments.records, moments.mean_sd, moments.moment_sd)
    inside, beyond = answer.values["count"].tolist()
    noise = float(answer.question.noise()["count"].max())
    return Measured(
        frame=moments.frame,
        mean=tuple(mean.tolist()),
        covariance=row_tuples(floored(np.eye(d) + excess - np.outer(mean, mean), LEAST_VARIANCE)),
        records=moments.records,
        radius=moments.radius,
        mean_sd=moments.mean_sd,
        moment_sd=moments.moment_sd,
        deviation=float(np.linalg.norm(excess)),
        expected=expected,
        accuracy=position.accuracy,
        expected_mean=expected_mean,
        counted=(inside, noise),
        beyond=(max(beyond, 0.0), noise),
    )


@step(title="histogram of completed lengths", private=True)
def count_completed(curator: Curator, frame: Frame, records: float, ask: Ask) -> Histogram:
    """Count completed rows by |w|; see `count_lengths`.

    Privacy: one `Completed` `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(completed(histogram_question(frame, records, ask), frame), ask.label)
    partition = answer.question.partition
    assert isinstance(partition, Shells)
    return Histogram(partition.edges, tuple(answer.values["count"].tolist()), bounding_sd(answer.question, "count"))
