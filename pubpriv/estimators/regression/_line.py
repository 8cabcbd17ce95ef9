"""The line that a run has found so far, and the coordinates in which its scores are asked."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators.steps import step

_LEAST = 1e-10
"""Least eigenvalue of the correlations of regressors that is whitened as it is. Below it columns are sums of others, as
far as floating point can tell."""

_LOUD, _TRUSTED = 0.45, 0.1
"""Noise of the start, as a share of the variance in its worst direction, from which on variances below the second
number's share of the public rows' are taken to be noise."""

_LEAST_SCATTER = 1e-6
"""Least share of the outcome's variance that the residual is taken to have."""


@public_value
@dataclass(frozen=True)
class RegressionLine:
    """A line y = a + b x, and the frame of its scores: residual over sigma first, then regressors in white coordinates.

    Attributes:
        frame: (r, w) = matrix (row - center), where row has the table's columns in their order; the residual is 0 at
            the center.
        outcome: place of y among the columns.
        sigma: scale of the residual, in the outcome's units.
        edge: share of the variance that the start's noise has in the worst direction.
    """

    frame: Frame
    outcome: int
    sigma: float
    edge: float

    @property
    def on(self) -> list[int]:
        """Places of the regressors among the columns."""
        return [i for i in range(len(self.frame.center)) if i != self.outcome]

    @property
    def whitening(self) -> np.ndarray:
        """W (d - 1, d - 1) of the regressors: w = W (x - center)."""
        return np.asarray(self.frame.dense()[1][1:, self.on])

    @property
    def slopes(self) -> np.ndarray:
        """b (d - 1,), in the units of the outcome per unit of a regressor."""
        return np.asarray(-self.sigma * self.frame.dense()[1][0, self.on])

    @property
    def coefficients(self) -> np.ndarray:
        """(a, b), (d,): the intercept is the line's value where all regressors are 0."""
        center, slopes = np.array(self.frame.center), self.slopes
        return np.append(center[self.outcome] - slopes @ center[self.on], slopes)

    @property
    def to_coefficients(self) -> np.ndarray:
        """(d, d): how (a, b) move with a step (1, w) in white coordinates, in units of sigma."""
        slopes = self.sigma * self.whitening.T
        center = np.array(self.frame.center)[self.on]
        return np.vstack([np.append(self.sigma, -center @ slopes), np.column_stack([np.zeros(len(slopes)), slopes])])

    def moved(self, move: np.ndarray) -> "RegressionLine":
        """Move the line by a step (d,) in white coordinates: to residual r - move (1, w)."""
        center, matrix = self.frame.dense()
        center, matrix = center.copy(), matrix.copy()
        matrix[0] -= move[1:] @ matrix[1:]
        center[self.outcome] += self.sigma * move[0]
        return RegressionLine(Frame(tuple(center.tolist()), row_tuples(matrix)), self.outcome, self.sigma, self.edge)


@step(title="line to start from")
def start_line(
    mean: tuple[float, ...], covariance: Matrix, public: Matrix, outcome: int, edge: float
) -> RegressionLine:
    """Make the line of a released mean and covariance.

    Where the noise is loud in some direction, variances that are a small share of the public rows' are raised to that
    share: Newton's steps correct the line, and a whitening by noise would clip what they need.

    Args:
        mean: released.
        covariance: released.
        public: covariance of the public rows.
        outcome: place of the outcome.
        edge: noise of the covariance; see `RegressionLine`.
    """
    whole, center = np.array(covariance), np.array(mean)
    if edge > _LOUD:
        whole = _raised(whole, np.array(public))
    on = [i for i in range(len(center)) if i != outcome]
    scales = np.sqrt(np.maximum(np.diag(whole), 1e-300))
    inner = whole[np.ix_(on, on)] / np.outer(scales[on], scales[on])
    values, vectors = np.linalg.eigh(inner)
    values = np.maximum(values, _LEAST)
    whitening = (vectors / np.sqrt(values)).T / scales[on]
    inverse = whitening.T @ whitening
    slopes = inverse @ whole[on, outcome]
    spread = float(whole[outcome, outcome] - slopes @ whole[on, outcome])
    sigma = float(np.sqrt(max(spread, _LEAST_SCATTER * float(whole[outcome, outcome]), 1e-300)))
    matrix = np.zeros((len(center), len(center)))
    matrix[0, outcome], matrix[0, on] = 1 / sigma, -slopes / sigma
    matrix[1:, on] = whitening
    return RegressionLine(Frame(tuple(center.tolist()), row_tuples(matrix)), outcome, sigma, edge)


def _raised(covariance: np.ndarray, public: np.ndarray) -> np.ndarray:
    """Raise a covariance to a share of the public rows', in directions in which it is less."""
    scales = np.sqrt(np.diag(public))
    values, vectors = np.linalg.eigh(public / np.outer(scales, scales))
    colour = scales[:, None] * vectors * np.sqrt(np.maximum(values, _LEAST))
    inverse = np.linalg.inv(colour)
    own, along = np.linalg.eigh(inverse @ covariance @ inverse.T)
    turned = colour @ along
    return np.asarray((turned * np.maximum(own, _TRUSTED)) @ turned.T)
