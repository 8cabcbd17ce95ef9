"""Rows that stand for a law: the same for a seed, each column with all values, columns in orders of their own."""

import numpy as np

from pubpriv.estimators._even_rows import even_chances, shuffled_columns


def test_columns_have_all_values_in_orders_of_their_own():
    """One seed gives the same rows again; no rows are rows, too."""
    column = even_chances(500)
    assert column[[0, -1]].tolist() == [0.001, 0.999]
    rows = shuffled_columns(column, 3, seed=7)
    assert np.array_equal(np.sort(rows, axis=0), np.tile(column[:, None], 3))
    assert np.abs(np.corrcoef(rows.T) - np.eye(3)).max() < 0.2
    assert np.array_equal(rows, shuffled_columns(column, 3, seed=7))
    assert shuffled_columns(even_chances(0), 2, [1, 2]).shape == (0, 2)
