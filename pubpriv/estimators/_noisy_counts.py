"""The likelihood of released counts, which is by noise and by chance."""

import numpy as np


def log_likelihood(counts: np.ndarray, expected: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Compute the log likelihood (...,) of `counts` (..., bins), up to a constant that all laws share.

    Args:
        counts: as released.
        expected: (..., bins) by a law.
        variances: (..., bins) of noise and of chance under that law.
    """
    return np.asarray(-((counts - expected) ** 2 / variances + np.log(variances)).sum(axis=-1) / 2)
