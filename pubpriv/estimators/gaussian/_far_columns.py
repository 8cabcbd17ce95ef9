"""The rows that each column of a single Gaussian takes far out, and what they tell of long columns."""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.estimators._far_out import FAR_OUT, gaussian_tails, long_column_odds
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._long_columns import long_columns
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import column_scales, far_question
from pubpriv.estimators.steps import step


@public_value
@dataclass(frozen=True)
class FarColumns:
    """Released numbers of rows that are far out.

    Attributes:
        counts: (d,) of the columns in which they are furthest out.
        sd: noise sd of each count.
        clumped: by how much more counts vary by sampling than those of independent rows.
        frame: the map to w by which rows were counted; None: of a run that was begun before it was kept.
    """

    counts: tuple[float, ...]
    sd: float
    clumped: float = 1.0
    frame: Frame | None = None

    def log_odds(self, frame: Frame, n: float, scale: float, accuracy: float, shape: PublicShape) -> np.ndarray:
        """Compute log odds (d, laws) of each of `long_columns`, for each column, against Gaussian rows.

        Args:
            frame: the map to w by which rows were counted.
            n: number of whole rows.
            scale: of the Gaussian whose lengths fit best.
            accuracy: how far the rounds are expected to have left w from standard; see `Position`.
            shape: of the public rows, with the lattices of the columns.
        """
        d = frame.dimension
        shares, steep = (each.sum(axis=1) for each in gaussian_tails(_ends(frame, shape) / scale))
        relative = accuracy / math.sqrt(2 * d * (d + 1))  # sd of a column's scale, if all entries err alike
        variances = self.sd**2 + self.clumped * n * shares + (n * steep * relative) ** 2
        usual = 2 * float(gaussian_tails(np.array(FAR_OUT))[0])
        added = n * (np.stack([law.far for law in long_columns(d)]) - usual)
        return long_column_odds(np.array(self.counts), n * shares, variances, added[:, :, None])


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
    counts, sd = answer.values["count"][1:].tolist(), float(answer.question.noise()["count"][0])
    return FarColumns(tuple(counts), sd, curator.size.widening**2, frame)


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
