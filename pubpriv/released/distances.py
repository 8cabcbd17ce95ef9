"""Distances of two Gaussians or two Gaussian mixtures: pure functions of public or released numbers.

| function | what it is | source |
|---|---|---|
| `total_variation` | bounds of d_TV(N(mu_1, Sigma_1), N(mu_2, Sigma_2)), which has no closed form | see there |
| `dist_gmm` | bounds of dist_GMM | Arbas, Ashtiani and Liaw 2023, Definition 1.4 |
| `dist_param` | dist_PARAM, exact | the same, equations (1) and (2) |
| `_bottleneck_matching` | the permutation for both: smallest maximum cost, in polynomial time | the same, section 2 |

Nothing here uses rows, so nothing costs privacy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.errors import InvalidInput

_Component = tuple[np.ndarray, np.ndarray]
"""Mean (d,) and covariance (d, d)."""


@dataclass(frozen=True)
class _Between:
    """Bounds of a number."""

    lower: float
    upper: float


@dataclass(frozen=True)
class _Matching:
    """A perfect matching: row i goes with column `columns[i]`, and no pair costs more than `cost`."""

    cost: float
    columns: tuple[int, ...]


def total_variation(mean_1: Any, covariance_1: Any, mean_2: Any, covariance_2: Any) -> _Between:
    """Return bounds of the total variation distance of N(mean_1, covariance_1) and N(mean_2, covariance_2).

    Upper, the least of: 1; Pinsker's sqrt(KL / 2) in both directions (Arbas, Ashtiani and Liaw 2023, Fact A.3
    and Lemma A.4); sqrt(1 - BC^2) with Bhattacharyya's coefficient BC (Le Cam).

    Lower, the greatest of: the squared Hellinger distance 1 - BC (Le Cam); min(1, |S - I|_F) / 200 (their Theorem
    B.1 with Lemma B.3) and min(1/600, Delta / 200) with Delta = max(|S - I|_F, |Sigma_1^(-1/2) (mu_1 - mu_2)|)
    (their Theorem 1.8), where S = Sigma_1^(-1/2) Sigma_2 Sigma_1^(-1/2), in both directions; the distance along
    any line (their Fact A.2): every axis that makes both covariances diagonal, and the line on which the means
    lie apart most. For equal covariances that line is all there is, and the lower bound is the distance.

    Args:
        mean_1: (d,), mean of the first.
        covariance_1: (d, d), symmetric and positive definite.
        mean_2: (d,), mean of the second.
        covariance_2: (d, d), symmetric and positive definite.

    Raises:
        InvalidInput: shapes that differ, a number that is not finite, or a covariance that is no covariance.
    """
    means, covariances = _components([mean_1, mean_2], [covariance_1, covariance_2])
    return _apart(means[0], covariances[0], means[1], covariances[1])


def dist_gmm(first: Any, second: Any) -> _Between:
    """Return bounds of dist_GMM: minimum over permutations of the largest weight difference or total variation.

    Both bounds are exact minima over permutations, of the bounds of `total_variation`.

    Args:
        first: anything with `weights` (k,), `means` (k, d) and `covariances` (k, d, d).
        second: the same, of as many components in as many columns.

    Raises:
        InvalidInput: shapes that differ, a number that is not finite, or a covariance that is no covariance.
    """
    weights, ones, others = _pair(first, second)
    apart = [[_apart(*one, *other) for other in others] for one in ones]
    lower = np.array([[bounds.lower for bounds in row] for row in apart])
    upper = np.array([[bounds.upper for bounds in row] for row in apart])
    return _Between(*(_bottleneck_matching(np.maximum(weights, bounds)).cost for bounds in (lower, upper)))


def dist_param(first: Any, second: Any) -> float:
    """Return dist_PARAM: minimum over permutations of the largest difference of weights, means or covariances.

    Means differ by the larger of their two Mahalanobis distances, covariances by the larger of
    |Sigma_1^(1/2) Sigma_2^(-1) Sigma_1^(1/2) - I|_F and the same with 1 and 2 exchanged.

    Args:
        first: anything with `weights` (k,), `means` (k, d) and `covariances` (k, d, d).
        second: the same, of as many components in as many columns.

    Raises:
        InvalidInput: shapes that differ, a number that is not finite, or a covariance that is no covariance.
    """
    weights, ones, others = _pair(first, second)
    costs = np.array([[_parameters(*one, *other) for other in others] for one in ones])
    return _bottleneck_matching(np.maximum(weights, costs)).cost


def _bottleneck_matching(costs: Any) -> _Matching:
    """Perfect matching with the smallest maximum cost: binary search over the sorted costs (lemma 3.2 of the paper).

    Args:
        costs: (k, k), k >= 1.

    Raises:
        InvalidInput: not square, empty, or a cost that is not finite.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    table = _numbers(costs, "a table of costs")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
        raise InvalidInput(f"a matching needs a square table of costs, not one of shape {table.shape}")

    def columns(most: float) -> np.ndarray:
        return np.asarray(maximum_bipartite_matching(csr_matrix(table <= most), perm_type="column"))

    steps = np.unique(table)
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if (columns(steps[middle]) >= 0).all() else (middle + 1, high)
    return _Matching(float(steps[low]), tuple(columns(steps[low]).tolist()))


def _apart(mean_1: np.ndarray, covariance_1: np.ndarray, mean_2: np.ndarray, covariance_2: np.ndarray) -> _Between:
    with np.errstate(over="ignore", invalid="ignore"):  # Gaussians may be extremely far apart
        return _bounds(*_relative(mean_1, covariance_1, mean_2, covariance_2))


