"""Covariances of fewer numbers: diagonal, spherical, and the choice between them.

| type | numbers per component | question of a round |
|---|---|---|
| `full` | d (d + 1) / 2 | `LiftedGram` (`components.estimate_components`) |
| `diag` | d | `LiftedGram`, of which the diagonal is used |
| `spherical` | 1 | `Moments`: count, sum, squared norm |

A diagonal needs no question of its own: the sum of the squares of z, column by column, has the same sensitivity R^4 as
the sum of z z' (a record may lie on one axis), so leaving the other entries out would not make its noise smaller.

`spherical` means one variance for all columns in the data's own units.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import LiftedGram, Moments
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.components import LOUDEST, SMALLEST, Floors, Round, cells_of
from pubpriv.estimators.mixture.linear import clip_radius, one_thread
from pubpriv.estimators.mixture.plan import GRAM_SHARES, MOMENT_SHARES, SPHERICAL_REACH
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_EXPLAINED = 2.0
"""Numbers whose scatter is below this many times what noise and sampling explain are dropped: kept, they would add more
error than they take away."""

_SPREAD = 0.02, 4.0
"""A spherical variance changes by no more than these factors in a round."""


@public_value
@dataclass(frozen=True)
class Shape:
    """A covariance type and why it was taken."""

    kind: str
    reason: str


def shaped(mixture: Mixture, kind: str, scaling: Scaling) -> Mixture:
    """The mixture, in standard coordinates, with covariances of that type: nearest in the data's own units."""
    if kind in ("full", "auto"):
        return mixture
    weights, means, covariances = mixture.arrays
    scale = np.array(scaling.scale)
    variances = np.einsum("kii->ki", covariances)
    if kind == "spherical":
        variances = (variances * scale**2).mean(axis=1)[:, None] / scale**2
    return Mixture.of(weights, means, [np.diag(own) for own in variances])


@step(title="per-component estimation", private=True)
@one_thread
def estimate_diagonal(curator: Curator, scaling: Scaling, mixture: Mixture, floors: Floors, ask: Ask) -> Round:
    """Weights, means and column variances of all components after one hard-assignment round.

    `mixture` has diagonal covariances. Variances are drawn towards those of the last estimate, which are equal after
    whitening, by as much of their scatter as noise explains.

    Privacy: one `LiftedGram` over the partition, mu^2 <= ask.price for all components together.
    """
    cells = cells_of(scaling, mixture)
    d, k = len(scaling.location), len(cells.frames)
    question = LiftedGram.priced(cells, cells.frames, (clip_radius(d),) * k, ask.price, GRAM_SHARES)
    answer = curator.release(question, ask.label)
    noise = {name: float(np.max(sd)) for name, sd in answer.question.noise().items()}
    counts = np.maximum(answer.values["count"], SMALLEST * noise["count"] + 1)
    centers, roots = _diagonal_frames(scaling, answer.question)
    shifts = _kept(answer.values["sum"] / counts[:, None], clip_radius(d))
    variances = np.einsum("kii->ki", answer.values["moment"]) / counts[:, None] - shifts**2
    sd = noise["moment"] / counts
    target = np.maximum(variances.mean(axis=1), 0.02)[:, None]
    distance = ((variances - target) ** 2).sum(axis=1)
    towards = np.minimum(1.0, sd**2 * d / np.maximum(distance, 1e-12))[:, None]
    variances = np.maximum((1 - towards) * variances + towards * target, np.minimum(sd, LOUDEST)[:, None])
    released = np.maximum(roots**2 * variances, np.array(floors))
    estimate = Mixture.of(counts / counts.sum(), centers + roots * shifts, [np.diag(own) for own in released])
    return _round(estimate, counts, noise["count"], noise["sum"], noise["moment"], roots)


@step(title="per-component estimation", private=True)
@one_thread
def estimate_spherical(curator: Curator, scaling: Scaling, mixture: Mixture, floors: Floors, ask: Ask) -> Round:
    """Weights, means and one variance for each component after one hard-assignment round.

    `mixture` has spherical covariances. The round's `moment_sd` is the noise of the one variance, whitened.

    Privacy: one `Moments` over the partition, mu^2 <= ask.price for all components together.
    """
    cells = cells_of(scaling, mixture)
    d, k = len(scaling.location), len(cells.frames)
    radius = clip_radius(d, SPHERICAL_REACH)
    question = Moments.priced(cells, cells.frames, (radius,) * k, ask.price, MOMENT_SHARES)
    answer = curator.release(question, ask.label)
    noise = {name: float(np.max(sd)) for name, sd in answer.question.noise().items()}
    counts = np.maximum(answer.values["count"], SMALLEST * noise["count"] + 1)
    centers, roots = _diagonal_frames(scaling, answer.question)
    noisy = answer.values["sum"].reshape(k, d) / counts[:, None]
    # the squared norm of the noisy shift is that of the shift and of its noise
    moved = np.maximum((noisy**2).sum(axis=1) - d * (noise["sum"] / counts) ** 2, 0.0)
    factors = np.clip((answer.values["square"] / counts - moved) / d, *_SPREAD)
    own = roots**2 * factors[:, None]
    own *= np.maximum(np.array(floors) / own, 1.0).max(axis=1)[:, None]
    estimate = Mixture.of(
        counts / counts.sum(), centers + roots * _kept(noisy, radius), [np.diag(variances) for variances in own]
    )
    return _round(estimate, counts, noise["count"], noise["sum"], noise["square"] / d, roots)


