"""Which of two public models the private rows prefer, for one bounded score."""

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
"""A record's score is clipped at this many nats, and at twice as many as there are columns: a model that is tens of
nats worse at one row in thirty must not look better for what it wins at the others. The bound does not grow further
with n, so the noise of the mean score falls as 1 / n."""

_NARROWED, _QUIET = 4.0, 0.2
"""Where rows are few, the bound of a choice is up to so many times narrower, until the noise is so many nats per
record: two models of the same rows differ by more than four nats at one row in two hundred. No further: of a real
table of 3,900 rows, a bound of five nats chose a model that was a hundred nats worse at one row in thirty."""

_LOUD, _WORSE, _CLEARLY = 0.5, 3.0, 2.0
"""While the noise of the mean score is below the first number of nats per record, a model that should be better
(`head_start`) is taken unless its score is the worse one by the second number of noise sds: the other is a fallback
that is flagged, and two sds flagged one in twenty sound models of 500 rows in one column. Above, the other is taken,
unless the score stands out by the third number of sds."""

_RUGGED = 1_000.0, 0.45
"""Where all columns are on lattices, a component that is narrower than a step denies rows that are one step off: these
are hundreds of nats worse. Then the bound is the first number, or less, at which the noise is the second one. Of rare
answers whose components lay too near each other to be found, models that were a hundred nats a row worse than the
public one looked better by eighteen."""

_AS_GOOD = 0.02
"""A model that should not be better may be worse by one noise sd, or this many nats per record if that is less."""


@public_value
@dataclass(frozen=True)
class Preference:
    """Mean clipped log-likelihood difference (first - second) per record, its noise sd, and `head_start`, in nats."""

    advantage: float
    noise: float
    expected: float = 0.0

    @property
    def clear(self) -> bool:
        """The first is to be taken."""
        if self.noise > _LOUD:
            return self.advantage > _CLEARLY * self.noise
        if self.expected > 0:
            return self.advantage > -_WORSE * self.noise
        return self.advantage > -min(self.noise, _AS_GOOD)

    @classmethod
    def expected_noise(cls, n: float, d: int, ask: Ask) -> float:
        """Tell the noise of a comparison beforehand, in nats per row, for n rows of d columns."""
        return choice_bound(n, d, ask) * _noise(n, ask)


def head_start(last: Round, kind: str, m: int) -> float:
    """Nats per row by which a measured model should predict better than one that was fitted to m public rows.

    Each free number costs half a row in either; the first has the noise of its means and covariances besides.

    Args:
        last: the round that measured it.
        kind: of its covariances.
        m: public rows.
    """
    counts, d = np.array(last.counts), len(last.frames[0])
    numbers = {"diag": 2 * d + 1, "spherical": d + 2}.get(kind, (d + 1) * (d + 2) // 2) * len(counts)
    # squared Frobenius norm of noise in a whitened covariance, in squared sds of a diagonal entry
    norm = d if kind in ("diag", "spherical") else d * (d + 1) / 2
    noise = norm * last.moment_sd**2 / 4 + d * last.sum_sd**2 / 2
    return float(numbers / 2 * (1 / m - 1 / counts.sum()) - noise * (1 / counts).sum() / counts.sum())


def score_bound(d: int) -> float:
    """Where a record's log-likelihood difference is clipped, in nats, for rows of d columns."""
    return max(_WIDEST, 2.0 * d)


def choice_bound(n: float, d: int, ask: Ask, quiet: float = _QUIET) -> float:
    """The same where nothing but which of two models is the better one is asked of n rows; for `quiet` see `_QUIET`."""
    widest = score_bound(d)
    return min(max(quiet / _noise(n, ask), widest / _NARROWED), widest)


def _noise(n: float, ask: Ask) -> float:
    """Noise of a comparison of n rows, as a share of where it is clipped."""
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
    """How much better `first` fits the private rows than `second`.

    Args:
        curator: the run.
        scaling: of the standard coordinates.
        first: model, in these.
        second: the other.
        rows: private rows that lack no value; the others have no score.
        ask: for the score.
        expected: `head_start` of the first.
        rugged: see `_RUGGED`; then the first need not be better.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    bound = choice_bound(rows, len(scaling.location), ask)
    if rugged:
        widest, loudest = _RUGGED
        bound, expected = max(bound, min(widest, loudest / _noise(rows, ask))), 0.0
    return Preference(*compare(curator, scaling, first, second, rows, ask, bound), expected)


def compare(
    curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, rows: float, ask: Ask, bound: float
) -> tuple[float, float]:
    """Release the mean log-likelihood difference (first - second) per record, clipped at `bound`; with its noise sd.

    Both in nats; of `rows` private rows, which lack no value.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    sides = scaling.cells(first), scaling.cells(second)
    question = BoundedScore.priced(*sides, bound, ask.price)
    answer = curator.release(question, ask.label)
    return float(answer.values["score"][0]) / rows, bounding_sd(answer.question, "score") / rows
