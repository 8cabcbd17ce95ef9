"""Steps of a regression that ask: scores, slopes, lengths of scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.regression._line import RegressionLine
from pubpriv.estimators.regression.plan import lengths_question, score_question, slope_question
from pubpriv.estimators.steps import step


@public_value
@dataclass(frozen=True)
class ScoreSums:
    """Released count, sum and second moment of the clipped scores of k coefficients.

    Attributes:
        radius: to which scores are clipped.
        count, count_sd: number of rows with a finite score, and the sd of its noise.
        total: (k,) sum.
        meat: (k, k) second moment.
        sd: noise sd of a coordinate of the sum.
        meat_sd: noise sd of a diagonal entry of the second moment.
    """

    radius: float
    count: float
    count_sd: float
    total: tuple[float, ...]
    meat: Matrix
    sd: float
    meat_sd: float


@public_value
@dataclass(frozen=True)
class ScoreSlope:
    """Released second moment of (1, w) over the rows whose score is shorter than a radius.

    Attributes:
        second: (k, k).
        sd: noise sd of a diagonal entry.
    """

    second: Matrix
    sd: float


@public_value
@dataclass(frozen=True)
class ScoreLengths:
    """Released numbers of scores by length.

    Attributes:
        edges: of the shells.
        counts: one more than edges.
        sd: of the noise in each.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float


@step(title="clipped scores", private=True)
def ask_scores(curator: Curator, line: RegressionLine, radius: float, ask: Ask) -> ScoreSums:
    """Private step: count, sum and second moment of the scores of a line.

    Privacy: one `LiftedGram` over `ScoreFrame`, mu^2 at most ask.price.
    """
    answer = curator.release(score_question(line.frame, radius, ask), ask.label)
    values, noise = answer.values, answer.question.noise()
    return ScoreSums(
        float(_asked(answer.question).radii[0]),
        float(values["count"][0]),
        float(noise["count"].flat[0]),
        tuple(values["sum"][0].tolist()),
        row_tuples(values["moment"][0]),
        float(noise["sum"].flat[0]),
        float(noise["moment"].flat[0]),
    )


@step(title="slope of clipped scores", private=True)
def ask_slope(curator: Curator, line: RegressionLine, radius: float, ask: Ask) -> ScoreSlope:
    """Private step: the second moment of (1, regressors) where scores are short.

    A score that is clipped does not move with the coefficients, so this is the derivative of the mean score.

    Privacy: one `LiftedGram` over `Shells` of a `ScoreFrame`, mu^2 at most ask.price.
    """
    answer = curator.release(slope_question(line.frame, radius, ask), ask.label)
    values = answer.values
    second = np.zeros((len(values["sum"][0]) + 1,) * 2)
    second[0, 0] = values["count"][0]
    second[0, 1:] = second[1:, 0] = values["sum"][0]
    second[1:, 1:] = values["moment"][0]
    return ScoreSlope(row_tuples(second), float(answer.question.noise()["moment"].flat[0]))


@step(title="lengths of scores", private=True)
def count_lengths(curator: Curator, line: RegressionLine, ask: Ask) -> ScoreLengths:
    """Private step: how many scores have which length.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(lengths_question(line.frame, ask), ask.label)
    counts, noise = answer.values["count"], answer.question.noise()["count"]
    return ScoreLengths(_asked(answer.question).partition.edges, tuple(counts.tolist()), float(noise.flat[0]))


def _asked(question: Any) -> Any:
    """Return the question as it was asked, or as a resumed run had stored it, within its wrappers."""
    while hasattr(question, "inner"):
        question = question.inner
    return question
