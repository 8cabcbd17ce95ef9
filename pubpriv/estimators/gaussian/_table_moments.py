"""Mean and covariance from a release in shells, with three parts of their standard errors; all of it post-processing.

Second moments of the core and of each shell that counts are added. A shell's trace has less relative noise than its
shape, so the shape is shrunk towards that of everything before it, as its noise requires (James-Stein), except for
columns that stand out. What that removes from several shells is given back as far as it adds up to more than noise.
What lies beyond the last shell gets the trace that `_tail` predicts, and a shape that continues the change from the
core to there. If that shape has few long columns, these give the best evidence of rows in a further shell.

| part of the error | of a variance |
|---|---|
| sampling | sqrt((E z^4 - (E z^2)^2) / n), fourth moments as released, within what the second ones allow, and beyond |
| privacy | of all shells that count, exact but for the shrinking |
| clipping | the standard deviation of what lies beyond, see `_tail` |
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators.gaussian._shell_reading import CoreRead, read_shells
from pubpriv.estimators.gaussian._shell_shapes import (
    Leant,
    added_to,
    beside,
    column_axes,
    further_shape,
    leant,
    shape_variances,
    unlike,
)
from pubpriv.estimators.gaussian._shells import FINE, Cut, Fourths, column_scales
from pubpriv.estimators.gaussian._tail import Tail
from pubpriv.estimators.matrices import entry_variances

_UNEVEN = 0.8
"""Relative sd by which a column's share of what lies beyond the last shell may differ from the expected one, if columns
have unlike tails."""

_SHAPED = 5.0
"""A shell has a shape of its own if its trace, or what it has of a column, is this many times the noise."""

_FOURTH = 0.6
"""Assumed place of a far shell's fourth moment in its possible range if noise hides it: on the safe side."""


@dataclass(frozen=True)
class Outside:
    """What shells and tail add to the core, in coordinates w, per whole row.

    Attributes:
        tail: which shells count.
        mean: (d,) addition to the mean.
        second: (d, d) addition to the second moment about the middle of the core.
        mean_variance: (d, d) error of `mean` from noise, and from what was taken for noise.
        shape_variance: error variance of the shape of `second`, along the columns and across.
        left: variance of the noise that remains in it across the columns: shrinking removes most, with errors of its
            own.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
        noise: (shells, d, d) sds from noise in the traces.
        lost_mean: (d,) sd of the part of `mean` that is beyond the last shell.
        shape: (d, d) of trace 1, of what lies beyond the last shell.
        uneven: relative sd of each column's share of that.
        shares: (last, d, d) what each shell that counts adds to `second`.
        rows, rows_sd: (shells,) rows in a shell, and their noise sd.
        parts: (steps,) parts of what a shell adds that are those of its steps.
        reach: outer edge of the last step that counts.
    """

    tail: Tail
    mean: np.ndarray
    second: np.ndarray
    mean_variance: np.ndarray
    shape_variance: tuple[np.ndarray, float]
    left: float
    axes: np.ndarray
    noise: np.ndarray
    lost_mean: np.ndarray
    shape: np.ndarray
    uneven: float
    shares: np.ndarray
    rows: np.ndarray
    rows_sd: np.ndarray
    parts: np.ndarray
    reach: float

    @property
    def lost(self) -> np.ndarray:
        """sd (d, d) of the part of `second` that is beyond the last shell."""
        whole, sd = self.tail.beyond + self.tail.beyond_sd, self.tail.beyond_sd
        return np.asarray(self.shape * math.hypot(sd, self.uneven * whole))

    def most_of(self, colour: np.ndarray) -> np.ndarray:
        """Shares (d,) of the columns in what lies beyond, each as much larger than expected as columns may be uneven.

        Args:
            colour: (d, d) matrix from w to the columns; rows are columns.
        """
        shares = np.maximum(np.einsum("ij,jk,ik->i", colour, self.shape, colour), 0.0)
        return np.asarray(shares * (1 + self.uneven))


