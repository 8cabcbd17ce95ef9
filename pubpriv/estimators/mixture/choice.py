"""Which of two public models the private rows prefer, for one bounded score."""

import math
from dataclasses import dataclass

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import BoundedScore
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_QUIET = 0.05
"""The clip bound is as wide as keeps the noise of the score below this many nats per record."""

_NARROWEST = 16.0
"""... but at least this many nats, and at least one per column: a model that is tens of nats worse at one row in thirty
must not look better for what it wins at the others."""

_CLEARLY = 2.0
"""A private model replaces the public one only if its score stands out by this many noise sds."""


@public_value
@dataclass(frozen=True)
class Preference:
    """Mean clipped log-likelihood difference (first - second) per record, and its noise sd, in nats."""

    advantage: float
    noise: float

    @property
    def clear(self) -> bool:
        """The first is better beyond the noise."""
        return self.advantage >= _CLEARLY * self.noise

    @classmethod
    def least_clear(cls, n: int, d: int, ask: Ask) -> float:
        """Tell from how many nats per row on a private model replaces the public one, for n rows of d columns."""
        return _CLEARLY * 2 * _score_bound(n, d, ask) / math.sqrt(float(ask.price)) / n


def _score_bound(n: int, d: int, ask: Ask) -> float:
    """Where a record's log-likelihood difference is clipped, in nats, for n rows of d columns."""
    return max(_NARROWEST, d, _QUIET * n * math.sqrt(ask.price) / 2)


@step(title="model choice", private=True)
@one_thread
def prefer(curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, ask: Ask) -> Preference:
    """How much better `first` fits the private rows than `second`.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    n = curator.n_rows
    bound = _score_bound(n, len(scaling.location), ask)
    question = BoundedScore.priced(scaling.cells(first), scaling.cells(second), bound, ask.price)
    answer = curator.release(question, ask.label)
    return Preference(float(answer.values["score"][0]) / n, float(answer.question.noise()["score"][0]) / n)
