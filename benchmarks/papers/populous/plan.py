"""What is fixed before a row is seen: when blocks agree, when enough of them do, and the noise; for a given guarantee.

There are two cases for two neighbouring tables. If the h-index reaches `least` in both, a run is a Gaussian mechanism
on a number of sensitivity 1, and the mask: their Renyi divergences add, and convert to epsilon at the whole delta
(Canonne, Kamath and Steinke 2020, proposition 12). If it does not in one of them, it is at most `least` in both, so
either gives an answer with probability at most P(N(0, sd^2) > bar - least) = delta, and the probabilities of "no
answer" differ by at most delta.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.papers.populous._agreement import Weighting
from benchmarks.papers.populous._closeness import Closeness
from benchmarks.papers.populous._masks import ORDERS, Masks, divergences

_RAMPS = (0.06, 0.1, 0.14, 0.18, 0.22, 0.26, 0.3, 0.34)
"""Ramps that are tried, as shares of t."""

_EXPECTED = 0.86
"""Expected h-index, as a share of t, for a table whose blocks have the same law."""

_SPARE = 2.0
"""Number of sds of the test's noise by which such a table should pass the test."""

_SHARES = (0.1, 0.4, 0.5)
"""Shares of weights, means and covariances in the divergence of the masks; the share of what is not masked goes to the
others."""

_QUANTILE, _WIDER = 0.993, 1.05
"""Blocks agree up to this quantile of the distance of two blocks of one Gaussian, times this factor."""

_DRAWS = 150
_DRAWN_ROWS = 300
"""Most rows that are drawn for a block, or 40 per column if that is more; for larger blocks distances are scaled as
1 / sqrt(rows)."""


@dataclass(frozen=True)
class PopulousPlan:
    """The plan of a run.

    Attributes:
        closeness: criterion for blocks to agree.
        weighting: weights of blocks.
        sd: sd of the noise on the h-index.
        bar: threshold for the noisy h-index.
        masks: sizes of the noise.
        predicted: errors from the noise: of means (Mahalanobis) and covariances (relative, Frobenius), root mean
            square.
    """

    closeness: Closeness
    weighting: Weighting
    sd: float
    bar: float
    masks: Masks
    predicted: tuple[float, float]


def typical_closeness(d: int, k: int, size: int, generator: np.random.Generator) -> Closeness:
    """Simulate the distance of two blocks of one law: k Gaussians of equal weight, rows labelled; no table is used.

    Utility depends on it, privacy does not. Distances do not depend on means and covariances, so standard ones are
    used.

    Args:
        d: number of columns.
        k: number of components.
        size: number of rows in a block.
        generator: source of randomness.
    """
    rows = max(size // k, d + 2)
    drawn = min(rows, max(40 * d, _DRAWN_ROWS))
    pairs = generator.standard_normal((_DRAWS, k, 2, drawn, d))
    means = pairs.mean(axis=3)
    centred = pairs - means[:, :, :, None]
    covariances = np.einsum("pkbni,pkbnj->pkbij", centred, centred) / (drawn - 1)
    roots = np.linalg.inv(np.linalg.cholesky(covariances[:, :, 0]))
    relative = np.linalg.eigvalsh(roots @ covariances[:, :, 1] @ roots.transpose(0, 1, 3, 2))
    off = np.maximum(np.abs(relative - 1), np.abs(1 / relative - 1))
    moved = np.einsum("pkij,pkj->pki", roots, means[:, :, 1] - means[:, :, 0])
    found = np.stack([np.linalg.norm(moved, axis=2), np.linalg.norm(off, axis=2), off.max(axis=2)]).max(axis=2)
    mean, frobenius, spectral = np.quantile(found, _QUANTILE, axis=1) * _WIDER * math.sqrt(drawn / rows)
    spread = math.sqrt(2 / k * (1 - 1 / k) / size)
    weights = np.abs(generator.standard_normal((_DRAWS, k))).max(axis=1) * spread
    weight = _WIDER * float(np.quantile(weights, _QUANTILE))
    return Closeness(weight, float(mean), float(frobenius), float(spectral))


def make_plan(
    d: int, k: int, epsilon: float, delta: float, blocks: int, closeness: Closeness, only_means: bool = False
) -> PopulousPlan | None:
    """Find the ramp and the masks of least noise for which a run would be (epsilon, delta)-DP; None: there are none.

    Args:
        d: number of columns.
        k: number of components.
        epsilon: epsilon of the guarantee.
        delta: delta of the guarantee.
        blocks: t.
        closeness: criterion for blocks to agree.
        only_means: whether to release weights and means only.
    """
    tried = [Weighting(blocks, round(ramp * blocks)) for ramp in _RAMPS]
    found = [_planned(d, k, epsilon, delta, weighting, closeness, only_means) for weighting in tried]
    plans = [each for each in found if each is not None]
    part = 0 if only_means else 1
    return min(plans, key=lambda plan: plan.predicted[part], default=None)


def _planned(
    d: int, k: int, epsilon: float, delta: float, weighting: Weighting, closeness: Closeness, only_means: bool
) -> PopulousPlan | None:
    from scipy.special import ndtri

    room = _EXPECTED * weighting.blocks - weighting.least
    if weighting.ramp < 1 or room <= 0:
        return None
    tail = -float(ndtri(delta))
    sd = room / (tail + _SPARE)
    weight, mean, covariance = (weighting.moved * reach for reach in closeness.reach)
    shares = np.array(_SHARES) * (k > 1, True, not only_means)
    shares = np.sqrt(shares / shares.sum() / k)
    tested = ORDERS / (2 * sd**2)

    def masks(loud: float) -> Masks:
        """Return masks in the given shares; a larger `loud` means more noise and a smaller divergence."""
        sizes = np.divide((weight, mean, covariance / 2), shares, out=np.zeros(3), where=shares > 0) * loud
        return Masks(*map(float, sizes))

    def fits(loud: float) -> bool:
        return epsilon_of(tested + divergences((weight, mean, covariance), masks(loud), k, d), delta) <= epsilon

    low, high = 0.02, 2.0**14
    if not fits(high):
        return None
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    chosen = masks(high)
    predicted = chosen.mean * math.sqrt(d), chosen.covariance * math.sqrt(2 * d * (d + 1))
    return PopulousPlan(closeness, weighting, sd, weighting.least + sd * tail, chosen, predicted)


def epsilon_of(divergence: np.ndarray, delta: float) -> float:
    """Find the least epsilon that Renyi divergences at `ORDERS` imply at delta (proposition 12 of the above)."""
    left = (math.log(1 / delta) + (ORDERS - 1) * np.log1p(-1 / ORDERS) - np.log(ORDERS)) / (ORDERS - 1)
    return float((divergence + left).min())
