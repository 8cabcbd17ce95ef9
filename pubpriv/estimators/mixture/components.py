"""Per-component estimation: one joint private answer per round, for all components and their weights.

A record is given to its likeliest component under the last estimate and whitened by it; count, sum and
second moment of every component are one release (Bie, Kamath and Singhal 2022, algorithm 7, with the errata
that make it private: no |C_i| as a public n, and a replaced record may change two components).
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import LiftedGram
from pubpriv.data.regions import Cells, Partition
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.linear import clip_radius, floored, one_thread
from pubpriv.estimators.mixture.plan import GRAM_SHARES
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

SMALLEST = 5.0
"""A component's released count is taken to be at least this many noise standard deviations."""

LOUDEST = 0.5
"""No whitened variance is estimated below one noise standard deviation, or this if that is smaller."""


@public_value
@dataclass(frozen=True)
class Round:
    """A round's estimate, with what its errors need.

    Attributes:
        mixture: standard coordinates.
        counts: released counts, at least `SMALLEST` noise sds.
        count_sd: noise sd of a count.
        sum_sd: noise sd of a coordinate of a whitened sum.
        moment_sd: noise sd of a diagonal entry of a whitened second moment.
        frames: covariances (k, d, d) by which records were whitened.
    """

    mixture: Mixture
    counts: tuple[float, ...]
    count_sd: float
    sum_sd: float
    moment_sd: float
    frames: tuple[tuple[tuple[float, ...], ...], ...]


def cells_of(scaling: Scaling, mixture: Mixture) -> Cells:
    """Each record's likeliest component: frames that whiten, offsets log w - log det(Sigma)/2."""
    weights, means, covariances = mixture.arrays
    frames = tuple(scaling.frame(m, _inverse_root(c)) for m, c in zip(means, covariances, strict=True))
    offsets = np.log(weights) - np.linalg.slogdet(covariances)[1] / 2
    return Cells(frames, tuple(offsets.tolist()))


Floors = tuple[tuple[float, ...], ...]
"""Least variance of each column in each component, (k, d), in standard coordinates."""


@step(title="per-component estimation", private=True)
@one_thread
def estimate_components(
    curator: Curator,
    scaling: Scaling,
    mixture: Mixture,
    floors: Floors,
    ask: Ask,
    regions: Partition | None = None,
) -> Round:
    """Weights, means and covariances of all components after one hard-assignment round.

    Args:
        curator: the run.
        scaling: of the standard coordinates.
        mixture: the last estimate; records are whitened by its covariances.
        floors: least variances.
        ask: label and price.
        regions: which record is whose, a region for each component; None: the likeliest one's.

    Privacy: one `LiftedGram` over the partition, mu^2 <= ask.price for all components together.
    """
    cells = cells_of(scaling, mixture)
    d = len(scaling.location)
    radii = (clip_radius(d),) * len(cells.frames)
    question = LiftedGram.priced(regions or cells, cells.frames, radii, ask.price, GRAM_SHARES)
    answer = curator.release(question, ask.label)
    noise = {name: float(np.max(sd)) for name, sd in answer.question.noise().items()}
    counts = np.maximum(answer.values["count"], SMALLEST * noise["count"] + 1)
    # records that a component has only because it must not be smaller look like those of the last estimate
    added = counts - np.clip(answer.values["count"], 0, counts)
    means, covariances, frames = [], [], []
    for j, frame in enumerate(answer.question.frames):
        center, whiten = scaling.standard(frame)
        colour = np.linalg.inv(whiten)
        shift = answer.values["sum"][j] / counts[j]
        shift *= _kept(float(np.linalg.norm(shift)), radii[j], noise["sum"] / counts[j], d)
        before = whiten @ mixture.arrays[2][j] @ whiten.T
        spread = (answer.values["moment"][j] + added[j] * before) / counts[j] - np.outer(shift, shift)
        spread = _shrunk(spread, before, noise["moment"] / counts[j])
        means.append(center + colour @ shift)
        covariances.append(floored(colour @ spread @ colour.T, np.array(floors[j])))
        frames.append(tuple(map(tuple, (colour @ colour.T).tolist())))
    estimate = Mixture.of(counts / counts.sum(), means, covariances)
    return Round(estimate, tuple(counts.tolist()), noise["count"], noise["sum"], noise["moment"], tuple(frames))


def _kept(length: float, radius: float, sd: float, d: int) -> float:
    """How much of a shift of the mean is believed: at most a radius, less what noise explains (James and Stein 1961).

    The shift is from the last estimate, whose own noise it undoes, so that both rounds count by their precision.
    """
    explained = max(d - 2, 0) * (sd / max(length, 1e-9)) ** 2
    return max(0.0, 1.0 - explained) * min(1.0, radius / max(length, 1e-9))


def _shrunk(noisy: np.ndarray, before: np.ndarray, sd: float) -> np.ndarray:
    """Towards the last estimate's shape, by as much of the difference as noise explains.

    `noisy` (d, d) has orthogonal-ensemble noise of diagonal sd `sd`, so noise alone moves it by
    sd^2 d (d + 1) / 2 in squared Frobenius norm. Sampling error is not counted: it is what was asked for.
    """
    d = len(noisy)
    target = before * (max(float(np.trace(noisy)), 0.02 * d) / np.trace(before))
    distance = float(((noisy - target) ** 2).sum())
    towards = min(1.0, sd**2 * d * (d + 1) / 2 / max(distance, 1e-12))
    return floored((1 - towards) * noisy + towards * target, min(sd, LOUDEST))


@step(title="weight counting")
def count_weights(last: Round) -> tuple[float, ...]:
    """Mixing weights from the released counts of a round, summing to one; post-processing, free."""
    counts = np.array(last.counts)
    return tuple((counts / counts.sum()).tolist())


def _inverse_root(covariance: np.ndarray) -> np.ndarray:
    """The symmetric C^(-1/2) of a positive definite C."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)
