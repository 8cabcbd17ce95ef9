"""The Private Populous Estimator as printed: one block's mixture is taken, and masked.

Source: Arbas, Ashtiani and Liaw 2023, algorithm 1 (theorem 2.3, theorem 6.2), with algorithm 2 as its mask. Mended, see
`docs/errata.md`: blocks agree within gamma / (2 z) of each other, where gamma is what the mask hides (the printed r is
1). As printed, a run passes at 0.8 plus the largest noise; the proof of utility has 0.9.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.papers.populous._blocks import Blocks, Learnt
from benchmarks.papers.populous._masks import Masks, masked
from pubpriv.estimators.sample_sizes.populous import APPROXIMATION, mask_sizes, parts, truncation

_PASSED, _MOST = 0.8, 0.6
"""Q must exceed the first; the block that is taken agrees with more than the second share of blocks."""


@dataclass(frozen=True)
class _Populous:
    """The result of algorithm 1.

    Attributes:
        answer: the masked mixture; None: no answer.
        agreement: Q, the mean share of blocks that a block agrees with.
        bar: threshold for Q with noise.
    """

    answer: Learnt | None
    agreement: float
    bar: float


def populous(
    blocks: Blocks, epsilon: float, delta: float, alpha: float, beta: float, generator: np.random.Generator
) -> _Populous:
    """Run algorithm 1 on the mixtures of t blocks; it is (epsilon, delta)-DP as a whole.

    Args:
        blocks: the blocks' mixtures; a block without one agrees with none.
        epsilon: epsilon of the guarantee.
        delta: delta of the guarantee.
        alpha: error in dist_PARAM that the mask may make.
        beta: probability that it makes more.
        generator: source of randomness.
    """
    t, k, d = blocks.shape
    own, lost = parts(epsilon, delta)
    sizes = mask_sizes(d, k, own, lost, alpha, beta)
    shares = _agreeing(blocks, sizes.radius / (2 * APPROXIMATION)).mean(axis=1)
    agreement = float(shares.mean())
    end = 2 / (t * own) * truncation(own, lost)
    bar = _PASSED + end
    if agreement + truncated_laplace(2 / t, own, end, generator) < bar:
        return _Populous(None, agreement, bar)
    taken = int(np.argmax(shares > _MOST))
    mixture = blocks.weights[taken], blocks.means[taken], blocks.covariances[taken]
    masks = Masks(sizes.weight, sizes.mean, sizes.covariance)
    return _Populous(masked(mixture, masks, generator), agreement, bar)


def truncated_laplace(sensitivity: float, epsilon: float, end: float, generator: np.random.Generator) -> float:
    """Draw from TLap (definition C.5): Laplace noise of scale sensitivity / epsilon that never exceeds `end`."""
    scale = sensitivity / epsilon
    size = -scale * np.log1p(generator.random() * np.expm1(-end / scale))
    return float(size if generator.random() < 1 / 2 else -size)


def _agreeing(blocks: Blocks, radius: float) -> np.ndarray:
    """Find the pairs (t, t) with dist_PARAM of at most `radius`: all components match within it, in some order."""
    t, _, _ = blocks.shape
    roots = np.linalg.inv(np.linalg.cholesky(blocks.covariances))
    found, known = np.zeros((t, t), dtype=bool), np.flatnonzero(blocks.learnt)
    for place, i in enumerate(known):
        others = known[place:]
        near = _distances(blocks, roots, int(i), others) <= radius
        ways = near.sum(axis=1), near.sum(axis=2)
        found[i, others] = (ways[0] == 1).all(axis=1) & (ways[1] == 1).all(axis=1)
        unclear = (ways[0] > 0).all(axis=1) & (ways[1] > 0).all(axis=1) & ~found[i, others]
        for pair in np.flatnonzero(unclear):
            found[i, others[pair]] = _matched(near[pair])
    return found | found.T


def _distances(blocks: Blocks, roots: np.ndarray, i: int, others: np.ndarray) -> np.ndarray:
    """Compute dist_COMP (len(others), k, k) of block i's components to those of others (equation (1) of the paper)."""
    shift = blocks.means[others][:, None] - blocks.means[i][:, None]
    forth = np.sqrt((np.einsum("aij,tabj->tabi", roots[i], shift) ** 2).sum(axis=3))
    back = np.sqrt((np.einsum("tbij,tabj->tabi", roots[others], shift) ** 2).sum(axis=3))
    turned = roots[i][None, :, None]
    values = np.linalg.eigvalsh(turned @ blocks.covariances[others][:, None] @ turned.transpose(0, 1, 2, 4, 3))
    values = np.maximum(values, np.finfo(float).tiny)
    shapes = (np.linalg.norm(off, axis=3) for off in (values - 1, 1 / values - 1))
    weights = np.abs(blocks.weights[others][:, None] - blocks.weights[i][:, None])
    return np.asarray(np.maximum.reduce([weights, forth, back, *shapes]))


def _matched(near: np.ndarray) -> bool:
    """Decide whether the pairs (k, k) contain a perfect matching."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return bool((maximum_bipartite_matching(csr_matrix(near)) >= 0).all())
