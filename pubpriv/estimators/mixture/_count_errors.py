"""Errors of components whose columns are counts: what clipping hides, and what undoing it does to the errors.

Counts beyond the clip radius are restored by the law that the other counts determine, so an error in the visible part
of a column causes an error in the restored part. Errors of means and variances are therefore those of clipped counts,
which the law gives, propagated through that restoration. Uses public or released numbers only.

Source: the delta method for solutions of moment equations, as in the generalized method of moments (Hansen 1982).
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators.mixture._counts import PASSES, CountLaws, part_put_back
from pubpriv.released.law import Mixture

_NEAR = 1e-3
"""Relative change of means and variances in the finite differences of the probabilities of counts."""

_Errors = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Clip:
    """Clipping of each component's rows in the last round, and the noise sd (k,) in a whitened variance."""

    frames: tuple[Frame, ...]
    radius: float
    noise: np.ndarray


def count_errors(errors: _Errors, laws: CountLaws, mixture: Mixture, clip: Clip) -> _Errors:
    """Replace the errors of means and variances by those of clipped counts instead of Gaussian rows.

    Args:
        errors: for Gaussian rows: of means (k, d) and covariances (k, d, d), `sampling` and `privacy`.
        laws: laws of the components.
        mixture: in the table's own units, its components in the same order as all others.
        clip: clipping in the last round.
    """
    _, means, covariances = mixture.arrays
    variances = np.einsum("kii->ki", covariances)
    clumped = errors["means"]["sampling"] ** 2 / variances  # 1 / the effective number of rows
    places, spreads = ({name: part.copy() for name, part in errors[of].items()} for of in ("means", "covariances"))
    for j, rows in enumerate(laws.rows_of_each(mixture)):
        origin, matrix = clip.frames[j].dense()
        z = (rows - origin) @ matrix.T
        shorter = np.minimum(1.0, clip.radius / np.maximum(np.linalg.norm(z, axis=1), 1e-300))
        kept = origin + (z * shorter[:, None]) @ np.linalg.inv(matrix).T
        scores = _scores(laws, j, means[j], variances[j], rows)
        for i, (all_of, seen) in enumerate(zip(rows.T, kept.T, strict=True)):
            carried = _carried(all_of, seen, scores[i], part_put_back(clip.noise[j]))
            noise = [
                float(np.asarray(part["privacy"])[at] ** 2) for part, at in ((places, (j, i)), (spreads, (j, i, i)))
            ]
            found = {"sampling": clumped[j, i] * np.cov(_moments(seen)), "privacy": np.diag(noise)}
            for name, part in found.items():
                own = np.sqrt(np.diag(carried @ part @ carried.T))
                places[name][j, i], spreads[name][j, i, i] = own
    return errors | {"means": places, "covariances": spreads}


def _moments(column: np.ndarray) -> np.ndarray:
    """Give the values of a column (m,) and the squares of their deviations from the mean: (2, m)."""
    return np.stack([column, (column - column.mean()) ** 2])


def _carried(column: np.ndarray, seen: np.ndarray, scores: np.ndarray, back: float) -> np.ndarray:
    """Compute the matrix (2, 2) that propagates errors in mean and variance of a clipped column when that is undone.

    Each pass restores a part of what the previous pass's law lost to the clip, so the errors add up as that series
    does.

    Args:
        column: (m,) values under the law.
        seen: the same values, clipped.
        scores: (2, m) derivatives of a row's log-likelihood by the mean and by the variance.
        back: part of the loss that is restored.
    """
    lost = back * (_moments(column) - _moments(seen)) @ scores.T / len(column)
    total = np.eye(2)
    for _ in range(PASSES):
        total = np.eye(2) + lost @ total
    return total


def _scores(laws: CountLaws, component: int, mean: np.ndarray, variances: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Compute the derivatives (d, 2, m) of the log-likelihoods of rows (m, d) by each column's mean and variance."""
    near = _NEAR * np.minimum(variances, np.array(laws.steps) ** 2)
    here = laws.shares(component, mean, np.sqrt(variances))
    moved = (
        (laws.shares(component, mean + near / np.array(laws.steps), np.sqrt(variances)), near / np.array(laws.steps)),
        (laws.shares(component, mean, np.sqrt(variances + near)), near),
    )
    counts = laws.counts(component, rows)
    found = np.empty((len(mean), 2, len(rows)))
    for i, own in enumerate(here):
        for which, (others, by) in enumerate(moved):
            change = (others[i] - own) / by[i] / np.maximum(own, 1e-300)
            found[i, which] = change[counts[:, i]]
    return found
