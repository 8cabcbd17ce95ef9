"""Exact constants of clipped Gaussians: the effect of clipping to a radius on means, second moments and their noise.

psi_r(w) = w min(1, r / |w|). Everything here is a formula in public numbers (d, r, n, rho); no row is read.

Derivations: for w ~ N(delta, I), Stein's lemma gives d E[psi_r] / d delta = E[<psi_r(w), w>] / d at delta = 0;
for w ~ N(0, I + A) the score in A is (w'Aw - tr A) / 2, and only E[min(|w|^2, r^2) |w|^2] is needed. Radial
moments are chi-square tails: E[|w|^2j; |w| <= r] = d (d + 2) ... (d + 2j - 2) F_(d+2j)(r^2).
"""

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from pubpriv.estimators._even_rows import even_chances

_GOLDEN, _STEPS = 0.5 * (3.0 - math.sqrt(5.0)), 26
"""How far from either end of an interval a search for a minimum looks, as a part of it, and its steps: radii are right
to one in 100,000, and errors to one in 10^10."""

_NORMALS = 4000
"""Number of rows of normals from which a median is computed: to 3% in one column, to 1% in five."""


@dataclass(frozen=True)
class _MeanConstants:
    """Constants of the mean of psi_r(w), w ~ N(delta, I_d), at small delta.

    Attributes:
        slope: kappa, E psi_r = kappa delta + O(delta^3).
        variance: v, variance of one coordinate of psi_r at delta = 0.
    """

    slope: float
    variance: float


@dataclass(frozen=True)
class _MomentConstants:
    """Constants of S = psi_r(w) psi_r(w)', w ~ N(0, I_d + A): E S = level I + shape A0 + trace (tr A / d) I + O(A^2).

    Attributes:
        level: c0, a diagonal entry of E S at A = 0.
        shape: ks, the slope in the traceless part A0.
        trace: kt, the slope in tr A / d.
        shape_variance: vs, variance of <S, E> for a traceless E of Frobenius norm 1.
        trace_variance: vt, variance of <S, I / sqrt d>.
    """

    level: float
    shape: float
    trace: float
    shape_variance: float
    trace_variance: float


@cache
def mean_constants(d: int, radius: float) -> _MeanConstants:
    """Compute kappa and v for clip radius `radius` in R^d."""
    slope, variance = mean_curves(d, np.array([radius]))
    return _MeanConstants(float(slope[0]), float(variance[0]))


