"""Models of the public rows alone: the candidate that a private model has to beat, and public starts."""

from functools import lru_cache

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import count_steps
from pubpriv.estimators.mixture._count_clusters import count_clusters
from pubpriv.estimators.mixture._linear import floored, one_thread
from pubpriv.estimators.mixture._public_em import EM, Point
from pubpriv.estimators.mixture._seeding import k_means
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture, log_density

_FitShape = tuple[str, float]

_CANDIDATES: tuple[_FitShape, ...] = (
    *((kind, factor * FLOOR) for kind in ("full", "diag") for factor in (1, 4, 16)),
    ("spherical", FLOOR),
)
"""Covariance shapes and floors among which cross-validation chooses the public model."""

_START_SETTINGS: tuple[_FitShape, ...] = (("full", FLOOR), ("full", 4 * FLOOR), ("diag", 4 * FLOOR))
"""As many as `plan.STARTS`."""

_UNCORRELATED = 0.05
"""Part of a variance that is added to the diagonal of a pooled correlation matrix, so that it can be inverted."""

_TRIES = 5
"""Starts of each public fit from which a rung starts."""

_FOLDS = 5
_MOST_ROWS = 5000
"""Public rows that are fitted; more add nothing that the private rows would not say better."""


@step(title="public model")
@one_thread
def public_model(public: PublicTable, scaling: Scaling, n_components: int) -> Mixture:
    """Return the best of `_CANDIDATES` by cross-validated likelihood of the public rows, fitted to all of them.

    Where all columns count, it is that of their clusters: on heaps of equal rows the densities of Gaussians are without
    limit, and the narrowest model wins.
    """
    rows = _rows(public, scaling)
    counted = count_clusters(rows, n_components)
    if counted is not None:
        return _of_clusters(rows, counted, count_steps(public.rows) / np.array(scaling.scale))
    settings = [s for s in _CANDIDATES if _estimable(s, len(rows), rows.shape[1], n_components)]
    if len(settings) == 1:
        return _fit(rows, n_components, settings[0], n_init=20)
    folds = np.random.default_rng(0).permutation(len(rows)) % _FOLDS
    few = set(settings) <= set(_FEW)
    n_init = 1 if few else 3  # these two differ by more than their starts

    def held_out(setting: _FitShape) -> float:
        models = [(_fitted(rows[folds != f], n_components, setting, n_init), rows[folds == f]) for f in range(_FOLDS)]
        return sum(float(log_density(*model, test).sum()) for model, test in models)

    return _fit(rows, n_components, max(settings, key=held_out), n_init=10 if few else 20)


def _of_clusters(rows: np.ndarray, labels: np.ndarray, steps: np.ndarray) -> Mixture:
    """A mixture of clusters of rows (m, d) by labels (m,), with variances that no row a step (d,) off contradicts."""
    share = np.eye(labels.max() + 1)[labels]
    sizes = share.sum(axis=0)
    means = share.T @ rows / sizes[:, None]
    squares = (rows - means[labels]) ** 2
    own = (share.T @ squares + squares.mean(axis=0)) / (sizes[:, None] + 1)
    least = np.maximum(steps**2 / len(rows), FLOOR)
    return Mixture.of(sizes / len(rows), means, [np.diag(np.maximum(variances, least)) for variances in own])


@step(title="public starts")
@one_thread
def public_starts(public: PublicTable, scaling: Scaling, n_components: int) -> tuple[Mixture, ...]:
    """Return public fits in R^d of several shapes, from which private rounds start when components overlap."""
    rows = _rows(public, scaling)
    return tuple(_fit(rows, n_components, setting, n_init=20) for setting in _START_SETTINGS)


@step(title="public start")
@one_thread
def pooled_start(public: PublicTable, scaling: Scaling, n_components: int) -> Mixture:
    """Return a public fit whose components share their correlations; see `_pooled`."""
    return _pooled(_rows(public, scaling), n_components, _TRIES)


@step(title="public starts")
@one_thread
def rung_starts(public: PublicTable, scaling: Scaling, n_components: int) -> tuple[Mixture, Mixture]:
    """Start a few private rounds: from correlations that components share, and from full covariances, held wide.

    What the public rows say of either shows little of where rounds lead from it: the private rows choose.
    """
    rows = _rows(public, scaling)
    return _pooled(rows, n_components, _TRIES), _fit(rows, n_components, ("full", 16 * FLOOR), _TRIES)


