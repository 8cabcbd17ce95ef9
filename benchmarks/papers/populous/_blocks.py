"""Learn each block of rows by a non-private learner.

Source: Arbas, Ashtiani and Liaw 2023, algorithm 1, lines 1 and 2. The paper runs the learner of Moitra and Valiant
(theorem 6.5, corollary 6.6), which has no implementation; privacy does not depend on it, so any function may replace
it.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pubpriv.data.arithmetic import in_one_thread

Learnt = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A mixture from a learner: weights (k,), means (k, d), covariances (k, d, d)."""

Learner = Callable[[np.ndarray, int, np.random.Generator], Learnt | None]
"""Turns the rows of a block (s, d), k and a source of randomness into a mixture; None if it finds none."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Mixtures of t blocks.

    Attributes:
        weights: (t, k).
        means: (t, k, d).
        covariances: (t, k, d, d), positive definite.
        learnt: (t,) whether the block has a mixture; if not, its numbers have no meaning.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    learnt: np.ndarray

    @classmethod
    def of(cls, found: list[Learnt | None], k: int, d: int) -> "Blocks":
        """Collect mixtures; one with a number that is not finite, or an invalid covariance, counts as none."""
        blank = np.full(k, 1 / k), np.zeros((k, d)), np.stack([np.eye(d)] * k)
        kept = [each if each is not None and _is_mixture(each, k, d) else None for each in found]
        parts = [blank if each is None else each for each in kept]
        weights, means, covariances = (np.stack([part[i] for part in parts]) for i in range(3))
        return cls(weights, means, covariances, np.array([each is not None for each in kept]))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(t, k, d)."""
        t, k, d = self.means.shape
        return t, k, d


def learn(rows: np.ndarray, blocks: int, k: int, learner: Learner, seed: int) -> Blocks:
    """Cut rows into equal blocks, in their order, and learn each; remaining rows are not used.

    Each block has its own random stream, so one changed row changes only one block's mixture. A block with a row that
    is not finite has no mixture.

    Args:
        rows: (n, d).
        blocks: t.
        k: number of components.
        learner: see `Learner`.
        seed: seed of all streams.
    """
    size = len(rows) // blocks
    with in_one_thread():
        found = [
            learner(own, k, np.random.default_rng([seed, i])) if np.isfinite(own).all() else None
            for i, own in enumerate(rows[: size * blocks].reshape(blocks, size, -1))
        ]
    return Blocks.of(found, k, rows.shape[1])


def expectation_maximisation(rows: np.ndarray, k: int, generator: np.random.Generator) -> Learnt | None:
    """Fit by scikit-learn's EM from one k-means start; None if a component has too few rows for a covariance.

    Rows are standardised first, so that the regularisation of covariances is small in any unit. A single component has
    the mean and the covariance of the rows.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    center, scale = rows.mean(axis=0), rows.std(axis=0)
    if len(rows) < k * (rows.shape[1] + 2) or not (scale > 0).all():
        return None
    if k == 1:
        return np.ones(1), center[None], np.cov(rows.T).reshape(1, len(center), len(center))
    model = GaussianMixture(k, reg_covar=1e-9, random_state=int(generator.integers(2**31)), max_iter=50)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit((rows - center) / scale)
    except ValueError:  # a component collapsed
        return None
    if model.weights_.min() * len(rows) < rows.shape[1] + 2:
        return None
    return model.weights_, center + scale * model.means_, model.covariances_ * np.outer(scale, scale)


def _is_mixture(found: Learnt, k: int, d: int) -> bool:
    weights, means, covariances = (np.asarray(part) for part in found)
    if (weights.shape, means.shape, covariances.shape) != ((k,), (k, d), (k, d, d)):
        return False
    if not all(np.isfinite(part).all() for part in (weights, means, covariances)):
        return False
    try:
        np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        return False
    return True
