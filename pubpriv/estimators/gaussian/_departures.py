"""Tests of columns of few rows against a Gaussian, as standard scores. `scipy.stats` takes a second to load."""

import math

import numpy as np


def skewness_scores(columns: np.ndarray) -> np.ndarray:
    """Compute standard scores (d,) of the skewness of columns (m, d), m >= 8, not constant (D'Agostino 1970)."""
    m = len(columns)
    skewness = _moment(columns, 3) / _moment(columns, 2) ** 1.5
    scaled = skewness * math.sqrt((m + 1) * (m + 3) / (6.0 * (m - 2)))
    kurtosis = 3.0 * (m**2 + 27 * m - 70) * (m + 1) * (m + 3) / ((m - 2.0) * (m + 5) * (m + 7) * (m + 9))
    squared = math.sqrt(2 * (kurtosis - 1)) - 1
    return np.asarray(np.arcsinh(scaled / math.sqrt(2 / (squared - 1))) / math.sqrt(math.log(squared) / 2))


def kurtosis_scores(columns: np.ndarray) -> np.ndarray:
    """Compute the same for the kurtosis: above 0 if tails are longer (Anscombe and Glynn 1983)."""
    m = len(columns)
    kurtosis = _moment(columns, 4) / _moment(columns, 2) ** 2
    variance = 24.0 * m * (m - 2) * (m - 3) / ((m + 1) ** 2 * (m + 3.0) * (m + 5))
    standard = (kurtosis - 3.0 * (m - 1) / (m + 1)) / math.sqrt(variance)
    skewed = (
        6.0 * (m**2 - 5 * m + 2) / ((m + 7.0) * (m + 9)) * math.sqrt(6.0 * (m + 3) * (m + 5) / (m * (m - 2) * (m - 3)))
    )
    degrees = 6 + 8 / skewed * (2 / skewed + math.sqrt(1 + 4 / skewed**2))
    part = 1 + standard * math.sqrt(2 / (degrees - 4))
    root = np.cbrt((1 - 2 / degrees) / part)
    return np.asarray((1 - 2 / (9 * degrees) - root) / math.sqrt(2 / (9 * degrees)))


def _moment(columns: np.ndarray, order: int) -> np.ndarray:
    return np.asarray(((columns - columns.mean(axis=0)) ** order).mean(axis=0))
