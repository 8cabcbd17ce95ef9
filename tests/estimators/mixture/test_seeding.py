"""k-means of public points: what its memory of the last ones goes by."""

import numpy as np

from pubpriv.estimators.mixture._seeding import k_means


def test_points_of_any_type_and_order_have_the_labels_of_the_same_numbers():
    """They are remembered by their bytes, which are those of other numbers in another type."""
    rows = np.random.default_rng(0).standard_normal((12, 4)) + 8 * (np.arange(12) % 3)[:, None]
    points = rows.astype(np.float32)
    labels = k_means(points, 3).tolist()
    assert len(labels) == 12
    assert [labels[i] for i in range(3)] * 4 == labels
    assert k_means(np.asfortranarray(points, dtype=float), 3).tolist() == labels
