"""Ask the private rows which of two public models fits better, by one bounded score."""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import BoundedScore
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_WIDEST = 16.0
"""A record's score is clipped at this many nats, or twice the number of columns if that is more: a model that is tens
of nats worse at one row in thirty must not look better because of small gains at the others. The bound does not grow
further with n, so the noise of the mean score falls as 1 / n."""

_NARROWED, _QUIET = 4.0, 0.2
"""With few rows the bound of a choice is narrowed, by up to the first factor, until the noise is the second number, in
nats per record: two models of the same rows differ by more than four nats at one row in two hundred. It is not
narrowed further: with a real table of 3,900 rows, a bound of five nats chose a model that was a hundred nats worse at
one row in thirty."""

_LOUD, _WORSE, _CLEARLY = 0.5, 3.0, 2.0
"""If the noise of the mean score is below the first number of nats per record, a model that should be better
(`head_start`) is taken unless its score is below zero by the second number of noise sds: the fallback is flagged, and
two sds would flag one in twenty sound models of 500 rows in one column. With more noise, the second model is taken
unless the first one's score exceeds the third number of sds."""

_RUGGED = 1_000.0, 0.45
"""Where all columns are on lattices, a component narrower than a step excludes rows one step away: they are hundreds
of nats worse. Then the bound is the first number, or the smaller one at which the noise is the second number. With a
bound as in `choice_bound`, for rare answers whose components were too close to be found, models that were a hundred
nats a row worse than the public one looked better by eighteen."""

_AS_GOOD = 0.02
"""A model without a head start may be worse by one noise sd, or by this many nats per record if that is less."""


@public_value
@dataclass(frozen=True)
class Preference:
    """Mean clipped log-likelihood difference (first - second) per record, its noise sd, and `head_start`, in nats."""

    advantage: float
    noise: float
    expected: float = 0.0

    @property
    def clear(self) -> bool:
        """Whether to take the first model."""
        if self.noise > _LOUD:
            return self.advantage > _CLEARLY * self.noise
        if self.expected > 0:
            return self.advantage > -_WORSE * self.noise
        return self.advantage > -min(self.noise, _AS_GOOD)

    @classmethod
    def expected_noise(cls, n: float, d: int, ask: Ask) -> float:
        """Predict the noise of a comparison, in nats per row, for n rows of d columns."""
        return choice_bound(n, d, ask) * _noise(n, ask)


def head_start(last: Round, kind: str, m: int) -> float:
    """Predict by how many nats per row a measured model should beat one that was fitted to m public rows.

    Each free parameter costs either model half a nat over its rows; the first also has the noise of means and
    covariances.

    Args:
        last: the round that measured the first model.
        kind: covariance type of that round.
        m: number of public rows.
    """
    counts, d = np.array(last.counts), len(last.frames[0])
    numbers = {"diag": 2 * d + 1, "spherical": d + 2}.get(kind, (d + 1) * (d + 2) // 2) * len(counts)
    # squared Frobenius norm of noise in a whitened covariance, in squared sds of a diagonal entry
    norm = d if kind in ("diag", "spherical") else d * (d + 1) / 2
    noise = norm * last.moment_sd**2 / 4 + d * last.sum_sd**2 / 2
    return float(numbers / 2 * (1 / m - 1 / counts.sum()) - noise * (1 / counts).sum() / counts.sum())


def score_bound(d: int) -> float:
    """Give the bound in nats at which a record's log-likelihood difference is clipped, for rows of d columns."""
    return max(_WIDEST, 2.0 * d)


def choice_bound(n: float, d: int, ask: Ask, quiet: float = _QUIET) -> float:
    """Give the bound for a pure choice between two models of n rows, in nats; see `_QUIET` for `quiet`."""
    widest = score_bound(d)
    return min(max(quiet / _noise(n, ask), widest / _NARROWED), widest)


def _noise(n: float, ask: Ask) -> float:
    """Compute the noise of a comparison of n rows, as a share of the bound."""
    return 2 / math.sqrt(2 * ask.rho) / n


@step(title="model choice", private=True)
@one_thread
def prefer(
    curator: Curator,
    scaling: Scaling,
    first: Mixture,
    second: Mixture,
    rows: float,
    ask: Ask,
    expected: float = 0.0,
    rugged: bool = False,
) -> Preference:
    """Measure how much better `first` fits the private rows than `second`.

    Args:
        curator: the run.
        scaling: the standard coordinates.
        first: a model in these coordinates.
        second: the other model.
        rows: number of private rows without a missing value; the others have no score.
        ask: for the score.
        expected: `head_start` of the first.
        rugged: whether to use the bound of `_RUGGED`; then the first model gets no head start.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    bound = choice_bound(rows, len(scaling.location), ask)
    if rugged:
        widest, loudest = _RUGGED
        bound, expected = max(bound, min(widest, loudest / _noise(rows, ask))), 0.0
    return Preference(*compare(curator, scaling, first, second, rows, ask, bound), expected)


@one_thread
def preference_question(
    scaling: Scaling, first: Mixture, second: Mixture, rows: float, ask: Ask, bound: float | None = None
) -> BoundedScore:
    """Make the question of `prefer`, or of `compare` with its bound."""
    bound = choice_bound(rows, len(scaling.location), ask) if bound is None else bound
    return BoundedScore.priced(scaling.cells(first), scaling.cells(second), bound, ask.price)


def compare(
    curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, rows: float, ask: Ask, bound: float
) -> tuple[float, float]:
    """Release the mean log-likelihood difference (first - second) per record, clipped at `bound`, and its noise sd.

    Both are in nats, per private row without a missing value; there are `rows` of these.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    question = preference_question(scaling, first, second, rows, ask, bound)
    answer = curator.release(question, ask.label)
    return float(answer.values["score"][0]) / rows, bounding_sd(answer.question, "score") / rows