def _bounds(shift: np.ndarray, values: np.ndarray) -> _Between:
    """Bound the distance of N(0, I) and N(shift, diag(values))."""
    squares = shift**2
    bhattacharyya = np.exp(-(squares / (1 + values)).sum() / 4 - np.log((1 + values) / 2 / np.sqrt(values)).sum() / 2)
    divergences = (squares + 1) / values - 1 + np.log(values), squares + values - 1 - np.log(values)
    upper = min(
        1.0,
        *(float(np.sqrt(max(divergence.sum(), 0.0) / 4)) for divergence in divergences),
        float(np.sqrt(max(1 - bhattacharyya**2, 0.0))),
    )
    spread = _longest(values - 1, 1 / values - 1)
    delta = max(spread, _longest(shift, shift / np.sqrt(values)))
    best = shift / (1 + values)
    longest = np.abs(best).max(initial=0.0)
    lines = [_on_lines(shift, values)]
    if longest > 0:
        along = best / longest / np.linalg.norm(best / longest)  # squares of long vectors overflow
        lines.append(_on_lines(np.array([along @ shift]), np.array([(along**2) @ values])))
    lower = max(1 - float(bhattacharyya), min(1.0, spread) / 200, min(1 / 600, delta / 200), *map(max, lines))
    return _Between(float(min(lower, upper)), upper)


def _on_lines(shift: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Distances of N(0, 1) and N(shift, values), one by one, or slightly less if rounding moves a crossing.

    The densities cross where (1 - values) x^2 - 2 shift x + shift^2 + values log(values) = 0; the difference of
    the two probabilities of *any* interval is a lower bound, so the crossings need not be exact.
    """
    from scipy.special import ndtr

    spread = np.sqrt(values)
    square, line, rest = 1 - values, -2 * shift, shift**2 + values * np.log(values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(line**2 - 4 * square * rest, 0.0))
        stable = -(line + np.where(line >= 0, root, -root)) / 2
        ends = np.nan_to_num(np.stack([stable / square, rest / stable]), posinf=np.inf, neginf=-np.inf)
        inside = ndtr(ends) - ndtr((ends - shift) / spread)
    return np.asarray(np.abs(np.nan_to_num(inside[0] - inside[1])))


def _parameters(mean_1: np.ndarray, covariance_1: np.ndarray, mean_2: np.ndarray, covariance_2: np.ndarray) -> float:
    shift, values = _relative(mean_1, covariance_1, mean_2, covariance_2)
    return _longest(shift, shift / np.sqrt(values), values - 1, 1 / values - 1)


def _longest(*vectors: np.ndarray) -> float:
    return max(float(np.linalg.norm(vector)) for vector in vectors)


def _relative(
    mean_1: np.ndarray, covariance_1: np.ndarray, mean_2: np.ndarray, covariance_2: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(shift (d,), values (d,)): coordinates in which the first is N(0, I), the second N(shift, diag(values))."""
    # not `scipy.linalg.eigh`: importing it adds a third to the import time of a fresh process
    try:
        units = np.sqrt(np.diag(covariance_1))  # columns may have very different units
        inverse = np.linalg.inv(np.linalg.cholesky(covariance_1 / units / units[:, None])) / units
        values, vectors = np.linalg.eigh(inverse @ covariance_2 @ inverse.T)
    except np.linalg.LinAlgError:
        raise InvalidInput("a covariance is too close to a singular one to be compared") from None
    return inverse @ (mean_2 - mean_1) @ vectors, np.maximum(values, np.finfo(float).tiny)


def _pair(first: Any, second: Any) -> tuple[np.ndarray, list[_Component], list[_Component]]:
    """(weight differences (k, k), components of the first, components of the second), checked."""
    parts = []
    for mixture in (first, second):
        weights = _numbers(mixture.weights, "weights")
        means, covariances = _components(mixture.means, mixture.covariances)
        if weights.shape != (len(means),) or not len(weights):
            raise InvalidInput(f"{len(means)} components need as many weights, not an array of shape {weights.shape}")
        parts.append((weights, means, covariances))
    (weights_1, means_1, covariances_1), (weights_2, means_2, covariances_2) = parts
    if means_1.shape != means_2.shape:
        raise InvalidInput(
            f"mixtures of {_size(means_1)} and of {_size(means_2)} have no distance: compare equal sizes"
        )
    return (
        np.abs(weights_1[:, None] - weights_2[None, :]),
        list(zip(means_1, covariances_1, strict=True)),
        list(zip(means_2, covariances_2, strict=True)),
    )


def _size(means: np.ndarray) -> str:
    return f"{means.shape[0]} components in {means.shape[1]} columns"


def _components(means: Any, covariances: Any) -> tuple[np.ndarray, np.ndarray]:
    """(k, d) means and (k, d, d) symmetric positive definite covariances."""
    centers, spreads = _numbers(means, "means"), _numbers(covariances, "covariances")
    if centers.ndim != 2 or spreads.shape != (*centers.shape, centers.shape[1]):
        raise InvalidInput(f"means of shape {centers.shape} do not go with covariances of shape {spreads.shape}")
    size = np.abs(spreads).max(axis=(1, 2), initial=0.0)
    if (np.abs(spreads - spreads.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0) > 1e-8 * size).any():
        raise InvalidInput("a covariance is not symmetric")
    try:
        np.linalg.cholesky(spreads)
    except np.linalg.LinAlgError:
        raise InvalidInput("a covariance is not positive definite") from None
    return centers, (spreads + spreads.transpose(0, 2, 1)) / 2


def _numbers(values: Any, name: str) -> np.ndarray:
    try:
        table = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be numbers, all of the same shape") from None
    if not np.isfinite(table).all():
        raise InvalidInput(f"{name} must be finite numbers")
    return table