def _pooled(rows: np.ndarray, n_components: int, n_init: int) -> Mixture:
    """Fit column variances inside the components, and one correlation matrix for all of them.

    Full covariances of a few rows each mislead the rounds that start from them; what the components share does not.
    """
    weights, means, covariances = _fit(rows, n_components, ("diag", 4 * FLOOR), n_init).arrays
    spreads = np.sqrt(np.einsum("kii->ki", covariances))
    z = (rows - means[:, None]) / spreads[:, None]
    joint = np.log(weights) - np.log(spreads).sum(axis=1) - (z**2).sum(axis=2).T / 2
    share = np.exp(joint - joint.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    pooled = np.einsum("mk,kmi,kmj->ij", share, z, z) / len(rows) + _UNCORRELATED * np.eye(rows.shape[1])
    roots = np.sqrt(np.diag(pooled))
    pooled /= np.outer(roots, roots)
    return Mixture.of(weights, means, [floored(pooled * np.outer(own, own), FLOOR) for own in spreads])


def _fit(rows: np.ndarray, k: int, setting: _FitShape, n_init: int) -> Mixture:
    """Fit public rows (m, d); see `_fitted`."""
    return Mixture.of(*_fitted(rows, k, setting, n_init))


def _fitted(rows: np.ndarray, k: int, setting: _FitShape, n_init: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """EM on public rows (m, d) with covariances floored; the seed is fixed, so the result is public.

    Starts are k-means clusters of the rows as they are and, for `diag`, of the rows in units of the column spreads
    inside the components that were found: where components lie apart in one column, its standard deviation is that of
    their distance, and the other columns drown it.
    """
    kind, floor = setting
    em = EM(rows, kind, floor)
    fitted = em.climb(em.of_clusters(labels, k) for labels in _first_clusters(rows.tobytes(), rows.shape, k, n_init))
    if kind == "diag":
        inside = np.sqrt(fitted.weights @ fitted.covariances)
        again = em.climb([_clusters(rows / inside, rows, k, floor, n_init)])
        fitted = max(fitted, again, key=em.likelihood)
    if kind == "full":
        covariances = [floored(covariance, FLOOR) for covariance in fitted.covariances]
    else:
        variances = np.maximum(fitted.covariances, FLOOR)
        covariances = [np.diag(np.broadcast_to(values, rows.shape[1])) for values in variances]
    return fitted.weights, fitted.means, np.array(covariances)


@lru_cache(maxsize=_FOLDS + 1)  # those of all folds, which each of the candidates asks for in turn
def _first_clusters(content: bytes, shape: tuple[int, ...], k: int, count: int) -> list[np.ndarray]:
    """Find the labels (m,) of each of `count` starts, of the bytes of float64 rows, whatever is fitted from there."""
    from sklearn.cluster import KMeans

    rows, generator = np.frombuffer(content).reshape(shape), np.random.RandomState(0)
    return [KMeans(k, n_init=1, random_state=generator).fit(rows).labels_ for _ in range(count)]


def _clusters(seen: np.ndarray, rows: np.ndarray, k: int, floor: float, n_init: int) -> Point:
    """A start with column variances: k-means clusters of the rows as they are `seen` in other units."""
    share = np.eye(k)[k_means(seen, k, n_init)]
    members = share.sum(axis=0) + 1e-9
    means = share.T @ rows / members[:, None]
    variances = np.maximum(share.T @ rows**2 / members[:, None] - means**2, 0.0) + floor
    return Point(members / members.sum(), means, np.sqrt(1 / variances), variances)


def _rows(public: PublicTable, scaling: Scaling) -> np.ndarray:
    rows = scaling.apply(public.rows)
    return rows[:: -(-len(rows) // _MOST_ROWS)]


_FEW: tuple[_FitShape, ...] = (("diag", 16 * FLOOR), ("spherical", FLOOR))
"""What remains of the candidates where there are fewer rows than half the means have coordinates."""


def _estimable(setting: _FitShape, m: int, d: int, k: int) -> bool:
    """Tell whether four fifths of the rows can hold k components of this shape at all."""
    if m * (_FOLDS - 1) // _FOLDS <= k:
        return setting[0] == "spherical"
    return m >= k * d / 2 or setting in _FEW
