"""Noise in the shape of what it hides, and its price.

Source: Arbas, Ashtiani and Liaw 2023, algorithm 2 and lemmas F.1, F.2 and F.5; after Ashtiani and Liaw 2022, lemma 5.1.
The paper prices it by tail bounds, at one (epsilon, delta); here by its Renyi divergence at every order, in closed
form.

Proof. Let (mu, S) and (mu', S') be a component of two neighbouring averages, X = S^(-1/2) S' S^(-1/2) with eigenvalues
x_j, |X - I|_F <= g_F and |mu - mu'| <= g_m in the metric of S; v_j = 1 - a + a x_j is positive where a g_F < 1. For
Gaussians D_a(N(0, 1) || N(m, x)) = a m^2 / (2 v) + ln(v / x^a) / (2 (1 - a)).

- Mean: N(mu, e_m^2 S): the sum over j of the second part, and a g_m^2 / (2 e_m^2 (1 - a g_F)) at most.
- Covariance: S^(1/2) (I + e_c G) may be turned from the right, which its square does not show. Turned so that
  S^(-1/2) S'^(1/2) is sqrt(X), and in the eigenvectors of X, row j is N(e_j, e_c^2 I) against
  N(sqrt(x_j) e_j, e_c^2 x_j I): `row_divergence`, with d numbers of variance x_j.
- Together sum_j f(x_j) <= C g_F^2, with C the supremum of f(x) / (x - 1)^2 over |x - 1| <= g_F.

Components are masked apart from each other, and shuffled (lemmas 3.4 and 3.5): k times one's divergence. Weights move
by g_w each.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.papers.populous._blocks import Learnt

ORDERS = np.array([1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512])
"""Orders a of Renyi divergences."""

_ROOM = 0.9
"""Orders a for which a g_F is above this are not used: the divergence grows without bound at 1."""

_GRID = np.concatenate([-np.linspace(1, 0.02, 50), np.linspace(0.02, 1, 50)])
_BETWEEN = 1.001
"""The supremum is taken over a grid; between grid points the function rises by less than this factor."""


@dataclass(frozen=True)
class Masks:
    """Sizes of the noise.

    Attributes:
        weight, mean, covariance: eta_W, eta_MEAN, eta_COV; eta_COV 0: covariances are not released.
    """

    weight: float
    mean: float
    covariance: float


def row_divergence(order: np.ndarray | float, x: np.ndarray | float, eta: float, numbers: int) -> np.ndarray:
    """Compute the Renyi divergence of N(e, eta^2 I) from N(sqrt(x) e, eta^2 x I) in `numbers` dimensions, maybe inf."""
    v = 1 - order + order * np.asarray(x, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = order * (1 - np.sqrt(x)) ** 2 / (2 * eta**2 * v)
        wider = numbers * (np.log(v) - order * np.log(x)) / (2 * (1 - order))
    return np.asarray(np.where(v > 0, moved + wider, np.inf))


def divergences(moves: tuple[float, float, float], masks: Masks, k: int, d: int) -> np.ndarray:
    """Bound the Renyi divergence at each of `ORDERS` between two masked averages.

    Args:
        moves: g_w, g_m and g_F: bounds on the distance between the averages of neighbours.
        masks: sizes of the noise.
        k: number of components.
        d: number of columns.
    """
    g_w, g_m, g_f = moves
    usable = g_f * ORDERS < _ROOM
    room = np.where(usable, 1 - g_f * ORDERS, 1.0)
    weight = ORDERS * g_w**2 / (2 * masks.weight**2) if g_w else 0.0
    mean = ORDERS * g_m**2 / (2 * masks.mean**2 * room)
    shape = _steepest(masks.covariance, g_f, d) * g_f**2
    return np.where(usable, k * (weight + mean + shape), np.inf)


def _steepest(eta: float, g_f: float, d: int) -> np.ndarray:
    """Compute C at each order; each x_j has one number from the mean's mask and d from the covariance's."""
    x = 1 + g_f * _GRID[None, :]
    order = np.where(g_f * ORDERS < _ROOM, ORDERS, 2.0)[:, None]
    if g_f * order.max() >= 1:
        return np.full(len(ORDERS), np.inf)
    divergence = row_divergence(order, x, eta, d + 1) if eta else row_divergence(order, x, 1.0, 1)
    if not eta:  # the first part of the mean's mask is counted separately
        divergence = divergence - order * (1 - np.sqrt(x)) ** 2 / (2 * (1 - order + order * x))
    return np.asarray(_BETWEEN * (divergence / (x - 1) ** 2).max(axis=1))


def masked(average: Learnt, masks: Masks, generator: np.random.Generator) -> Learnt:
    """Add the noise and shuffle components: algorithm 2 of the paper."""
    weights, means, covariances = average
    k, d = means.shape
    roots = np.linalg.cholesky(covariances)
    noisy_weights = np.maximum(weights + masks.weight * generator.standard_normal(k), 0.0)
    noisy_means = means + masks.mean * np.einsum("kij,kj->ki", roots, generator.standard_normal((k, d)))
    scaled = roots @ (np.eye(d) + masks.covariance * generator.standard_normal((k, d, d)))
    order = generator.permutation(k)
    total = noisy_weights.sum()
    shares = noisy_weights / total if total > 0 else np.full(k, 1 / k)
    return shares[order], noisy_means[order], (scaled @ scaled.transpose(0, 2, 1))[order]
