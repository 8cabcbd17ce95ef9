"""Cluster public rows whose columns are all counts: by the likelihood of counts, not by distance.

In a column that is nearly constant in a component, the standard deviation is a fraction of a step, so rows with a rare
value are far from all others. In such units k-means and single linkage cluster rare values instead of components. Here
a component has a least value in each column, and Poisson counts above it.

Source: Celeux and Govaert 1991, classification by likelihood for discrete rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators._lattice import lattices
from pubpriv.estimators.mixture._counts import HEAPED, counting

_MOST_LEVELS = 40
"""A column whose public range has more steps than this is not treated as a count."""

_STARTS, _PASSES = 20, 20
"""Number of starts, and most passes for each."""

_ELSEWHERE = 0.01
"""Share of a component's rows that may have any value."""

_TOGETHER, _CLEARLY = 0.25, 3.0
"""Components must predict a row better than independent columns do, by the first share of the entropy of their labels,
and by the second number of standard errors over rows. Of 330 tables of sixty rows without components none had more than
2.4 standard errors."""

_PARTS = 5
"""Number of parts in cross-validation: each part is predicted from all others. Half of sixty rows show too little of
three components that are two steps apart."""

_FEWEST = 3
"""Least rows of a cluster."""

_UNCLEAR = 0.05
"""Clusters overlap, and are not used, if this share of the rows' probability belongs to other components."""


def count_clusters(rows: np.ndarray, clusters: int) -> np.ndarray | None:
    """Label rows (m, d) with clusters numbered from 0, (m,); None: not all columns count from a least value of theirs.

    A column that is constant gives no information.
    """
    if clusters < 2 or len(rows) < clusters * _FEWEST:
        return None
    codes = _codes(rows)
    if codes is None or not _heaped(codes, clusters):
        return None
    found = _found(codes, clusters, codes.max() + 1)
    held = np.bincount(found.labels, minlength=clusters).min() >= _FEWEST
    clear = held and found.unclear < _UNCLEAR and counting(codes - found.origins[found.labels])
    return found.labels if clear and _foretold(codes, clusters) else None


def _foretold(codes: np.ndarray, clusters: int) -> bool:
    """Decide by cross-validation whether clusters predict how the columns of other rows depend on each other.

    Any single column can be cut by its values; only components make several columns vary together. Independent columns
    with the same shares predict a row worse by up to d - 1 times the information in the label of its component.
    """
    part = np.random.default_rng(1).permutation(len(codes)) % _PARTS
    levels, columns = codes.max() + 1, np.arange(codes.shape[1])
    gains = np.empty(len(codes))
    for out in range(_PARTS):
        seen, others = codes[part != out], codes[part == out]
        found = _found(seen, clusters, levels)
        alone = np.stack([np.bincount(column, minlength=levels) for column in seen.T]) + 1 / levels
        shares = np.log(alone / alone.sum(axis=1, keepdims=True))
        name = -found.weights @ np.log(found.weights)
        together = np.logaddexp.reduce(_joint(others, found.tables, found.weights), axis=1)
        gains[part == out] = (together - shares[columns, others].sum(axis=1)) / float(name)
    error = float(gains.std()) / math.sqrt(len(gains))
    return bool(gains.mean() > max(_TOGETHER, _CLEARLY * error))


def _codes(rows: np.ndarray) -> np.ndarray | None:
    """Count the steps from each column's least value in rows (m, d); None: a column has no step, or too many levels."""
    steps = lattices(rows)
    low, width = rows.min(axis=0), np.ptp(rows, axis=0)
    if not steps.any() or ((steps == 0) & (width > 0)).any() or (width > _MOST_LEVELS * steps).any():
        return None
    return np.asarray(np.rint((rows - low) / np.where(steps > 0, steps, 1.0)).astype(int))


def _heaped(codes: np.ndarray, clusters: int) -> bool:
    """Decide whether the commonest `clusters` values of each column have as many rows as those of counts."""
    commonest = [np.sort(np.bincount(column))[-clusters:].sum() for column in codes.T]
    return bool(min(commonest) >= HEAPED * len(codes))


