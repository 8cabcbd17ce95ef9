"""Correlations and partial correlations of a released covariance, as functions of it."""

import numpy as np

from pubpriv.released.regression.fields import Functions


def correlations(covariance: np.ndarray, one: int, others: tuple[int, ...]) -> tuple[np.ndarray, Functions]:
    """Compute correlations (m,) of one column with others, and their derivatives.

    Args:
        covariance: (d, d).
        one: index of a column.
        others: indices of m others.
    """
    d, sizes = len(covariance), np.diag(covariance)
    values, weights = np.zeros(len(others)), np.zeros((len(others), d, d))
    for place, other in enumerate(others):
        scale = float(np.sqrt(sizes[one] * sizes[other]))
        values[place] = covariance[one, other] / scale
        weights[place, one, other] = 1 / scale
        for own in (one, other):
            weights[place, own, own] -= values[place] / (2 * sizes[own])
    return values, Functions.of_covariance(weights)


def partial_correlations(whitened: np.ndarray, outcome: int, on: tuple[int, ...]) -> tuple[np.ndarray, Functions]:
    """Compute correlations (m,) of an outcome with each regressor, the other regressors being held, and derivatives.

    With O = S^-1 the partial correlation is -O_jy / sqrt(O_jj O_yy), and dO = -O dS O.

    Args:
        whitened: (m + 1, d) directions in which the covariance of x and y is white.
        outcome: index of y.
        on: indices of m regressors.
    """
    inverse = whitened.T @ whitened  # S^-1 of x and y, with zeros for other columns
    own, values, weights = inverse[outcome], np.zeros(len(on)), np.zeros((len(on), *inverse.shape))
    for place, j in enumerate(on):
        scale = float(np.sqrt(inverse[j, j] * inverse[outcome, outcome]))
        values[place] = -inverse[j, outcome] / scale
        spread = np.outer(inverse[j], inverse[j]) / inverse[j, j] + np.outer(own, own) / inverse[outcome, outcome]
        weights[place] = np.outer(inverse[j], own) / scale + values[place] / 2 * spread
    return values, Functions.of_covariance(weights)
