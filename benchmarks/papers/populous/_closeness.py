"""Which blocks agree, and a bound on the distance of two blocks that agree with a third.

Source: Arbas, Ashtiani and Liaw 2023, dist_PARAM (equations (1) and (2)), which is one number. Here weights, means and
covariances have a threshold each, fixed before a row is seen, which permits blocks that are further apart.

Proof. Write x = 1 + c_s. Let block i be linked to block j, and j to l, by permutations of components. Component a of i,
its match b of j and b's match c of l have covariances whose relative eigenvalues lie in [1 / x, x] per link, so norms
change by at most sqrt(x) when the metric moves along a link. In the metric of a,

- the means of a and c are at most tau = c_m (1 + sqrt(x)) apart,
- the covariances, relative, at most c_F (1 + x) in Frobenius norm and by factors in [1 / x^2, x^2],
- the weights at most 2 c_w.

*Matches are transitive.* Let r, i, l be three blocks such that any two share a neighbour, a a component of r, b its
match in i, c the match of b in l, and c' the match of a in l. In the metric of c the means of c and b are at most tau
apart, those of b and a at most x tau, those of a and c' at most x^2 tau. If c and c' differed, two components of l
would be at most tau (1 + x + x^2) apart in the metric of one of them. Blocks with such components are not valid, and
have no neighbours. So matches do not depend on the neighbour, and chains of them close.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.papers.populous._blocks import Blocks


@dataclass(frozen=True)
class Closeness:
    """How close two blocks must be to agree, under one permutation of components, in the metric of either.

    Attributes:
        weight: c_w, for weights.
        mean: c_m, for means (Mahalanobis).
        frobenius: c_F, for relative covariances minus the identity.
        spectral: c_s, for the same in spectral norm.
    """

    weight: float
    mean: float
    frobenius: float
    spectral: float

    @property
    def apart(self) -> float:
        """Mahalanobis distance that the means of a valid block must exceed, in the metric of either component."""
        x = 1 + self.spectral
        return self._through_one * (1 + x + x * x)

    @property
    def reach(self) -> tuple[float, float, float]:
        """Bounds on the distance of two blocks that share a neighbour, in the metric of an average of such blocks.

        For weights, means and covariances (Frobenius). Each covariance of the average is at least that of any of its
        blocks divided by x^2: norms grow by x, relative matrices by x^2.
        """
        x = 1 + self.spectral
        return 2 * self.weight, self._through_one * x, self.frobenius * (1 + x) * x * x

    @property
    def _through_one(self) -> float:
        """tau: distance of means across two links."""
        return self.mean * (1 + math.sqrt(1 + self.spectral))


def agreeing(blocks: Blocks, closeness: Closeness) -> np.ndarray:
    """Find the pairs (t, t) of blocks that agree, symmetric; a valid block agrees with itself, others with none."""
    t, k, _ = blocks.shape
    roots = np.linalg.inv(np.linalg.cholesky(blocks.covariances))
    valid = blocks.learnt & _separated(blocks, roots, closeness.apart)
    found = np.zeros((t, t), dtype=bool)
    known = np.flatnonzero(valid)
    for place, i in enumerate(known):
        others = known[place:]
        moved = np.einsum("aij,tbaj->tbai", roots[i], blocks.means[others][:, :, None] - blocks.means[i])
        far = np.sqrt((moved**2).sum(axis=3)).transpose(0, 2, 1)
        match = far.argmin(axis=2)  # in valid blocks no other component can be as near
        near = np.take_along_axis(far, match[:, :, None], axis=2).max(axis=(1, 2)) <= closeness.mean
        one_to_one = (np.sort(match, axis=1) == np.arange(k)).all(axis=1)
        others, match = others[near & one_to_one], match[near & one_to_one]
        found[i, others] = _pairs_agree(blocks, roots, int(i), others, match, closeness)
    return found | found.T


def aligned(blocks: Blocks, members: np.ndarray) -> np.ndarray:
    """Give the components of blocks `members` in the order of the first of them: (len(members), k) indices.

    Every two of them must share a neighbour: the match of a component is then the nearest one, see above.
    """
    first = members[0]
    roots = np.linalg.inv(np.linalg.cholesky(blocks.covariances[first]))
    moved = np.einsum("aij,tbaj->tbai", roots, blocks.means[members][:, :, None] - blocks.means[first])
    return np.asarray((moved**2).sum(axis=3).transpose(0, 2, 1).argmin(axis=2))


def _separated(blocks: Blocks, roots: np.ndarray, apart: float) -> np.ndarray:
    """Decide whether (t,) all components of a block are further apart than `apart`, each in its own metric."""
    _, k, _ = blocks.shape
    moved = np.einsum("taij,tbaj->tbai", roots, blocks.means[:, :, None] - blocks.means[:, None])
    far = np.where(np.eye(k, dtype=bool), np.inf, np.sqrt((moved**2).sum(axis=3)))
    return np.asarray((far > apart).all(axis=(1, 2)))


def _pairs_agree(
    blocks: Blocks, roots: np.ndarray, i: int, others: np.ndarray, match: np.ndarray, closeness: Closeness
) -> np.ndarray:
    """Decide whether (len(others),) block i agrees with others under the matches (len(others), k)."""
    means, covariances = (
        np.take_along_axis(part[others], match.reshape(*match.shape, *[1] * (part.ndim - 2)), axis=1)
        for part in (blocks.means, blocks.covariances)
    )
    theirs = np.take_along_axis(roots[others], match[:, :, None, None], axis=1)
    back = np.sqrt((np.einsum("taij,taj->tai", theirs, means - blocks.means[i]) ** 2).sum(axis=2))
    weights = np.abs(np.take_along_axis(blocks.weights[others], match, axis=1) - blocks.weights[i])
    relative = np.linalg.eigvalsh(roots[i] @ covariances @ roots[i].transpose(0, 2, 1))
    relative = np.maximum(relative, np.finfo(float).tiny)
    off = np.maximum(np.abs(relative - 1), np.abs(1 / relative - 1))
    return np.asarray(
        (back.max(axis=1) <= closeness.mean)
        & (weights.max(axis=1) <= closeness.weight)
        & (np.sqrt((off**2).sum(axis=2)).max(axis=1) <= closeness.frobenius)
        & (off.max(axis=(1, 2)) <= closeness.spectral)
    )
