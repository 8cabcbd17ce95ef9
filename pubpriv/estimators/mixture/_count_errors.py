"""Errors of components that count: what clipping hides of rows, and what putting it back makes of their noise.

Where counts beyond the clip are put back by the law that the others tell, an error in what is seen of a column is an
error in what is not seen, too. So errors of means and variances are those of clipped counts, which the law gives, taken
through that step. Public, or made of released numbers.

Source: the delta method for what solves equations of moments, as of generalized method of moments (Hansen 1982).
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators.mixture._counts import PASSES, CountLaws, part_put_back
from pubpriv.released.law import Mixture

_NEAR = 1e-3
"""Laws whose means or variances differ by this share tell how chances of counts change with them."""

_Errors = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Clip:
    """How the last round clipped the rows of each component, and the noise sd (k,) in a whitened variance."""

    frames: tuple[Frame, ...]
    radius: float
    noise: np.ndarray


def count_errors(errors: _Errors, laws: CountLaws, mixture: Mixture, clip: Clip) -> _Errors:
    """Give errors of means and variances what clipped counts have instead of Gaussian rows.

    Args:
        errors: of Gaussian rows: of means (k, d) and covariances (k, d, d), `sampling` and `privacy`.
        laws: of the components.
        mixture: in the table's own units, its components in the order of all others.
        clip: of the last round.
    """
    _, means, covariances = mixture.arrays
    variances = np.einsum("kii->ki", covariances)
    clumped = errors["means"]["sampling"] ** 2 / variances  # one over the rows that errors count as
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
    """Values of a column (m,) and squares of what they are off their mean: (2, m)."""
    return np.stack([column, (column - column.mean()) ** 2])


def _carried(column: np.ndarray, seen: np.ndarray, scores: np.ndarray, back: float) -> np.ndarray:
    """Tell what (2, 2) becomes of errors in mean and variance of a clipped column where clipping is undone.

    Each pass puts back part of what the law of the pass before lost: errors add up as that series does.

    Args:
        column: (m,) of the law.
        seen: the same, clipped.
        scores: (2, m) by how much a row becomes likelier with its mean and its variance.
        back: part that is put back.
    """
    lost = back * (_moments(column) - _moments(seen)) @ scores.T / len(column)
    total = np.eye(2)
    for _ in range(PASSES):
        total = np.eye(2) + lost @ total
    return total


def _scores(laws: CountLaws, component: int, mean: np.ndarray, variances: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Tell by how much rows (m, d) become likelier with the mean and the variance of each column: (d, 2, m)."""
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
