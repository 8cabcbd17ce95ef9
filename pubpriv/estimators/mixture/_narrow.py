"""Clusters of public rows that are narrow in a direction across columns, and coordinates in which they are not.

Columns that nearly determine each other inside every component, as weights and lengths do, leave components that are
thousands of times as long as they are wide. In units of columns the long direction then decides everything: a
covariance floor is wider than the components, and so is what noise leaves. A linear map of the rows, learnt from
public ones, mends the cause; what components share does not depend on which of them a row belongs to.

Source: Art, Gnanadesikan and Kettenring 1982, the scatter inside clusters by differences of nearest neighbours, in the
metric that they themselves show.
"""

import numpy as np

from pubpriv.estimators.mixture._seeding import k_means

_NARROW = 0.02
"""Components are narrow if the correlation matrix inside them has an eigenvalue below this. By chance, 60 rows of 2 to
20 columns show one of .07 or more, of Gaussian, heavy-tailed and skewed components alike."""

_NEIGHBOURS, _LOOKS = 3, 5
"""So many differences of each row are taken, and so often in the metric of those before."""

_ROWS = 2
"""Degrees of freedom inside clusters for each column, at least: fewer show narrow directions that are none."""

_MOST_ROWS = 300, 4
"""So many rows, and so many for each column, tell the shape well enough."""

_LEAST = 1e-12
"""Part of a variance that is added to a scatter, so that it can be inverted."""


def narrow_shape(rows: np.ndarray, clusters: int) -> np.ndarray | None:
    """Find S (d, d), so that S^-1 x is round inside clusters of rows x (m, d); None: they are not narrow.

    Args:
        rows: public, in columns of which none is computed from others or takes few values.
        clusters: most that there may be.
    """
    most, each = _MOST_ROWS
    rows = rows[:: -(-len(rows) // max(most, each * rows.shape[1], 1))]
    m, d = rows.shape
    if d < 2 or m - clusters < _ROWS * d:
        return None
    scatter = _of_neighbours(rows)
    if _least_eigenvalue(scatter) > _NARROW:
        return None
    for _ in range(2):
        seen = rows @ np.linalg.inv(_root(scatter)).T
        labels = k_means(seen, clusters)
        off = rows - _means(rows, labels)[labels]
        scatter = off.T @ off / (m - clusters)
    return _root(scatter)


def _means(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Means (clusters, d) of labelled rows (m, d); of a cluster without rows they are zero."""
    share = np.eye(labels.max() + 1)[labels]
    return np.asarray(share.T @ rows / np.maximum(share.sum(axis=0), 1.0)[:, None])


def _of_neighbours(rows: np.ndarray) -> np.ndarray:
    """Half the mean square (d, d) of differences of nearest neighbours, in the metric of differences before."""
    from scipy.spatial.distance import cdist

    scatter = np.diag(rows.var(axis=0))
    for _ in range(_LOOKS):
        seen = rows @ np.linalg.inv(_root(scatter)).T
        gaps = cdist(seen, seen)
        gaps[gaps == 0] = np.inf
        nearest = np.argpartition(gaps, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
        off = (rows[:, None] - rows[nearest]).reshape(-1, rows.shape[1])
        scatter = off.T @ off / (2 * len(off))
    return np.asarray(scatter)


def _least_eigenvalue(scatter: np.ndarray) -> float:
    """Smallest eigenvalue of the correlation matrix of a scatter."""
    spread = np.sqrt(np.diag(scatter))
    return float(np.linalg.eigvalsh(scatter / np.outer(spread, spread))[0])


def _root(scatter: np.ndarray) -> np.ndarray:
    """Lower triangular L of a scatter L L', held away from singular ones."""
    return np.asarray(np.linalg.cholesky(scatter + _LEAST * np.diag(np.diag(scatter))))
