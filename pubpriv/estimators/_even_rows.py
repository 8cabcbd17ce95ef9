"""Rows that stand for a law: each column's values are evenly likely, and columns know nothing of one another.

Quantiles in an order drawn by a public seed vary less than draws of the law. Public: nothing here sees a row.
"""

from collections.abc import Sequence

import numpy as np


def even_chances(count: int) -> np.ndarray:
    """Give the middles (count,) of as many equally likely parts of a law, as probabilities."""
    return (np.arange(count) + 0.5) / max(count, 1)


def shuffled_columns(column: np.ndarray, d: int, seed: int | Sequence[int]) -> np.ndarray:
    """Give rows (count, d) in whose columns the values (count,) of `column` stand, in an order of each column's own."""
    generator = np.random.default_rng(seed)
    return np.stack([generator.permutation(column) for _ in range(d)], axis=1)
