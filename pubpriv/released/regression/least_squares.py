"""Least squares from a released mean and covariance: coefficients, their errors, and whether noise permits them.

With the covariance S of regressors x and outcome y, b = S_xx^-1 S_xy, and the residual has the variance
S_yy - b . S_xy. If the noise of S has independent entries in coordinates in which S is white, off the diagonal of half
the variance (as that of `LiftedGram` has in the last frame), then b is unbiased, however small the eigenvalues of S_xx
are, and however many columns there are. Proof: such noise has the same law in every orthonormal basis of the whitened
space. Choose one whose first axes span the regressors and whose last one is the residual u. There S is I + E, and the
error of b is (I + E_xx)^-1 E_xu. E_xu is independent of E_xx, and centred.

A second moment M >= 0 that was not measured, with M <= L, moves b_j by (S_xx + M_xx)^-1_j. M u, u = (-b, 1). By Cauchy
and Schwarz that is at most sqrt(a' L a  u' L u), a the row j of S_xx^-1, however large L is: t / (1 + t)^2 <= t for
every eigenvalue t of S_xx^-1/2 M_xx S_xx^-1/2. So errors of first order are large enough.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.regression.fields import Functions, Source

LOUD = 0.45
"""Largest eigenvalue of the noise, where the covariance is white, from which on there is no regression: (I + E_xx)^-1
is then as often below .7 as above 1.8 in its worst direction, and first-order errors are no longer those of b."""

_COLLINEAR = 1e-10
"""Regressors are collinear if one has at most this share of its variance beside the others: a model file's numbers have
some 16 digits, a covariance's errors are squares of those of coefficients, and conditions of 1e8 are asked for."""


@dataclass(frozen=True)
class LeastSquares:
    """A regression of one column on others.

    Attributes:
        outcome: index of y.
        on: indices of x.
        coefficients: (1 + d_x,) intercept first.
        functions: derivatives of the coefficients.
        variance: of the residual, with the part that noise took from it put back.
        residual: (d,) weights of the residual: 1 for y, -b for x.
        whitened: (d_x + 1, d) directions in which the covariance of x and of the residual is the identity; the residual
            is last.
        edge: largest eigenvalue that noise alone gives a white covariance of x and y.
        taken: share of the variance of the residual that noise took from it.
    """

    outcome: int
    on: tuple[int, ...]
    coefficients: np.ndarray
    functions: Functions
    variance: float
    residual: np.ndarray
    whitened: np.ndarray
    edge: float
    taken: float

    @property
    def condition(self) -> float:
        """Condition of the correlations of the regressors: their largest eigenvalue over their smallest one."""
        root = self.whitened[:-1, self.on]  # its inner product is the inverse of the covariance of x
        inverse = root.T @ root
        scales = np.sqrt(1 / np.diag(np.linalg.inv(inverse)))
        values = np.linalg.eigvalsh(inverse / np.outer(scales, scales))
        return float(values[-1] / max(float(values[0]), 1e-300))

    @property
    def unsure(self) -> float:
        """Relative standard error of a variance in one direction, by noise alone."""
        return self.edge / float(np.sqrt(2 * len(self.whitened)))


def least_squares(source: Source, outcome: int, on: tuple[int, ...]) -> LeastSquares:
    """Regress a column on others.

    Args:
        source: mean (d,) and covariance (d, d) with their errors.
        outcome: index of y.
        on: indices of x, without y.

    Raises:
        InvalidInput: the columns are collinear, or the covariance of x and y has no positive eigenvalues.
    """
    mean, covariance = source.mean, source.covariance
    d, x = len(mean), list(on)
    whitened = _whitened(covariance, [*x, outcome])
    inverse = np.zeros((len(x), d))  # rows of S_xx^-1
    inverse[:, x] = whitened[:-1, x].T @ whitened[:-1, x]
    slopes = inverse @ covariance[:, outcome]
    residual = np.zeros(d)
    residual[outcome], residual[x] = 1.0, -slopes
    of_slopes = Functions.of_covariance(inverse[:, :, None] * residual[None, None, :])
    # the intercept mu_y - b . mu_x moves with the means, and with b
    turned = -np.einsum("j,jkl->kl", mean[x], of_slopes.covariances)
    functions = Functions(
        np.concatenate([residual[None], of_slopes.means]), np.concatenate([turned[None], of_slopes.covariances])
    )
    variances = variances_of(source, whitened, ("privacy",))
    # the released variance of the residual is 1 / ((I + E)^-1)_uu, on average 1 - sum_j E E_ju^2 over regressors j
    taken = float(variances[:-1, -1].sum())
    variance = float(residual @ covariance @ residual) * (1 + taken)
    coefficients = np.concatenate([[float(residual @ mean)], slopes])
    return LeastSquares(outcome, on, coefficients, functions, variance, residual, whitened, edge_of(variances), taken)


def _whitened(covariance: np.ndarray, columns: list[int]) -> np.ndarray:
    """Return directions (k, d) in which these columns are white, each made of the columns up to its own one."""
    own = covariance[np.ix_(columns, columns)]
    scales = np.sqrt(np.maximum(np.diag(own), 1e-300))
    try:
        root = np.linalg.cholesky(own / np.outer(scales, scales))
    except np.linalg.LinAlgError:
        root = np.zeros((len(columns), len(columns)))
    left = np.diag(root) ** 2
    if np.diag(own).min() <= 0 or left[:-1].min(initial=1.0) < _COLLINEAR or left[-1] <= 0:
        raise InvalidInput(
            "the released covariance of these columns is singular: some column has no variance, or is a sum of others. "
            "Leave one out, or a larger budget"
        )
    directions = np.zeros((len(columns), len(covariance)))
    directions[:, columns] = np.linalg.inv(root) / scales
    return directions


def edge_of(variances: np.ndarray) -> float:
    """Compute the largest eigenvalue of errors of a covariance, from their variances (k, k) where it is white.

    A symmetric matrix of independent entries, with variance s^2 on the diagonal and half of it elsewhere, has E E^2 =
    s^2 (k + 1) / 2 times I, and eigenvalues up to s sqrt(2 k).
    """
    return 2 * float(np.sqrt((variances.sum(axis=1) - np.diag(variances) / 2).max()))


def variances_of(source: Source, whitened: np.ndarray, sources: tuple[str, ...]) -> np.ndarray:
    """Compute the variances (k, k) of errors of a covariance in directions in which it is white."""
    k = len(whitened)
    variances = np.zeros((k, k))
    for row in range(k):  # all pairs at once would need their covariances, of which there are k times as many
        pairs = Functions.of_covariance(whitened[row][None, :, None] * whitened[row:, None, :])
        variances[row, row:] = sum(np.diag(source.errors(name, pairs)) for name in sources)
    return np.maximum(variances, variances.T)
