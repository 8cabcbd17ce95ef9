"""Models of the public rows: the model that the private one has to beat, and public starts."""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import count_steps
from pubpriv.estimators.mixture._count_clusters import count_clusters
from pubpriv.estimators.mixture._linear import floored, one_thread
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

_START_SETTINGS: tuple[_FitShape, ...] = (("full", FLOOR), ("tied", 4 * FLOOR), ("diag", 4 * FLOOR))
"""Settings of the public starts, as many as `_plan._STARTS`."""

_UNCORRELATED = 0.05
"""Share of the variances that is added to the diagonal of a pooled correlation matrix, to make it invertible."""

_TRIES = 20
"""Number of k-means starts of each public fit that private rounds start from. From 5 they led to models that were worse
by an eighth of a nat per row, in 36 runs on a real table; with 60 the fits follow the public rows too closely."""

_FOLDS = 5
_MOST_ROWS = 5000
"""Folds of the cross-validation, and most public rows that are fitted: with more, private rows are the better
source."""


@step(title="public model")
@one_thread
def public_model(public: PublicTable, scaling: Scaling, n_components: int) -> Mixture:
    """Return the best of `_CANDIDATES` by cross-validated likelihood of the public rows, fitted to all of them.

    If all columns are counts, it is the model of their clusters: with many equal rows, Gaussian densities are
    unbounded, and the narrowest model would win.
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
    n_init = 1 if few else 3  # these two differ more than their starts do

    def held_out(setting: _FitShape) -> float:
        models = [(_fitted(rows[folds != f], n_components, setting, n_init), rows[folds == f]) for f in range(_FOLDS)]
        return sum(float(log_density(*model, test).sum()) for model, test in models)

    return _fit(rows, n_components, max(settings, key=held_out), n_init=10 if few else 20)


def _of_clusters(rows: np.ndarray, labels: np.ndarray, steps: np.ndarray) -> Mixture:
    """Make a mixture from clusters of rows (m, d) by labels (m,), with variances that allow rows one step (d,) away."""
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
    """Fit several shapes to public rows in R^d, from which private rounds start if components overlap."""
    rows = _rows(public, scaling)
    return tuple(_fit(rows, n_components, setting, _TRIES) for setting in _START_SETTINGS)


@step(title="public start")
@one_thread
def pooled_start(public: PublicTable, scaling: Scaling, n_components: int) -> Mixture:
    """Fit public rows with components that share their correlations; see `_pooled`."""
    rows = _rows(public, scaling)
    return _pooled(rows, _by_column(rows, n_components))


@step(title="public starts")
@one_thread
def rung_starts(public: PublicTable, scaling: Scaling, n_components: int) -> tuple[Mixture, Mixture]:
    """Make two starts of a few private rounds from one fit: with shared correlations, and without any.

    How well a start fits the public rows says little about where rounds lead from it, so the private rows choose.
    """
    rows = _rows(public, scaling)
    fitted = _by_column(rows, n_components)
    return _pooled(rows, fitted), fitted


def _by_column(rows: np.ndarray, n_components: int) -> Mixture:
    """Fit components with column variances only: full covariances from a few rows each mislead rounds."""
    return _fit(rows, n_components, ("diag", 4 * FLOOR), _TRIES)


def _pooled(rows: np.ndarray, fitted: Mixture) -> Mixture:
    """Give components that were fitted by column one correlation matrix, that of all rows inside the components."""
    weights, means, covariances = fitted.arrays
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
    """Run EM on public rows (m, d) with floored covariances; the seed is fixed, so the result is public.

    Starts are k-means clusters of the rows as they are and, for `diag`, of the rows in units of the column spreads
    inside the components found first: if components lie apart in one column, its standard deviation is that of their
    distance, and the other columns would outweigh it.
    """
    kind, floor = setting
    fitted = _climbed(rows, k, setting, n_init=n_init)
    if kind == "diag":
        inside = np.sqrt(fitted.weights_ @ fitted.covariances_)
        again = _climbed(rows, k, setting, **_clusters(rows / inside, rows, k, floor, n_init))
        fitted = max(fitted, again, key=lambda model: float(model.score(rows)))
    if kind == "tied":
        covariances = [floored(fitted.covariances_, FLOOR)] * k
    elif kind == "full":
        covariances = [floored(covariance, FLOOR) for covariance in fitted.covariances_]
    else:
        variances = np.maximum(fitted.covariances_, FLOOR)
        covariances = [np.diag(np.broadcast_to(values, rows.shape[1])) for values in variances]
    return fitted.weights_, fitted.means_, np.array(covariances)


def _climbed(rows: np.ndarray, k: int, setting: _FitShape, **starts: Any) -> Any:
    """Fit scikit-learn's mixture to the rows."""
    from sklearn.mixture import GaussianMixture

    kind, floor = setting
    model = GaussianMixture(k, covariance_type=kind, reg_covar=floor, random_state=0, **starts)
    if "means_init" not in starts:
        _start_as_before(model, rows)
    with warnings.catch_warnings():
        # with few public rows, non-convergence or repeated points are expected, and judged by likelihood
        warnings.simplefilter("ignore")
        return model.fit(rows)


def _start_as_before(model: Any, rows: np.ndarray) -> None:
    """Start scikit-learn's mixture from cached clusters that it would otherwise compute again: same bits, less time.

    The clusters depend on rows, numbers and seed only, whatever shapes and floors are tried.
    """
    if not hasattr(model, "_initialize"):  # a private method: without it, the fit takes longer
        return
    k, count, content = model.n_components, model.n_init, np.asarray(rows, dtype=np.float64).tobytes()
    number = iter(range(count))

    def start(seen: np.ndarray, *_: Any, **__: Any) -> None:
        model._initialize(seen, np.eye(k)[_first_clusters(content, rows.shape, k, count)[next(number)]])

    model._initialize_parameters = start


@lru_cache(maxsize=_FOLDS + 1)  # holds all folds, which every candidate uses
def _first_clusters(content: bytes, shape: tuple[int, ...], k: int, count: int) -> list[np.ndarray]:
    """Find the labels (m,) of each of `count` starts, for the bytes of float64 rows."""
    from sklearn.cluster import KMeans

    rows, generator = np.frombuffer(content).reshape(shape), np.random.RandomState(0)
    return [KMeans(k, n_init=1, random_state=generator).fit(rows).labels_ for _ in range(count)]


def _clusters(seen: np.ndarray, rows: np.ndarray, k: int, floor: float, n_init: int) -> dict[str, np.ndarray]:
    """Make a start with column variances from k-means clusters of the rows in other units, `seen`."""
    share = np.eye(k)[k_means(seen, k, n_init)]
    members = share.sum(axis=0) + 1e-9
    means = share.T @ rows / members[:, None]
    variances = np.maximum(share.T @ rows**2 / members[:, None] - means**2, 0.0) + floor
    return {"weights_init": members / members.sum(), "means_init": means, "precisions_init": 1 / variances}


def _rows(public: PublicTable, scaling: Scaling) -> np.ndarray:
    rows = scaling.apply(public.rows)
    return rows[:: -(-len(rows) // _MOST_ROWS)]


_FEW: tuple[_FitShape, ...] = (("diag", 16 * FLOOR), ("spherical", FLOOR))
"""The candidates that remain if there are fewer rows than half the coordinates of all means."""


def _estimable(setting: _FitShape, m: int, d: int, k: int) -> bool:
    """Decide whether four fifths of the rows suffice to fit k components of this shape."""
    if m * (_FOLDS - 1) // _FOLDS <= k:
        return setting[0] == "spherical"
    return m >= k * d / 2 or setting in _FEW