@dataclass(frozen=True)
class _Fit:
    """Labels (m,), least values (k, d), their likelihood, and the share of rows that other components may claim.

    `tables` (k, d, levels) are log probabilities of values, `weights` (k,) are shares of components.
    """

    labels: np.ndarray
    origins: np.ndarray
    likelihood: float
    unclear: float
    tables: np.ndarray
    weights: np.ndarray


def _found(codes: np.ndarray, clusters: int, levels: int) -> _Fit:
    """Find the likeliest fit among those from several starts."""
    generator = np.random.default_rng(0)
    fits = (_climbed(codes, _first_labels(codes, clusters, generator), clusters, levels) for _ in range(_STARTS))
    return max(fits, key=lambda fit: fit.likelihood)


def _joint(codes: np.ndarray, tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Give log probabilities (m, k) that a row belongs to a component and has these values."""
    columns = np.arange(codes.shape[1])
    return np.asarray(np.stack([own[columns, codes].sum(axis=1) for own in tables], axis=1) + np.log(weights))


def _first_labels(codes: np.ndarray, clusters: int, generator: np.random.Generator) -> np.ndarray:
    """Assign rows to the nearest of some chosen rows, each drawn by its distance from those before."""
    gaps = np.abs(codes - codes[generator.integers(len(codes))]).sum(axis=1)[:, None]
    for _ in range(1, clusters):
        far = gaps.min(axis=1) + 1e-9
        chosen = codes[generator.choice(len(codes), p=far / far.sum())]
        gaps = np.column_stack([gaps, np.abs(codes - chosen).sum(axis=1)])
    return np.asarray(gaps.argmin(axis=1))


def _climbed(codes: np.ndarray, labels: np.ndarray, clusters: int, levels: int) -> _Fit:
    """Assign rows of whole numbers (m, d) to their likeliest component, until nothing changes."""
    columns = np.arange(codes.shape[1])
    places = columns * levels + codes
    for _ in range(_PASSES):
        sizes = np.bincount(labels, minlength=clusters) + 1.0
        weights = sizes / sizes.sum()
        bins = (labels * len(columns) * levels)[:, None] + places
        histograms = np.bincount(bins.ravel(), minlength=clusters * len(columns) * levels)
        origins, tables = _laws(histograms.reshape(clusters, len(columns), levels))
        joint = _joint(codes, tables, weights)
        before, labels = labels, np.asarray(joint.argmax(axis=1))
        if (labels == before).all():
            break
    most = joint.max(axis=1)
    share = np.exp(joint - most[:, None])
    unclear = float((1 - 1 / share.sum(axis=1)).mean())
    return _Fit(labels, origins, float(most.sum()), unclear, tables, weights)


def _laws(histograms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the likeliest least values (k, d), and log probabilities (k, d, levels), for histograms (k, d, levels)."""
    from scipy.special import gammaln

    levels, best = histograms.shape[2], np.full(histograms.shape[:2], -np.inf)
    origins, tables = np.zeros(best.shape, dtype=int), np.zeros(histograms.shape)
    for origin in range(levels):
        above = np.arange(levels) - origin
        counts, seen = np.maximum(above, 0), histograms[..., origin:].sum(axis=2)
        rates = ((histograms * counts).sum(axis=2) + 0.5) / (seen + 1)
        logs = counts * np.log(rates)[..., None] - rates[..., None] - gammaln(counts + 1)
        chances = np.where(above >= 0, (1 - _ELSEWHERE) * np.exp(logs), 0.0) + _ELSEWHERE / levels
        table = np.log(chances)
        likelihood = (histograms * table).sum(axis=2)
        better = likelihood > best
        best, origins = np.where(better, likelihood, best), np.where(better, origin, origins)
        tables = np.where(better[..., None], table, tables)
    return origins, tables
