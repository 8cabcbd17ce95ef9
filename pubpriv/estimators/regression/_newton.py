"""What follows from released scores: Newton's step, the radius of the next question, and the errors of the line."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.estimators.regression._line import RegressionLine
from pubpriv.estimators.regression._scores import ScoreLengths, ScoreSlope, ScoreSums
from pubpriv.estimators.regression.plan import law_kept
from pubpriv.estimators.steps import step

_LEAST_SLOPE, _TYPICAL = 0.1, 0.15
"""Least eigenvalue of the slope, and by how much its eigenvalues differ in any table, at least."""

_LEAN = 0.5
"""Part of the mean length beyond the radius by which a clipped mean of scores may lean: half of the far rows would lie
on one side."""

_SEEN = 3.0
"""Noise sds above which a shell certainly holds rows."""

_MIDDLE = 0.6
"""Typical length of a score in the innermost shell, over its edge."""

_WORTH_A_MEAT = 0.5
"""Relative noise of the meat at which half of it is taken from even scatter."""

_LEAST_MEAT = 0.3
"""Least variance of sampling, in units of that of even scatter."""

_LEAST_FREEDOM = 8.0
"""Least degrees of freedom of a standard error."""


@public_value
@dataclass(frozen=True)
class ScoreClip:
    """The radius to which the last scores are clipped.

    Attributes:
        radius: chosen.
        lost: by how much a mean score may lean for that, in each coordinate, as a standard error.
        far: mean square of the lengths of scores, over that of the clipped ones: what far rows would add to the errors.
    """

    radius: float
    lost: float
    far: float


@public_value
@dataclass(frozen=True)
class FittedLine:
    """The line with the covariances of its errors, by source, all in the data's own units.

    Attributes:
        coefficients: (k,), intercept first.
        sampling, privacy, clipping: (k, k).
        freedom: degrees of freedom of the standard errors.
        rows: number of whole rows.
        noise: relative noise of the meat.
        weakest: least eigenvalue of the slope, in noise edges.
        unsettled: square of the last step over the stated errors, in white coordinates: what the step may be off by.
        far: mean square of scores over that of the clipped ones; or of the residual, which the start counts in full.
        scatter: mean square of the residual, as far as scores were not clipped, in sigma, and the sd of its noise.
    """

    coefficients: tuple[float, ...]
    sampling: Matrix
    privacy: Matrix
    clipping: Matrix
    freedom: float
    rows: float
    noise: float
    weakest: float
    unsettled: float
    far: float
    scatter: tuple[float, float]


def slope_matrix(slope: ScoreSlope, rows: float) -> tuple[np.ndarray, float]:
    """Return the slope (k, k), drawn towards its mean eigenvalue as its noise requires, and its least in noise edges.

    Noise is an orthogonal ensemble of sd s: it adds s^2 k / 2 to the mean square of the eigenvalues about their mean.
    Eigenvalues may exceed 1, since the start whitens by a covariance that is clipped, too.
    """
    second, sd = np.array(slope.second) / rows, slope.sd / rows
    values, vectors = np.linalg.eigh(second)
    k, middle = len(values), max(float(values.mean()), 0.3)
    noise = sd**2 * k / 2
    spread = max(float(((values - middle) ** 2).mean()) - noise, _TYPICAL**2)
    least = max(_LEAST_SLOPE, min(sd * np.sqrt(k), 0.5 * middle))
    drawn = np.maximum(middle + (values - middle) * spread / (spread + noise), least)
    edge = sd * np.sqrt(2 * k)
    return (vectors * drawn) @ vectors.T, float(values[0] / edge) if edge else float("inf")


@step(title="Newton step")
def newton(line: RegressionLine, scores: ScoreSums, slope: ScoreSlope, rows: float) -> RegressionLine:
    """Move the line to where its mean score would be 0, were the slope the same everywhere."""
    inner, _ = slope_matrix(slope, rows)
    return line.moved(np.linalg.solve(inner, np.array(scores.total) / rows))


@step(title="radius of scores")
def choose_radius(lengths: ScoreLengths, k: int, rows: float, sd_of_one: float) -> ScoreClip:
    """Choose the radius with the least sum of squares of noise and of what clipping takes, from released lengths.

    Args:
        lengths: released.
        k: number of coefficients.
        rows: number of whole rows.
        sd_of_one: noise sd of a coordinate of the sum at radius 1.
    """
    edges, counts = np.array(lengths.edges), np.array(lengths.counts)
    outer = np.append(edges[1:], edges[-1] * edges[-1] / edges[-2])
    certain = counts[1:] > _SEEN * lengths.sd
    quiet = ~certain & ~np.append(certain[1:], False) & ~np.append(certain[2:], [False, False])
    last = int(np.argmax(quiet)) if quiet.any() else len(edges)
    held = np.where(np.arange(len(edges)) < last, np.maximum(counts[1:], 0.0), 0.0)
    middles = np.sqrt(edges * outer)
    beyond = np.array([(held * np.maximum(middles - edge, 0)).sum() for edge in edges])
    # rows that noise may hide lie in the shells after the last that certainly holds some
    reach = np.array([max(edges[min(max(last, j) + 1, len(edges) - 1)] - edge, 0.0) for j, edge in enumerate(edges)])
    lost = _LEAN * np.hypot(beyond, 0.5 * lengths.sd * reach) / (rows * np.sqrt(k))
    noise = edges * sd_of_one / rows
    at = int(np.argmin(noise**2 + lost**2))
    near = max(counts[0], 0.0) * (_MIDDLE * edges[0]) ** 2
    whole = near + float((held * middles**2).sum())
    clipped = near + float((held * np.minimum(middles, edges[at]) ** 2).sum())
    return ScoreClip(float(edges[at]), float(lost[at]), whole / max(clipped, 1e-300))


@step(title="line and its errors")
def conclude(
    line: RegressionLine, scores: ScoreSums, slope: ScoreSlope, clip: ScoreClip, rows: float, alike: float
) -> FittedLine:
    """Make the last step, and the sandwich H^-1 meat H^-1 / n, with the noise of scores and what clipping may take.

    The meat is drawn towards that of even scatter as its noise requires; in the sum of squares of k coefficients noise
    has a mean of zero.

    Args:
        line: on which the last scores were asked.
        scores: released.
        slope: released.
        clip: radius of the scores.
        rows: number of whole rows.
        alike: factor on the meat, as rows of one person may be copies of one another.
    """
    inner, weakest = slope_matrix(slope, rows)
    inverse, k = np.linalg.inv(inner), len(scores.total)
    move = inverse @ np.array(scores.total) / rows
    turn = line.to_coefficients @ inverse
    meat, noise = np.array(scores.meat) / rows, scores.meat_sd / rows
    even = max(float(np.trace(meat)) / k, 0.1)
    relative = noise / even
    own = 1 / (1 + (relative / _WORTH_A_MEAT) ** 2)
    values, vectors = np.linalg.eigh(own * meat + (1 - own) * even * np.eye(k))
    steady = (vectors * np.maximum(values, _LEAST_MEAT * even)) @ vectors.T
    sampling = turn @ steady @ turn.T * alike / max(rows - k, 1.0)
    privacy = turn @ turn.T * (scores.sd / rows) ** 2
    clipping = turn @ turn.T * clip.lost**2
    stated = np.trace(inverse @ (steady * alike / rows + np.eye(k) * (scores.sd / rows) ** 2) @ inverse)
    freedom = max(_LEAST_FREEDOM, 2 / (own * relative) ** 2) if own * relative > 0 else float("inf")
    found = line.moved(move)
    return FittedLine(
        tuple(found.coefficients.tolist()),
        row_tuples(sampling),
        row_tuples(privacy),
        row_tuples(clipping),
        float(min(freedom, rows)),
        rows,
        float(relative),
        weakest,
        float(move @ move / np.sqrt(max(float(stated), 1e-300))),
        max(clip.far, law_kept(k, clip.radius) / max(float(meat[0, 0]), 1e-3)),
        (float(meat[0, 0]), noise),
    )
