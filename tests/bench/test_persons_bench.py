"""The bench of persons measures what it says: both targets, and one row of each way at each budget."""

import numpy as np
import pytest

from benchmarks import group_frames, panels, person_speed, persons
from benchmarks.panels import Panel
from benchmarks.persons import _errors, _moments


def test_persons_and_rows_are_two_targets():
    """Each person once, or each row once; the truth itself has no error."""
    rows, own = np.array([[0.0, 1.0], [0.0, 3.0], [6.0, 0.0], [2.0, 2.0]]), np.array([2, 2, 1, 1])
    person, row = _moments(rows, 1 / own), _moments(rows, np.ones(4))
    assert person[0].tolist() == pytest.approx([8 / 3, 4 / 3])
    assert row[0].tolist() == pytest.approx([2.0, 1.5])
    assert _errors(*row, *row) == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("sizes", ["lognormal", "power"])
def test_the_law_of_a_panel_is_that_of_its_rows(sizes):
    """Means and variances of many drawn rows, each person's weighed as min(n, L), are those that are told."""
    panel = Panel(sizes, 0.5, 0.3, 0)
    rows, who = panel.draw(np.random.default_rng(0), 100_000)
    own = np.bincount(who)[who]
    for most in (1, 4):
        mean, covariance = _moments(rows, np.minimum(own, most) / own)
        level, variance = panel.moments(most)
        assert mean == pytest.approx([level] * 3, abs=0.02)
        assert np.diag(covariance) == pytest.approx([variance] * 3, rel=0.02)


@pytest.mark.long
def test_the_pass_over_ids_is_measured():
    """Of a small table: figures are there, and no bound is held to them here."""
    found = person_speed.bench(2000, 3, 1)
    assert found["pass_microseconds"] > 0
    assert found["text_over_integers"] > 0


@pytest.mark.slow
def test_panels_keep_their_bounds():
    """Of a thousand persons, and of ten thousand: intervals hold, and auto is near the best."""
    assert panels.bench(4, first_seed=50, workers=2)["met"]


@pytest.mark.slow
def test_weights_beat_group_privacy():
    """One split of the RAND experiment, by far."""
    found = persons.bench(1, workers=1)
    assert len(found["rows"]) == 8
    assert found["ratio"] > 2


@pytest.mark.slow
def test_frames_of_their_own_pay_for_large_groups_that_lie_far_apart():
    """Three standard deviations; not for small groups."""
    found = {(row["apart"], row["rows"]): row["covariance_ratio"] for row in group_frames.bench(2, 800)["rows"]}
    assert found[3.0, 5000] < 0.8
    assert found[0.3, 1000] > 1
