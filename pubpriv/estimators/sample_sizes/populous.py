"""Sample sizes of the Private Populous Estimator, with explicit constants.

Source: Arbas, Ashtiani and Liaw 2023 (AAL): theorem 2.3 (blocks), lemmas F.1, F.2, 4.2 and 5.1 and equation (11) (how
close blocks must be for noise to hide which of them was taken), lemmas 3.6, 4.1 and 5.2 (triangle inequalities) and
theorem 6.2. Constants are the proofs' own; for C_1 of lemma F.5, which the paper leaves open, a sufficient one is used.
Mended, see `docs/errata.md`: the masking radius r is the gamma that the noise hides, not 1; epsilon' stays below
ln(2) / 3; eta_COV has the factor 1 / sqrt(d).

The polynomial of Moitra and Valiant's learner, which the paper runs on each block, is printed nowhere. The calculator
assumes a learner that knows every row's component, so the true requirement is larger.
"""

import math
from dataclasses import dataclass

_COVARIANCE_FACTOR = 6.6
"""C_1 of lemma F.5: with it, noise moves a covariance by more than alpha with probability beta at most."""

APPROXIMATION = 1.5
"""z of lemma 4.1, in the triangle inequality of dist_PARAM."""

_PART_EPSILON = math.log(2) / 3
"""Upper limit of epsilon' for lemma 5.1."""


@dataclass(frozen=True)
class _MaskSizes:
    """Noise of algorithm 2 of AAL, and how close two mixtures must be for it to hide which of them was masked.

    Attributes:
        weight, mean, covariance: eta_W, eta_MEAN and eta_COV.
        radius: gamma, a distance dist_PARAM.
    """

    weight: float
    mean: float
    covariance: float
    radius: float


def parts(epsilon: float, delta: float) -> tuple[float, float]:
    """Return (epsilon', delta') of the test and the mask: theorem 2.3 guarantees (2 epsilon', 4 e^epsilon' delta')."""
    own = min(epsilon / 2, _PART_EPSILON)
    return own, delta / (4 * math.exp(own))


def truncation(epsilon: float, delta: float) -> float:
    """Return A epsilon / sensitivity of TLap (definition C.5), whose noise never exceeds A."""
    return math.log(1 + math.expm1(epsilon) / (2 * delta))


def populous_blocks(epsilon: float, delta: float) -> int:
    """Return t of theorem 2.3 for a release that is (epsilon, delta)-DP as a whole."""
    own, lost = parts(epsilon, delta)
    return max(6, math.ceil(20 / own * truncation(own, lost)))


def mask_sizes(d: int, k: int, epsilon: float, delta: float, alpha: float, beta: float) -> _MaskSizes:
    """Return noise that moves a mixture of k components by at most alpha except with probability beta, and its gamma.

    The mask is (gamma, epsilon, delta): lemma 5.1, for k = 1 lemma 4.2; gamma is the least of lemmas F.1, F.2 and
    equation (11), whose constants are printed.
    """
    if k == 1:
        own, lost = epsilon / 3, delta / 3
    else:
        lost = delta / (6 * k)
        own = min(epsilon / (6 * math.sqrt(2 * k * math.log(2 / delta))), math.sqrt(epsilon / (36 * k)))
    chance = math.log(3 * k / beta)
    tail = math.log(2 / lost)
    eta = alpha / (_COVARIANCE_FACTOR * math.sqrt(d) * (math.sqrt(d) + math.sqrt(math.log(12 * k / beta))))
    of_weight = alpha * own / (2 * math.sqrt(2) * tail * math.sqrt(1 + chance))
    of_mean = min(0.5, own * alpha / (24 * tail * math.sqrt(d + chance)))
    of_covariance = min(
        math.sqrt(own / (2 * d * (d + 1 / eta**2))),
        own / (8 * d * math.sqrt(tail)),
        own / (8 * tail),
        own * eta / (12 * math.sqrt(d * tail)),
    )
    return _MaskSizes(
        alpha / math.sqrt(2 + 2 * chance),
        alpha / math.sqrt(3 * (d + chance)),
        eta,
        min(of_weight, of_mean, of_covariance),
    )


def populous_mixture(d: int, k: int, weight: float, epsilon: float, delta: float, alpha: float, beta: float) -> float:
    """Compute the private rows of theorem 6.2, and for k = 1 of Ashtiani and Liaw 2022: no public rows or bounds.

    There are t blocks, each within gamma / (4 z^2) of the truth in dist_PARAM, so that all are within gamma / (2 z) of
    each other (proof of theorem 2.3), by a learner that knows components. An error of alpha in total variation is one
    of sqrt(2) alpha in dist_PARAM (lemma 6.3).

    Args:
        d: number of columns.
        k: number of components.
        weight: smallest weight.
        epsilon: epsilon of the guarantee.
        delta: delta of the guarantee.
        alpha: total variation error.
        beta: probability of failure.
    """
    blocks = populous_blocks(epsilon, delta)
    own, lost = parts(epsilon, delta)
    half = math.sqrt(2) * alpha / (2 * APPROXIMATION)
    radius = mask_sizes(d, k, own, lost, half, beta / 2).radius
    close = min(half, radius / (4 * APPROXIMATION**2))
    chance = math.log(12 * blocks * k / beta)
    means = d + 2 * math.sqrt(d * chance) + 2 * chance
    covariances = 4 * d * (math.sqrt(d) + math.sqrt(2 * chance)) ** 2
    return blocks * max(chance / 2, max(means, covariances) / weight) / close**2
