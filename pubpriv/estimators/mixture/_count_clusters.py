"""Clusters of public rows whose columns all count something: by likelihood of counts, not by distance.

Where a column is nearly always the same in a component, its standard deviation is a fraction of a step, and rows with a
rare value are far from all others: in such units k-means and single linkage gather rare values, not components. A
component here has a least value in each column, and counts of Poisson's law above it.

Source: Celeux and Govaert 1991, classification by likelihood for discrete rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators._lattice import lattices
from pubpriv.estimators.mixture._counts import HEAPED, counting

_MOST_LEVELS = 40
"""A column with more steps between its least and its largest public value counts too far."""

_STARTS, _PASSES = 20, 20
"""So many starts, each climbed for so many passes at most."""

_ELSEWHERE = 0.01
"""Share of a component's rows that may have any value."""

_TOGETHER, _CLEARLY = 0.25, 3.0
"""Nats by which components foretell a row better than columns by themselves do, in those that their names are worth;
and in standard errors over rows. Of 330 tables of sixty rows without components none had more than 2.4 of these."""

_PARTS = 5
"""Rows are foretold a part at a time, by all other parts: half of sixty rows show too little of three components that
lie two steps apart."""

_FEWEST = 3
"""Rows of a cluster, at least."""

_UNCLEAR = 0.05
"""Clusters that leave so large a share of the rows in doubt overlap: they are no clusters."""


def count_clusters(rows: np.ndarray, clusters: int) -> np.ndarray | None:
    """Labels (m,) of so many clusters of rows (m, d), numbered from 0; None: not all columns count about these.

    A column that is constant says nothing.
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
    """Tell whether clusters of most rows foretell how columns of the others depend on each other.

    Any column can be cut by its values; only components make several columns change together. What independent columns
    of the same shares say less of a row is up to d - 1 times what a component's name would say.
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
    """Count steps of rows (m, d) from the least value of each column; None: one is on no lattice, or counts too far."""
    steps = lattices(rows)
    low, width = rows.min(axis=0), np.ptp(rows, axis=0)
    if not steps.any() or ((steps == 0) & (width > 0)).any() or (width > _MOST_LEVELS * steps).any():
        return None
    return np.asarray(np.rint((rows - low) / np.where(steps > 0, steps, 1.0)).astype(int))


def _heaped(codes: np.ndarray, clusters: int) -> bool:
    """Tell whether so many values of each column have as many rows as the least values of components that count."""
    commonest = [np.sort(np.bincount(column))[-clusters:].sum() for column in codes.T]
    return bool(min(commonest) >= HEAPED * len(codes))


@dataclass(frozen=True)
class _Fit:
    """Labels (m,), least values (k, d), the likelihood of both, and the share of rows that others may claim.

    Log chances of values are `tables` (k, d, levels), shares of components `weights` (k,).
    """

    labels: np.ndarray
    origins: np.ndarray
    likelihood: float
    unclear: float
    tables: np.ndarray
    weights: np.ndarray


def _found(codes: np.ndarray, clusters: int, levels: int) -> _Fit:
    """Find the likeliest of the fits that several starts lead to."""
    generator = np.random.default_rng(0)
    fits = (_climbed(codes, _first_labels(codes, clusters, generator), clusters, levels) for _ in range(_STARTS))
    return max(fits, key=lambda fit: fit.likelihood)


def _joint(codes: np.ndarray, tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log chances (m, k) that a row is of a component, and has these values."""
    columns = np.arange(codes.shape[1])
    return np.asarray(np.stack([own[columns, codes].sum(axis=1) for own in tables], axis=1) + np.log(weights))


def _first_labels(codes: np.ndarray, clusters: int, generator: np.random.Generator) -> np.ndarray:
    """Give each row to the nearest of some rows, each drawn by its distance from those before."""
    gaps = np.abs(codes - codes[generator.integers(len(codes))]).sum(axis=1)[:, None]
    for _ in range(1, clusters):
        far = gaps.min(axis=1) + 1e-9
        chosen = codes[generator.choice(len(codes), p=far / far.sum())]
        gaps = np.column_stack([gaps, np.abs(codes - chosen).sum(axis=1)])
    return np.asarray(gaps.argmin(axis=1))


def _climbed(codes: np.ndarray, labels: np.ndarray, clusters: int, levels: int) -> _Fit:
    """Give rows of whole numbers (m, d) to the likeliest component, until nothing changes."""
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
    """Least values (k, d), and log chances (k, d, levels), that make histograms (k, d, levels) likeliest."""
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
