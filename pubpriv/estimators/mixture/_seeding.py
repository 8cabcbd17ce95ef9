"""Seeds: k spherical clusters of public points in a released subspace, by likelihood. Post-processing, free."""

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pubpriv.data.codec import public_value

_PRIOR = 1.0
"""Weight, in points, of the prior that draws every variance towards the typical one: likelihood by itself prefers a
cluster of two or three points that happen to be close together."""

_MOST_AGGLOMERATED = 500
"""Model-based agglomeration takes time cubic in the points; with more points than this it is not tried."""


@dataclass(frozen=True)
class _Spherical:
    """A spherical mixture: log likelihood of its points, centers (k, ell), variances (k,), weights (k,)."""

    log_likelihood: float
    centers: np.ndarray
    variances: np.ndarray
    weights: np.ndarray


@public_value
@dataclass(frozen=True)
class Seeds:
    """Spherical clusters in each group's subspace, components numbered through the groups.

    Attributes:
        groups: index of each component's group.
        centers: (k, ell), in the subspace coordinates of the component's group.
        variances: (k,).
        weights: (k,), summing to one.
    """

    groups: tuple[int, ...]
    centers: tuple[tuple[float, ...], ...]
    variances: tuple[float, ...]
    weights: tuple[float, ...]


def _seed_group(points: np.ndarray, k: int) -> _Spherical | None:
    """Find the likeliest spherical mixture from Ward, k-means and model-based starts; None if k > m."""
    return _seeded(np.asarray(points, dtype=np.float64).tobytes(), points.shape, k)


@lru_cache(maxsize=64)  # the same groups are seeded for each number of components that is tried
def _seeded(content: bytes, shape: tuple[int, ...], k: int) -> _Spherical | None:
    """Do `_seed_group` for the bytes of float64 points, which can be cached."""
    from sklearn.cluster import AgglomerativeClustering

    points = np.frombuffer(content).reshape(shape)
    if k > len(points):
        return None
    starts = [np.zeros(len(points), dtype=int)]
    if k > 1:
        starts = [AgglomerativeClustering(k).fit_predict(points), k_means(points, k)]
    if k > 1 and len(points) <= _MOST_AGGLOMERATED:
        starts.append(_agglomerate(points, k))
    found = max((_spherical_em(points, labels, k) for labels in starts), key=lambda found: found.log_likelihood)
    for part in (found.centers, found.variances, found.weights):
        part.flags.writeable = False  # handed out again
    return found


def k_means(points: np.ndarray, k: int, n_init: int = 10) -> np.ndarray:
    """Label points (m,) by scikit-learn's k-means, always the same for the same points."""
    return _labels(np.asarray(points, dtype=np.float64).tobytes(), points.shape, k, n_init).copy()


@lru_cache(maxsize=64)  # outline, regime and places of components begin with the same clusters
def _labels(content: bytes, shape: tuple[int, ...], k: int, n_init: int) -> np.ndarray:
    """Do `k_means` for the bytes of float64 points, which can be cached."""
    from sklearn.cluster import KMeans

    points = np.frombuffer(content).reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct points than clusters is no reason to stop
        return np.asarray(KMeans(k, n_init=n_init, random_state=0).fit_predict(points))


def allocate(groups: list[np.ndarray], k: int) -> list[_Spherical] | None:
    """Split k components over the groups by likelihood (dynamic programming); None if no split is possible."""
    best: dict[int, tuple[float, list[_Spherical]]] = {0: (0.0, [])}
    for number, points in enumerate(groups, start=1):
        longer: dict[int, tuple[float, list[_Spherical]]] = {}
        left = len(groups) - number  # each later group needs at least one component, and the last group takes the rest
        for own in range(1, k - len(groups) + 2):
            totals = [used + own for used in best if used + own <= k - left and (left or used + own == k)]
            found = _seed_group(points, own) if totals else None
            if found is None:
                continue
            for total in totals:
                value, chosen = best[total - own]
                likelihood = value + found.log_likelihood
                if likelihood > longer.get(total, (-np.inf, []))[0]:
                    longer[total] = likelihood, [*chosen, found]
        best = longer
    return best[k][1] if k in best else None


def spherical(points: np.ndarray, labels: np.ndarray) -> _Spherical:
    """Make the clusters of points (m, ell) with labels (m,), without moving any of them."""
    return _spherical_em(points, labels, labels.max() + 1, 0)


