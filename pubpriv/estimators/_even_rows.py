"""Synthetic rows that represent a law: each column's values are equally likely, and columns are independent.

Quantiles in an order drawn with a public seed vary less than random draws of the law. No private row is read here.
"""

from collections.abc import Sequence

import numpy as np


def even_chances(count: int) -> np.ndarray:
    """Give the midpoints (count,) of `count` equally likely parts of a law, as probabilities."""
    return (np.arange(count) + 0.5) / max(count, 1)


def shuffled_columns(column: np.ndarray, d: int, seed: int | Sequence[int]) -> np.ndarray:
    """Give rows (count, d): each column holds the values (count,) of `column` in a random order of its own."""
    generator = np.random.default_rng(seed)
    return np.stack([generator.permutation(column) for _ in range(d)], axis=1)
