"""Total variation between a released law and the public rows, and the part that a small number of rows explains."""

from math import isfinite, sqrt

import numpy as np

from pubpriv.released.distances import total_variation
from pubpriv.released.law import Mixture


def of_rows(rows: np.ndarray) -> Mixture:
    """Fit one Gaussian to public rows (m, d): their own mean and covariance."""
    d = rows.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = np.cov(rows.T, ddof=min(1, len(rows) - 1)).reshape(d, d)
        return Mixture.of([1.0], [rows.mean(axis=0)], [covariance])


def departure(released: Mixture, public: Mixture, m: int) -> dict[str, dict[str, float]]:
    """Return the total variation distance of the released law from that of the public rows, for the diagnostics.

    Args:
        released: the released law, with k components.
        public: a law fitted to the public rows alone, with as many components in the same coordinates.
        m: number of public rows.

    Returns:
        `distance_from_public_rows`: bounds `least` and `most` of the distance of two Gaussians, for the pair of
        components that is furthest apart, after pairing components with the nearest means; and `of_few_rows`, the
        approximate value of `most` if the public rows are a sample of the released law. A Gaussian in d columns has
        p = d (d + 3) / 2 parameters: the divergence to its estimate from m rows is about p / (2 m), and by Pinsker's
        inequality the distance at most sqrt(p / (4 m)). Rounded to three digits, since last bits differ between
        machines. {} if a covariance is singular.

    Privacy: none is spent; only released numbers and public rows are used.
    """
    (_, means, covariances), (weights, others, spreads) = released.arrays, public.arrays
    d = means.shape[1]
    try:
        with np.errstate(all="ignore"):  # laws may be extremely far apart, or nearly singular
            pairs = enumerate(_nearest(means, covariances, others))
            bounds = [total_variation(means[i], covariances[i], others[j], spreads[j]) for i, j in pairs]
    except (ValueError, np.linalg.LinAlgError):  # includes `InvalidInput`
        return {}
    rows = np.maximum(m * weights / weights.sum(), 1.0)
    found = {
        "least": max(bound.lower for bound in bounds),
        "most": max(bound.upper for bound in bounds),
        "of_few_rows": min(1.0, sqrt(d * (d + 3) / 8 / rows.min())),
    }
    if not isfinite(found["most"]):
        return {}
    return {"distance_from_public_rows": {name: round(float(value), 3) for name, value in found.items()}}


def _nearest(means: np.ndarray, covariances: np.ndarray, others: np.ndarray) -> list[int]:
    """Match each of the means (k, d) with one of the others, so that the sum of distances is least."""
    if len(means) == 1:
        return [0]
    from scipy.optimize import linear_sum_assignment

    return list(linear_sum_assignment(_squares(means, covariances, others))[1])


def _squares(means: np.ndarray, covariances: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(k, k) squared Mahalanobis distances from each mean to each of the others, in units of its covariance."""
    apart = others[None] - means[:, None]
    return np.asarray(
        np.einsum("ijd,ijd->ij", apart, np.linalg.solve(covariances, apart.transpose(0, 2, 1)).transpose(0, 2, 1))
    )