def _spherical_em(points: np.ndarray, labels: np.ndarray, k: int, iterations: int = 30) -> _Spherical:
    """Run EM for spherical components of unequal volume, from a hard start.

    Variances divide by (members - 1) like a sample variance and have an inverse-gamma prior around the typical one
    (`_PRIOR`; the harmonic mean over points, which clusters of a larger scale affect little). They never fall below a
    hundredth of the typical distance of distinct neighbours, so that neither a singleton nor a value that many rows
    share becomes a spike. The log likelihood includes the prior.
    """
    from scipy.spatial.distance import cdist
    from scipy.special import logsumexp

    d = points.shape[1]
    low = max(np.median(nearest_others(points) ** 2) / (2 * d) * 1e-2, 1e-12) if len(points) > 1 else 1.0
    share = np.eye(k)[labels]
    before = -np.inf
    for _ in range(iterations + 1):
        members = share.sum(axis=0) + 1e-9
        centers = share.T @ points / members[:, None]
        weights = members / members.sum()
        squares = cdist(points, centers, "sqeuclidean")
        scatter = (share * squares).sum(axis=0)
        own = np.maximum(scatter / (d * np.maximum(members - 1, 0.5)), low)
        typical = members.sum() / (members / own).sum()
        variances = (scatter + _PRIOR * d * typical) / (d * (np.maximum(members - 1, 0.0) + _PRIOR))
        variances = np.maximum(variances, low)
        joint = np.log(weights) - d / 2 * np.log(variances) - squares / (2 * variances)
        each = logsumexp(joint, axis=1)
        likelihood = float(each.sum()) - _PRIOR * d / 2 * float((np.log(variances) + typical / variances).sum())
        share = np.exp(joint - each[:, None])
        if likelihood - before < 1e-6 * abs(likelihood):
            break
        before = likelihood
    return _Spherical(likelihood, centers, variances, weights)


def nearest_others(points: np.ndarray) -> np.ndarray:
    """Compute the distance (m,) of each point to the nearest distinct one; 0 if all points are equal."""
    from scipy.spatial.distance import cdist

    gaps = cdist(points, points)
    gaps[gaps == 0] = np.inf
    nearest = gaps.min(axis=1)
    return np.where(np.isfinite(nearest), nearest, 0.0)


def _agglomerate(points: np.ndarray, k: int) -> np.ndarray:
    """Label k clusters, merged bottom-up at the least cost in spherical Gaussian likelihood.

    The criterion is sum_j n_j d log(W_j / (n_j d)) with W_j the scatter of cluster j (Banfield and Raftery 1993,
    unequal volumes); a singleton starts with half its squared nearest-neighbour distance as scatter.
    """
    from scipy.spatial.distance import cdist

    m, d = points.shape
    gaps = cdist(points, points, "sqeuclidean")
    np.fill_diagonal(gaps, np.inf)
    scatter, sizes, centers = gaps.min(axis=1) / 2, np.ones(m), points.copy()
    active, labels = np.ones(m, dtype=bool), np.arange(m)

    def term(w: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.asarray(n * d * np.log(np.maximum(w, 1e-300) / (n * d)))

    terms = term(scatter, sizes)

    def costs(i: int) -> np.ndarray:
        between = sizes * sizes[i] / (sizes + sizes[i]) * ((centers - centers[i]) ** 2).sum(axis=1)
        cost = term(scatter + scatter[i] + between, sizes + sizes[i]) - terms - terms[i]
        cost[~active] = np.inf
        cost[i] = np.inf
        return np.asarray(cost)

    table = np.stack([costs(i) for i in range(m)])
    for _ in range(m - k):
        i, j = divmod(int(table.argmin()), m)
        total = sizes[i] + sizes[j]
        scatter[i] += scatter[j] + sizes[i] * sizes[j] / total * ((centers[i] - centers[j]) ** 2).sum()
        centers[i] = (sizes[i] * centers[i] + sizes[j] * centers[j]) / total
        sizes[i], active[j] = total, False
        labels[labels == labels[j]] = labels[i]
        terms[i] = term(scatter[i], sizes[i])
        table[j], table[:, j] = np.inf, np.inf
        table[i] = table[:, i] = costs(i)
    return np.asarray(np.unique(labels, return_inverse=True)[1])
