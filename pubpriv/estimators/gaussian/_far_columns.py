"""How many rows each column takes far out: evidence of one long column among Gaussian ones.

Lengths of rows hardly show such a column among many, and clipping takes more from its variance than all other errors.
So each row is counted for the column in which it is furthest out, if that is beyond `FAR_OUT`, and each column is
compared with the others: what these have beyond a Gaussian's rows is no sign of a single long one.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._long_columns import STRETCHED, long_columns
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import FAR_OUT, column_scales, far_question
from pubpriv.estimators.steps import step

_OF_MEDIAN = math.pi / 2
"""Variance of the median of many numbers over that of their mean."""


@public_value
@dataclass(frozen=True)
class FarColumns:
    """Released numbers of rows that are far out.

    Attributes:
        counts: (d,) of the columns in which they are furthest out.
        sd: noise sd of each count.
    """

    counts: tuple[float, ...]
    sd: float

    def log_odds(self, frame: Frame, n: float, scale: float, accuracy: float, shape: PublicShape) -> np.ndarray:
        """Compute log odds (d, laws) of each of `long_columns`, for each column, against Gaussian rows.

        Args:
            frame: the map to w, by which rows were counted.
            n: number of whole rows.
            scale: of the Gaussian whose lengths fit best.
            accuracy: how far the rounds are expected to have left w from standard; see `Position`.
            shape: of the public rows, with the lattices of the columns.
        """
        d, ends = frame.dimension, _ends(frame, shape) / scale
        shares, steep = _gaussian_tails(ends)
        relative = accuracy / math.sqrt(2 * d * (d + 1))  # sd of a column's scale, if all entries err alike
        variances = self.sd**2 + n * shares + (n * steep * relative) ** 2
        more = np.array(self.counts) - n * shares
        others = [float(np.median(np.delete(more, column))) for column in range(d)]
        more -= np.maximum(others, 0.0)
        variances += _OF_MEDIAN * (variances.sum() - variances) / (d - 1) ** 2
        usual = float(_gaussian_tails(np.full((1, 2), FAR_OUT))[0][0])

        def likelihood(expected: np.ndarray) -> np.ndarray:
            whole = variances[:, None] + np.maximum(expected, 0.0)
            return np.asarray(-((more[:, None] - expected) ** 2 / whole + np.log(whole)) / 2)

        laws = [likelihood(n * (law.far - usual)) for law in long_columns(d)]
        means = np.logaddexp.reduce(np.stack(laws, axis=1), axis=2) - math.log(len(STRETCHED))
        return np.asarray(means - likelihood(np.zeros(1)))


@step(title="columns far out", private=True)
def count_far(curator: Curator, frame: Frame, ask: Ask) -> FarColumns:
    """Count rows by the column in which they are furthest out.

    Args:
        curator: the run.
        frame: the map to w.
        ask: label and price.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(far_question(frame, ask), ask.label)
    return FarColumns(tuple(answer.values["count"][1:].tolist()), float(answer.question.noise()["count"][0]))


def _ends(frame: Frame, shape: PublicShape) -> np.ndarray:
    """Give the values (d, 2), in sds, above and below which unrounded rows are far out after they are rounded.

    A value of a lattice is far out from half a step before it.
    """
    ends = np.full((frame.dimension, 2), FAR_OUT)
    if not any(shape.steps):
        return ends
    center, matrix = frame.dense()
    sizes, steps = column_scales(matrix), np.array(shape.steps)
    spaced = steps > 0
    own, step_of = sizes[spaced], steps[spaced]
    for side, sign in enumerate((1, -1)):
        from_origin = sign * (center[spaced] - np.array(shape.origin)[spaced]) + FAR_OUT * own
        first = (np.floor(from_origin / step_of) + 1) * step_of
        ends[spaced, side] += (first - from_origin - step_of / 2) / own
    return ends


def _gaussian_tails(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute (shares (d,) of Gaussian rows beyond the ends (d, 2), their slopes in the logarithm of the scale)."""
    from scipy.special import ndtr

    density = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    return ndtr(-ends).sum(axis=1), (ends * density).sum(axis=1)
