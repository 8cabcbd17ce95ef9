"""Weights of a mixture's components in each group, from one question: counts by component and group.

A record is counted for its likeliest component. Where components overlap, some records of one are likeliest in another;
the share of these is computed from the released mixture (`_confusion`), and its effect is undone.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.groups._shrinkage import drawn_together
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_DRAWN, _SEED = 20_000, 20_261
"""Number of synthetic rows drawn from each component to find their cells, and the seed of the draws."""

_LEAST_ROWS, _LEAST_WEIGHT = 2.0, 1e-6
"""A group is taken to have at least this many rows, or this many noise sds of its count, and each component at least
this weight."""


@public_value
@dataclass(frozen=True)
class _GroupCounts:
    """Noisy number of records of each group in each cell, (K, k), and the sd of the noise in each."""

    counts: Matrix
    sd: float


@public_value
@dataclass(frozen=True)
class _ShrunkWeights:
    """Weights of each group, (K, k), and their sampling, privacy and shrinkage errors; see `ShrunkGroups`."""

    rows: tuple[float, ...]
    rows_sd: float
    weights: Matrix
    errors: tuple[Matrix, ...]
    own: Matrix
    alone: Matrix = ()


@step(title="cells of the mixture")
def mixture_cells(mixture: Mixture) -> Cells:
    """Make the regions that assign a record to its likeliest component, in the data's own units."""
    frames, offsets = [], []
    for weight, mean, covariance in zip(*mixture.arrays, strict=True):
        root = np.linalg.cholesky(covariance)
        frames.append(Frame.of(mean, np.linalg.inv(root)))
        offsets.append(float(np.log(weight) - np.log(np.diag(root)).sum()))
    return Cells(tuple(frames), tuple(offsets))


@step(title="count components in all groups", private=True)
def count_groups(curator: Curator, by: ByCategory, cells: Cells, ask: Ask) -> _GroupCounts:
    """Release the number of records of each group in each cell.

    Privacy: one `Counts` over disjoint regions, mu^2, or epsilon^2 in a pure run, at most ask.price.
    """
    answer = curator.release(Counts.priced(Refined(by, (cells,) * by.n_regions), ask.price), ask.label)
    counts = answer.values["count"].reshape(by.n_regions, cells.n_regions)
    return _GroupCounts(row_tuples(counts), float(answer.question.noise()["count"].max()))


@step(title="draw weights of groups together")
def tell_weights(found: _GroupCounts, mixture: Mixture, cells: Cells, widening: float) -> _ShrunkWeights:
    """Compute the weights of groups: undo the overlap of components, then shrink by their errors; free."""
    counts = np.array(found.counts)
    k = counts.shape[1]
    n = np.maximum(counts.sum(axis=1), _LEAST_ROWS * max(1.0, found.sd * np.sqrt(k)))
    shares, undo = counts / n[:, None], np.linalg.pinv(_confusion(mixture, cells))
    weights = shares @ undo.T
    likely = np.clip(shares, 0.0, 1.0)
    sampling, privacy = np.empty_like(weights), np.empty_like(weights)
    for g, p in enumerate(likely):
        spread = widening**2 * (np.diag(p) - np.outer(p, p)) / n[g] + np.eye(k) * widening**2 / n[g] ** 2
        sampling[g] = np.sqrt(np.maximum(np.diag(undo @ spread @ undo.T), 0.0))
        privacy[g] = found.sd / n[g] * np.sqrt((undo**2).sum(axis=1))
    drawn = drawn_together(weights, sampling**2 + privacy**2, privacy**2)
    weights = np.maximum(drawn.values, _LEAST_WEIGHT)
    weights /= weights.sum(axis=1, keepdims=True)
    return _ShrunkWeights(
        rows=tuple(np.maximum(counts.sum(axis=1), 0.0).tolist()),
        rows_sd=float(found.sd * np.sqrt(k)),
        weights=row_tuples(weights),
        errors=(row_tuples(drawn.own * sampling), row_tuples(drawn.own * privacy), row_tuples(drawn.error)),
        own=row_tuples(drawn.own),
        alone=row_tuples(sampling),
    )


def _confusion(mixture: Mixture, cells: Cells) -> np.ndarray:
    """Estimate the shares (k, k) of rows of component j that are likeliest in component i."""
    _, means, covariances = mixture.arrays
    generator = np.random.default_rng(_SEED)
    found = np.empty((len(means), len(means)))
    for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        rows = generator.multivariate_normal(mean, covariance, _DRAWN, method="cholesky")
        scores = [
            offset - (((rows - frame.center) @ frame.dense()[1].T) ** 2).sum(axis=1) / 2
            for frame, offset in zip(cells.frames, cells.offsets, strict=True)
        ]
        found[:, j] = np.bincount(np.argmax(scores, axis=0), minlength=len(means)) / _DRAWN
    return found