def read_outside(known: CoreRead) -> Outside:
    """Read what lies beyond the core.

    Shapes are those of second moments about the middle of the core: if columns are independent, a row with one outlying
    cell has its other cells there, so what lies beyond has no correlations about it even if columns are skewed.
    """
    moments, center, (n, d) = known.moments, known.center, (known.moments.records, known.frame.dimension)
    axes = column_axes(known.frame.dense()[1])
    sizes = np.einsum("ij,kjl,il->ki", axes, moments.seconds[1:], axes)
    traces, trace_sds = sizes.sum(axis=1), moments.second_sds[1:] * math.sqrt(d)
    shaped = (sizes.max(axis=1) > _SHAPED * moments.second_sds[1:]) | (traces > _SHAPED * trace_sds)
    found = read_shells(known, axes, traces, trace_sds, np.where(shaped, traces, 0.0))
    tail, rows, middle, sizes = found.tail, found.shells.rows, found.shells.middle, found.sizes
    seconds, second_sds, longer, unsure = found.seconds, found.second_sds, found.longer, found.unsure
    # cutting at a length makes columns dependent, oppositely in the core and beyond: only the core's sizes are used
    inside = (axes.T * sizes) @ axes / max(float(sizes.sum()), 1e-12)
    # per row of the core; a row that one outlying cell brings to a shell has its other cells like this
    usual = (axes.T * sizes) @ axes / min(max(float(moments.rows[0]) / n, 0.5), 1.0)
    own, total, shrunk = inside, np.zeros((d, d)), list[Leant]()
    mean, mean_variance = np.zeros(d), np.zeros((d, d))
    for k in range(tail.last):
        length, sd = float(tail.lengths[k]), float(second_sds[k])
        held = length / float(middle[k]) * n
        riding = min(max(float(rows[k]), 0.0) / n, length / max(float(np.trace(usual)), 1e-300)) * usual
        shape = (riding + (length - float(np.trace(riding))) * own) / length if length > 0 else own
        # by Cauchy and Schwarz, the number of rows and their squares bound their sum in every direction
        so_far = sizes + np.einsum("ij,jk,ik->i", axes, total, axes) + float(moments.second_sds[0])
        raw = leant(seconds[k], length, shape, sd, axes, so_far)
        # without any length there are no known rows, however large the noise
        part = (length + float(tail.sds[k])) ** 2 / (length * float(middle[k])) if length > 0 else 0.0
        mean_sd = math.sqrt(longer[k]) * float(moments.mean_sds[k + 1])
        weight = raw.weight_of_mean(part, moments.means[k + 1], mean_sd, sd, axes)
        moved = weight @ moments.means[k + 1] * math.sqrt(longer[k])
        part_of = max(float(moments.rows[k + 1]), 0.0) / n
        cross = np.outer(moved, center) + np.outer(center, moved) - part_of * np.outer(center, center)
        trace = max(length - float(np.trace(cross)), 0.0)
        added = leant(seconds[k] - cross, trace, shape, sd, axes, so_far)
        total = total + added.second
        shrunk.append(added)
        mean, shorter = mean + moved, float(unsure[k]) / 2 * moved
        mean_variance = mean_variance + mean_sd**2 * weight + np.outer(shorter, shorter)
        if held > 0 and added.second.any():
            own = added_to(own, beside(added.second, riding, axes), held, axes)
    shape = further_shape(own, inside, tail.last, axes)
    shares = np.array([shell.second for shell in shrunk]).reshape(-1, d, d)
    noise = np.array([sd * shell.shape for sd, shell in zip(tail.sds, shrunk, strict=True)]).reshape(-1, d, d)
    variances = second_sds[: tail.last] ** 2
    # rows of a shell, of so many squared lengths, would add these to the mean if all were on one side
    one_sided = tail.lengths / np.sqrt(middle[: tail.last])
    lean = mean / max(float(one_sided.sum()), float(np.linalg.norm(mean)), 1e-300)
    further = FINE * (*known.where.edges, known.where.radii[-1])[max(tail.last, 1)]
    return Outside(
        tail=tail,
        mean=mean + lean * tail.beyond / further,
        second=shares.sum(axis=0) + shape * tail.beyond,
        mean_variance=mean_variance,
        shape_variance=(
            variances @ np.array([shell.on for shell in shrunk]).reshape(-1, d),
            float(variances @ np.array([shell.off for shell in shrunk])),
        ),
        left=float(variances @ np.array([shell.left for shell in shrunk])),
        axes=axes,
        noise=noise,
        lost_mean=np.abs(lean) * tail.length_sd,
        shape=shape,
        uneven=_UNEVEN * unlike(np.einsum("ij,jk,ik->i", axes, shape, axes), sizes),
        shares=shares,
        rows=rows,
        rows_sd=found.shells.rows_sd,
        parts=found.parts,
        reach=found.reach,
    )


