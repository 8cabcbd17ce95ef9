"""The private step of `estimate_mean` that clip-and-noise, CoinPress and the two-step method share."""

from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.mean._plan import sum_question
from pubpriv.estimators.steps import step


@public_value
@dataclass(frozen=True)
class ClippedMean:
    """A released clipped mean around a centre.

    Attributes:
        center: the centre, in the data's own units.
        move: sum of the clipped records divided by n, whitened, (d,).
        noise: standard deviation of the noise in one coordinate of `move`.
    """

    center: tuple[float, ...]
    move: tuple[float, ...]
    noise: float

    def over(self, share: float) -> "ClippedMean":
        """Give the mean over the rows without a missing value, if they are this share of all n."""
        return replace(self, move=tuple(float(value) / share for value in self.move), noise=self.noise / share)


@step(title="clipped mean", private=True)
def clipped_mean(
    curator: Curator, known: KnownCovariance, center: tuple[float, ...], radius: float, ask: Ask
) -> ClippedMean:
    """Private step: the mean of records, clipped to `radius` around `center` in whitened coordinates.

    A record with a missing or infinite value adds zero but counts in n, so such records pull the answer towards the
    centre by their share.
    """
    release = curator.release(sum_question(known.frame(np.array(center)), radius, ask), ask.label)
    asked = release.question  # on a resumed run, the question as it was stored
    move = release.values["sum"] / curator.n_rows
    noise = float(asked.noise()["sum"][0]) / curator.n_rows
    return ClippedMean(asked.frames[0].center, tuple(move.tolist()), noise)
