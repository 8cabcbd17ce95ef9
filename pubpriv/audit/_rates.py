"""Lower bound of a privacy parameter, from how often scores of two neighbours exceed a threshold.

The threshold is chosen on one half of the runs; the bound uses Clopper-Pearson bounds of both rates on the other half.
"""

from collections.abc import Callable

import numpy as np

_Of = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The parameter that a test proves, from its least true positive and its largest false positive rate."""


def bound_from_below(of: _Of, under: np.ndarray, over: np.ndarray, error: float) -> float:
    """Bound a parameter from below by independent scores on D (`under`) and on D' (`over`), (runs,) each.

    Args:
        of: the parameter, from both rates.
        under: scores on D, which tend to be lower.
        over: scores on D'.
        error: probability with which each of the two rates is misjudged.
    """
    half = len(under) // 2
    candidates = np.quantile(np.concatenate([under[:half], over[:half]]), np.linspace(0.02, 0.98, 49))
    bounds = of(*_rates(under[:half], over[:half], candidates, error))
    threshold = candidates[[int(np.argmax(bounds))]]
    return max(0.0, float(of(*_rates(under[half:], over[half:], threshold, error))[0]))


def _rates(under: np.ndarray, over: np.ndarray, thresholds: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """(lowest TPR, highest FPR) at each threshold, by Clopper and Pearson."""
    from scipy import stats

    hits = (over[:, None] > thresholds).sum(axis=0)
    alarms = (under[:, None] > thresholds).sum(axis=0)
    lowest = np.where(hits > 0, stats.beta.ppf(error, np.maximum(hits, 1), len(over) - hits + 1), 0.0)
    rest = np.maximum(len(under) - alarms, 1)
    return lowest, np.where(alarms < len(under), stats.beta.ppf(1 - error, alarms + 1, rest), 1.0)