def fourth_of_columns(
    outside: Outside, core: np.ndarray, fourths: Fourths, where: Cut, matrix: np.ndarray
) -> np.ndarray:
    """Compute E z^4 (d,) of the columns, z in the units of `column_scales`, within what second moments permit.

    For rows w of a shell, near <= |w| <= far, and second moments s_j of z: E z^4 is at most far^2 s_j, because |z_j| <=
    |w|, and at least near^2 s_j^2 / trace, by Cauchy and Schwarz, because there are at most trace / near^2 rows. What
    lies beyond the last shell is that of the rows' law, as far out as tables have rows.
    """
    colour = np.linalg.inv(matrix) / column_scales(matrix)[:, None]
    ends, shells = np.array([*where.inner, where.radii[-1]]), where.shell_of
    counted = int(np.searchsorted(shells, outside.tail.last))
    total = np.zeros(len(core))
    for k, second in enumerate([core, *(outside.parts[:counted, None, None] * outside.shares[shells[:counted]])]):
        own = np.maximum(np.einsum("ij,jk,ik->i", colour, second, colour), 0.0)
        most = float(ends[k]) ** 2 * own
        if k:
            least = np.minimum(float(ends[k - 1]) ** 2 * own**2 / max(float(np.trace(second)), 1e-300), most)
            guess = least + _FOURTH * (most - least)
        else:
            least = np.minimum(own**2, most)
            guess = np.minimum(3 * own**2, most)
        spread = np.maximum((most - least) / 4, 1e-12)
        weight = spread**2 / (spread**2 + fourths.sds[k] ** 2)
        total = total + np.clip(guess + weight * (np.array(fourths.values[k]) - guess), least, most)
    tail = outside.tail
    further = max(float(ends[counted]) ** 2 * tail.beyond, tail.law.fourth)
    return np.asarray(total + outside.most_of(colour) * further)


def error_parts(
    covariance: np.ndarray,
    fourth: np.ndarray,
    outside: Outside,
    core_sds: tuple[float, float],
    n: float,
    matrix: np.ndarray,
) -> dict[str, dict[str, np.ndarray]]:
    """Compute standard errors of an estimate that is a sum over shells, in the table's units.

    Args:
        covariance: (d, d), in the table's units.
        fourth: (d,), fourth moments of z.
        outside: what lies beyond the core.
        core_sds: noise sds of a coordinate of the core's mean and of a diagonal entry of its second moment.
        n: number of whole rows.
        matrix: matrix of the frame.
    """
    colour, scales = np.linalg.inv(matrix), column_scales(matrix)
    own = np.diag(covariance)
    lacking = outside.most_of(colour / scales[:, None]) * outside.tail.law.unseen
    squares = fourth + n * lacking**2  # most variances are too small by what most tables lack: an error of sampling
    variance = np.maximum(squares - (own / scales**2) ** 2, 0.05 * (own / scales**2) ** 2) * scales**4 / n
    ratio = np.sqrt(variance * n / (2 * own**2))
    # short tails reduce the error of a product of two columns only as far as the columns are the same
    shared = covariance**2 / np.outer(own, own)
    factor = np.outer(ratio, ratio)
    factor = np.where(factor < 1, 1 + shared * (factor - 1), factor)
    sampling = np.sqrt((np.outer(own, own) + covariance**2) / n * factor)
    privacy = entry_variances(colour @ colour.T, core_sds[1] ** 2, core_sds[1] ** 2)
    privacy = privacy + shape_variances(colour @ outside.axes.T, *outside.shape_variance)
    privacy = privacy + ((colour @ outside.noise @ colour.T) ** 2).sum(axis=0)
    around = core_sds[0] ** 2 * np.eye(len(own)) + outside.mean_variance
    return {
        "mean": {
            "sampling": np.sqrt(own / n),
            "privacy": np.sqrt(np.einsum("ij,jk,ik->i", colour, around, colour)),
            "clipping": np.abs(colour @ outside.lost_mean),
        },
        "covariance": {
            "sampling": sampling,
            "privacy": np.sqrt(privacy),
            "clipping": lost_entries(colour @ outside.lost @ colour.T),
        },
    }


def lost_entries(lost: np.ndarray) -> np.ndarray:
    """Compute the standard errors (d, d) of a covariance from `lost` (d, d), an unmeasured second moment."""
    return np.asarray(np.sqrt((np.outer(np.diag(lost), np.diag(lost)) + lost**2) / 2))