def mean_curves(d: int, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute (kappa, v) for many clip radii (count,)."""
    from scipy.special import gammainc, gammaincc

    half = radii * radii / 2
    slope = gammainc(d / 2, half)
    if d > 1:
        inverse = math.exp(math.lgamma((d - 1) / 2) - math.lgamma(d / 2)) / math.sqrt(2)
        slope = slope + radii * (1 - 1 / d) * inverse * gammaincc((d - 1) / 2, half)
    return slope, gammainc(d / 2 + 1, half) + 2 * half / d * gammaincc(d / 2, half)


def response(d: int, radius: float, distances: np.ndarray) -> np.ndarray:
    """Compute |E psi_r(w)| for w ~ N(delta, I_d) with |delta| in `distances` (count,), by quadrature to about 1%.

    The quadrature is over z along delta (evenly spaced, because psi has a kink there), and over the length of z across
    it.
    """
    along = np.linspace(-6, 6, 97)
    weights = np.exp(-along * along / 2)
    across = _squared_lengths(d - 1, 48) if d > 1 else np.zeros(1)
    moved = distances[:, None] + along
    norms = np.sqrt(moved[:, :, None] ** 2 + across)
    kept = np.minimum(1.0, radius / np.maximum(norms, 1e-300)).mean(axis=2)
    return np.asarray((moved * kept) @ weights / weights.sum())


@lru_cache(maxsize=128)  # plans compare several designs, during a run and before it
def curvature(d: int, radius: float, spread: float) -> float:
    """Compute what a straight line misses: the variance, per coordinate, of E[psi_r(w) | delta] around kappa' delta.

    w = delta + z with z ~ N(0, I_d), delta ~ N(0, spread^2 I_d), and kappa' = kappa(r / sqrt(1 + spread^2)), which is
    the best line by Stein's lemma.

    Args:
        d: number of columns.
        radius: r.
        spread: standard deviation of one coordinate of delta.
    """
    away = spread * np.sqrt(_squared_lengths(d, 32))
    image = response(d, radius, away)
    slope = (image @ away) / (away @ away)
    return float(np.mean((image - slope * away) ** 2)) / d


def _squared_lengths(freedom: int, count: int) -> np.ndarray:
    """Give equally likely values of chi^2."""
    from scipy.special import gammaincinv

    return np.asarray(2 * gammaincinv(freedom / 2, even_chances(count)))


@cache
def moment_constants(d: int, radius: float) -> _MomentConstants:
    """Compute c0, ks, kt, vs and vt for clip radius `radius` in R^d."""
    r2 = radius * radius
    level = _inside(d + 2, r2) + r2 / d * _outside(d, r2)
    square = d * (d + 2) * _inside(d + 4, r2) + r2 * r2 * _outside(d, r2)  # E min(|w|^2, r^2)^2
    return _MomentConstants(
        level=level,
        shape=_inside(d + 4, r2) + r2 * _outside(d + 2, r2) / (d + 2),
        trace=_inside(d + 2, r2),
        shape_variance=2 * square / (d * (d + 2)),
        trace_variance=square / d - d * level * level,
    )


def best_moment_radius(n: int, d: int, rho: float) -> float:
    """Find the radius of least Frobenius error of a debiased second moment of n clipped records, released at `rho`.

    Minimises (D - 1) (vs / n + sg^2) / ks^2 + (vt / n + sg^2) / kt^2 with D = d (d + 1) / 2 and
    sg = r^2 / (n sqrt rho), the noise in a Frobenius-orthonormal basis. Errors fall and then rise in the radius, so a
    golden section finds the least one (Kiefer 1953). `scipy.optimize`, which has faster searches, takes longer to load
    than a fit takes to run.
    """
    root = math.sqrt(d)
    low, high = math.log(0.3 * root), math.log(3 * root + 5)
    for _ in range(_STEPS):
        left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        nearer, further = (_moment_error(n, d, rho, math.exp(tried)) for tried in (left, right))
        low, high = (low, right) if nearer <= further else (left, high)
    return math.exp((low + high) / 2)


def variance_error(n: float, d: int, rho: float, radius: float) -> float:
    """Compute the mean square error of one variance of n standard Gaussian rows, clipped to `radius` and debiased."""
    c = moment_constants(d, radius)
    noise = radius**4 / (n * n * rho)
    shape = (c.shape_variance / n + noise) / (c.shape * c.shape)
    return shape * (1 - 1 / d) + (c.trace_variance / n + noise) / max(c.trace, 1e-9) ** 2 / d


def _moment_error(n: int, d: int, rho: float, radius: float) -> float:
    """Compute the mean square Frobenius error; see `best_moment_radius`."""
    size = d * (d + 1) / 2
    c = moment_constants(d, radius)
    noise = radius**4 / (n * n * rho)
    trace = (c.trace_variance / n + noise) / max(c.trace, 1e-9) ** 2
    return (size - 1) * (c.shape_variance / n + noise) / (c.shape * c.shape) + trace


def unclip_variances(
    clipped: np.ndarray, radius: float, floor: float, rounds: int = 25, scale: float = 1.0
) -> np.ndarray:
    """Solve for variances lambda (d,): rows of N(0, diag lambda), clipped to `radius`, have second moments `clipped`.

    Solves E[lambda_i z_i^2 min(1, r^2 / sum_j lambda_j z_j^2)] = clipped_i by `rounds` steps of a fixed point, on
    fixed normals that are calibrated to be exact at lambda = `scale`.

    Args:
        clipped: (d,) second moments; those below `floor` are raised to it. Their sum cannot reach radius^2, so they are
            scaled down to 0.98 radius^2 if it does.
        radius: r.
        floor: least second moment, positive.
        rounds: number of steps.
        scale: of the variances, as far as it is known.
    """
    target = np.maximum(np.asarray(clipped, dtype=float), floor)
    target = target * min(1.0, 0.98 * radius * radius / target.sum())
    squares = _squared_normals(len(target))
    of_scale = np.minimum(1.0, radius * radius / scale / squares.sum(axis=1)) @ squares / len(squares)
    target = target * of_scale / moment_constants(len(target), radius / math.sqrt(scale)).level
    before, found = np.full_like(target, np.nan), target.copy()
    for left in reversed(range(rounds)):
        shrink = np.minimum(1.0, radius * radius / (squares @ found))
        image = found * (shrink @ squares) / len(squares)
        last, before, found = before, found, found * np.clip(target / image, 0.5, 2.0)
        # the remaining rounds would end here exactly: at a fixed point, or alternating between two
        if (found == before).all() or (left % 2 == 0 and (found == last).all()):
            break
    return np.asarray(found)


def median_norm_squared(variances: np.ndarray) -> float:
    """Compute the median of sum_j lambda_j z_j^2 for standard normal z, on the same fixed normals."""
    return float(np.median(_squared_normals(len(variances)) @ variances))


@cache
def _squared_normals(d: int) -> np.ndarray:
    """Give the squares (_NORMALS, d) of fixed normals, each column with mean 1."""
    squares: np.ndarray = np.random.default_rng(7).standard_normal((_NORMALS, d)) ** 2
    squares /= squares.mean(axis=0)
    squares.flags.writeable = False
    return squares


def _inside(freedom: int, squared: float) -> float:
    """Compute P(chi^2 <= squared)."""
    from scipy.special import gammainc

    return float(gammainc(freedom / 2, squared / 2))


def _outside(freedom: int, squared: float) -> float:
    """Compute P(chi^2 > squared)."""
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2, squared / 2))


COINPRESS_TAIL = 0.01
"""Failure probability of each bound of CoinPress for means, as in its authors' code."""


def tail_bound(d: int, beta: float) -> float:
    """Give a bound that |z| exceeds with probability at most `beta`, z ~ N(0, I_d) (Claim 2.1)."""
    log = math.log(1 / beta)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def coinpress_clip(d: int, ball: float) -> float:
    """Give the radius at which a round of CoinPress clips, about the centre of a ball that contains the mean."""
    tail = tail_bound(d, COINPRESS_TAIL)
    return min(math.sqrt(ball**2 + 6 * ball + tail**2), ball + tail)


def coinpress_ball(n: int, d: int, sd: float) -> float:
    """Give the radius of the ball about the mean of n rows, released with noise of this sd."""
    return math.sqrt(1 / n + sd**2) * tail_bound(d, COINPRESS_TAIL)
