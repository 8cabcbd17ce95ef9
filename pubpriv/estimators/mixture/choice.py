"""Which of two public models the private rows prefer, for one bounded score."""

import math
from dataclasses import dataclass

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import BoundedScore
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_NARROWEST = 16.0
"""A record's score is clipped at this many nats, and at twice as many as there are columns: a model that is tens of
nats worse at one row in thirty must not look better for what it wins at the others. The bound does not grow with n, so
the noise of the mean score falls as 1 / n."""

_LOUD = 1.0
"""While the noise of the mean score is below this many nats per record, the private model is taken unless its score is
the worse one: where two models are so close that noise decides, little is lost with either ..."""

_AS_GOOD = 0.02
"""... by more than one noise sd, or this many nats per record if that is less: the public model is a fallback that is
flagged, and a sound private one should not be flagged by chance ..."""

_CLEARLY = 2.0
"""... and above, the public one, unless the private one's score stands out by this many noise sds."""


@public_value
@dataclass(frozen=True)
class Preference:
    """Mean clipped log-likelihood difference (first - second) per record, and its noise sd, in nats."""

    advantage: float
    noise: float

    @property
    def clear(self) -> bool:
        """The first is to be taken."""
        return self.advantage > (_CLEARLY * self.noise if self.noise > _LOUD else -min(self.noise, _AS_GOOD))

    @classmethod
    def expected_noise(cls, n: int, d: int, ask: Ask) -> float:
        """Tell the noise of a comparison beforehand, in nats per row, for n rows of d columns."""
        return 2 * _score_bound(d) / math.sqrt(2 * ask.rho) / n


def _score_bound(d: int) -> float:
    """Where a record's log-likelihood difference is clipped, in nats, for rows of d columns."""
    return max(_NARROWEST, 2.0 * d)


@step(title="model choice", private=True)
@one_thread
def prefer(curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, ask: Ask) -> Preference:
    """How much better `first` fits the private rows than `second`.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    return Preference(*compare(curator, scaling, first, second, ask))


def compare(curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, ask: Ask) -> tuple[float, float]:
    """Release the mean clipped log-likelihood difference (first - second) per record; with its noise sd, in nats.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    n = curator.n_rows
    bound = _score_bound(len(scaling.location))
    sides = scaling.cells_for_lengths(first), scaling.cells_for_lengths(second)
    question = BoundedScore.priced(*sides, bound, ask.price)
    answer = curator.release(question, ask.label)
    return float(answer.values["score"][0]) / n, bounding_sd(answer.question, "score") / n