@step(title="covariance type")
def choose_shape(last: Round, scaling: Scaling) -> Shape:
    """The type that `auto` takes after the last round: numbers that noise explains are dropped. Post-processing, free.

    Args:
        last: a round of full covariances.
        scaling: of the standard coordinates.
    """
    _, _, covariances = last.mixture.arrays
    frames, counts = np.array(last.frames), np.array(last.counts)
    own, by = np.einsum("kii->ki", covariances), np.einsum("kii->ki", frames)
    d = own.shape[1]
    if d == 1:
        return Shape("full", "one column: all types are the same")
    off = ~np.eye(d, dtype=bool)
    sides = own[:, :, None] * own[:, None, :]
    sampling = (sides + covariances**2) / counts[:, None, None]
    noise = (by[:, :, None] * by[:, None, :] + frames**2) / 2 * (last.moment_sd / counts[:, None, None]) ** 2
    seen = float((covariances**2 / sides)[:, off].mean())
    expected = float(((sampling + noise) / sides)[:, off].mean())
    if seen > _EXPLAINED * expected:
        text = f"correlations are {math.sqrt(seen):.2g} (root mean square), noise and sampling explain"
        return Shape("full", f"{text} {math.sqrt(expected):.2g}")
    text = f"correlations ({math.sqrt(seen):.2g}, root mean square) are no more than noise and sampling explain"
    scale = np.array(scaling.scale)
    relative = own * scale**2 / (own * scale**2).mean(axis=1)[:, None]
    scatter = float(((relative - 1) ** 2).mean())
    expected = float((((sampling + noise)[:, ~off]) / own**2).mean())
    if scatter > _EXPLAINED * expected:
        return Shape("diag", f"{text}; variances of columns differ by more")
    return Shape("spherical", f"{text}, and so are differences of variances")


def narrowed(last: Round, kind: str, scaling: Scaling) -> Round:
    """A round of full covariances with those of that type; the mean of d noisy variances is less noisy than one."""
    d = len(scaling.location)
    quieter = last.moment_sd / d**0.5 if kind == "spherical" else last.moment_sd
    return replace(last, mixture=shaped(last.mixture, kind, scaling), moment_sd=quieter)


def shaped_errors(errors: dict[str, Any], kind: str) -> dict[str, Any]:
    """Standard errors of a released model of that type: entries that are zero by choice have none.

    `errors` are those of full covariances; one variance for d columns has a sampling error smaller by sqrt(d).
    """
    if kind in ("full", "auto"):
        return errors
    parts = {}
    for name, found in errors["covariances"].items():
        d = found.shape[-1]
        own = np.einsum("kii->ki", found)
        if kind == "spherical":
            own = np.sqrt((own**2).mean(axis=1, keepdims=True)) * np.ones(d) / (d**0.5 if name == "sampling" else 1.0)
        parts[name] = own[:, :, None] * np.eye(d)
    return errors | {"covariances": parts}


def exact(covariances: np.ndarray, kind: str) -> np.ndarray:
    """Covariances (k, d, d) in the data's own units, to the last bit of that type."""
    if kind in ("full", "auto"):
        return covariances
    own = np.einsum("kii->ki", covariances)
    if kind == "spherical":
        own = own.mean(axis=1, keepdims=True) * np.ones(own.shape[1])
    return np.asarray(own[:, :, None] * np.eye(own.shape[1]))


def _diagonal_frames(scaling: Scaling, question: Any) -> tuple[np.ndarray, np.ndarray]:
    """Centers (k, d) and column sds (k, d) by which records were whitened, in standard coordinates."""
    centers, matrices = zip(*(scaling.standard(frame) for frame in question.frames), strict=True)
    return np.array(centers), 1 / np.array([np.diag(matrix) for matrix in matrices])


def _kept(shifts: np.ndarray, radius: float) -> np.ndarray:
    """Shifts (k, d) no longer than the radius that no record is beyond."""
    lengths = np.linalg.norm(shifts, axis=1, keepdims=True)
    return np.asarray(shifts * np.minimum(1.0, radius / np.maximum(lengths, 1e-9)))


def _round(
    estimate: Mixture, counts: np.ndarray, count_sd: float, sum_sd: float, moment_sd: float, roots: np.ndarray
) -> Round:
    frames = tuple(tuple(map(tuple, np.diag(root**2).tolist())) for root in roots)
    return Round(estimate, tuple(counts.tolist()), count_sd, sum_sd, moment_sd, frames)
