"""Find clusters of public rows that are narrow in a direction across columns, and coordinates in which they are not.

Columns that nearly determine each other inside every component, such as weights and lengths, make components thousands
of times as long as they are wide. In units of columns the long direction then dominates: a covariance floor is wider
than the components, and so is the noise. A linear map of the rows, learnt from public rows, removes the cause. The
shape that components share can be found without knowing which of them a row belongs to.

Source: Art, Gnanadesikan and Kettenring 1982: the scatter inside clusters from differences of nearest neighbours, in
the metric of that scatter itself.
"""

import numpy as np

from pubpriv.estimators.mixture._seeding import k_means

_NARROW = 0.02
"""Components are narrow if the correlation matrix inside them has an eigenvalue below this. By chance, 60 rows of 2
to 20 columns have a least eigenvalue of .07 or more, for Gaussian, heavy-tailed and skewed components alike."""

_NEIGHBOURS, _LOOKS = 3, 5
"""Number of nearest neighbours per row, and number of passes, each in the metric of the pass before."""

_ROWS = 2
"""Least degrees of freedom inside clusters per column: fewer show narrow directions that do not exist."""

_MOST_ROWS = 300, 4
"""Most rows that are used, and most rows per column if that is more: they determine the shape well enough."""

_LEAST = 1e-12
"""Share of each variance that is added to a scatter matrix to make it invertible."""


def narrow_shape(rows: np.ndarray, clusters: int) -> np.ndarray | None:
    """Find S (d, d) such that S^-1 x is round inside clusters of rows x (m, d); None: the clusters are not narrow.

    Args:
        rows: public rows, without columns that are computed from others or take few values.
        clusters: most clusters that there may be.
    """
    most, each = _MOST_ROWS
    rows = rows[:: -(-len(rows) // max(most, each * rows.shape[1], 1))]
    m, d = rows.shape
    if d < 2 or m - clusters < _ROWS * d:
        return None
    scatter = _of_neighbours(rows)
    if _least_eigenvalue(scatter) > _NARROW or _least_eigenvalue(_of_neighbours(rows, alike=True)) > _NARROW:
        return None
    for _ in range(2):
        seen = rows @ np.linalg.inv(_root(scatter)).T
        labels = k_means(seen, clusters)
        off = rows - _means(rows, labels)[labels]
        scatter = off.T @ off / (m - clusters)
    return _root(scatter)


def _means(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compute means (clusters, d) of labelled rows (m, d), zero for a cluster without rows."""
    share = np.eye(labels.max() + 1)[labels]
    return np.asarray(share.T @ rows / np.maximum(share.sum(axis=0), 1.0)[:, None])


def _of_neighbours(rows: np.ndarray, alike: bool = False) -> np.ndarray:
    """Compute half the mean square (d, d) of differences of nearest neighbours, iterating the metric.

    `alike`: of differences of one length, as Tyler (1987) has them. Of components of several scales only the rows of
    the widest count otherwise, and these few look narrow by chance.
    """
    from scipy.spatial.distance import cdist

    scatter = np.diag(rows.var(axis=0))
    for _ in range(_LOOKS):
        seen = rows @ np.linalg.inv(_root(scatter)).T
        gaps = cdist(seen, seen)
        gaps[gaps == 0] = np.inf
        nearest = np.argpartition(gaps, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
        off = (rows[:, None] - rows[nearest]).reshape(-1, rows.shape[1])
        if alike:
            off /= np.take_along_axis(gaps, nearest, axis=1).reshape(-1, 1)
        scatter = off.T @ off / (2 * len(off))
    return np.asarray(scatter)


def _least_eigenvalue(scatter: np.ndarray) -> float:
    """Compute the smallest eigenvalue of a scatter's correlation matrix."""
    spread = np.sqrt(np.diag(scatter))
    return float(np.linalg.eigvalsh(scatter / np.outer(spread, spread))[0])


def _root(scatter: np.ndarray) -> np.ndarray:
    """Compute the lower triangular L of a scatter L L', slightly regularised."""
    return np.asarray(np.linalg.cholesky(scatter + _LEAST * np.diag(np.diag(scatter))))
