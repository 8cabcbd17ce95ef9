"""Noisy counts of private rows by whitened distance from the answer of step 1.

One release of counts shows whether the rows are as long as Gaussian rows of the known covariance; from it, `_clip`
decides where step 2 clips. The inner shells divide the range of Gaussian rows. Each outer edge is 1.5 times the one
before, so the outer shells reach very far.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Shells
from pubpriv.estimators._lengths import SHELLS, gaussian_shares, length_quantile
from pubpriv.estimators._whole_rows import WholeRows, whole_rows
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.steps import step

_RATIO, _OUTER = 1.5, 14
"""Ratio of each outer edge to the one before, and number of outer edges: they reach 290 times the last inner edge."""


@public_value
@dataclass(frozen=True)
class Lengths:
    """Released counts of rows by |z|, z = W (x - c).

    Attributes:
        edges: edges of the shells.
        counts: noisy number of rows in each shell; the last shell is unbounded.
        sd: of the noise in each count.
        rows: number of private rows, n.
        whole: number of rows without a missing or infinite value.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float
    rows: int
    whole: float

    outer = len(SHELLS) + 1  # first shell that Gaussian rows hardly reach: beyond the first outer edge

    @property
    def none(self) -> bool:
        """Whether the counts may be noise only, although n is clearly larger than that noise."""
        unclear = SURELY * self.sd * math.sqrt(len(self.counts))
        return sum(self.counts) < min(unclear, self.rows - unclear)

    @property
    def unseen(self) -> int:
        """Number of far rows that the noise could hide."""
        return math.ceil(SURELY * self.sd)

    @property
    def ends(self) -> np.ndarray:
        """Outer edges of the shells; the last shell is taken to end at one ratio beyond its inner edge."""
        return np.append(self.edges, _RATIO * self.edges[-1])

    @property
    def middles(self) -> np.ndarray:
        """Representative radius of each shell: the root mean square of its two edges."""
        return np.asarray(np.sqrt((np.array([0.0, *self.edges]) ** 2 + self.ends**2) / 2))

    def gaussian_shares(self, d: int, spread: float) -> np.ndarray:
        """Give the share of Gaussian rows in each shell, for variances 1 + spread^2 in R^d."""
        return np.asarray(gaussian_shares(np.array(self.edges), d, np.array([math.sqrt(1 + spread**2)]))[0])


def edges(d: int, spread: float) -> tuple[float, ...]:
    """Give shell edges for rows around a centre that is off by `spread` standard deviations in each column."""
    inner = np.array([length_quantile(d, share) for share in SHELLS]) * math.sqrt(1 + spread**2)
    outer = inner[-1] * _RATIO ** np.arange(1, _OUTER + 1)
    return tuple(inner.tolist()) + tuple(outer.tolist())


def lengths_question(frame: Frame, spread: float, ask: Ask) -> Counts:
    """Ask how many rows lie in each shell around the frame's centre."""
    return Counts.priced(Shells(frame, edges(frame.dimension, spread)), ask.price)


@step(title="lengths of rows", private=True)
def count_lengths(
    curator: Curator, known: KnownCovariance, center: tuple[float, ...], spread: float, whole: WholeRows, ask: Ask
) -> Lengths:
    """Count rows by whitened distance from `center`, which is off by about `spread` standard deviations.

    The number of whole rows is the mean of their sum and of the count before, if that is clearly less than n.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(lengths_question(known.frame(np.array(center)), spread, ask), ask.label)
    asked = answer.question  # on a resumed run, the question as it was stored
    counts, sd = answer.values["count"], bounding_sd(asked, "count")
    found = whole_rows(whole.of(curator.size), counts, sd)
    return Lengths(asked.partition.edges, tuple(counts.tolist()), sd, curator.n_rows, found)
