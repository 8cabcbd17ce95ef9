"""The bench of persons measures what it says: both targets, and one row of each way at each budget."""

import numpy as np
import pytest

from benchmarks import persons
from benchmarks.persons import _errors, _moments


def test_persons_and_rows_are_two_targets():
    """Each person once, or each row once; the truth itself has no error."""
    rows, own = np.array([[0.0, 1.0], [0.0, 3.0], [6.0, 0.0], [2.0, 2.0]]), np.array([2, 2, 1, 1])
    person, row = _moments(rows, 1 / own), _moments(rows, np.ones(4))
    assert person[0].tolist() == pytest.approx([8 / 3, 4 / 3])
    assert row[0].tolist() == pytest.approx([2.0, 1.5])
    assert _errors(*row, *row) == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.slow
def test_weights_beat_group_privacy():
    """One split of the RAND experiment, by far."""
    found = persons.bench(1, workers=1)
    assert len(found["rows"]) == 6
    assert found["ratio"] > 2
