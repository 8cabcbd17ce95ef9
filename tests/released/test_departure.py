"""How far a released law lies from the public rows: what few rows explain, and what they do not."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.released.departure import departure as facts_of
from pubpriv.released.departure import of_rows
from pubpriv.released.law import Mixture


def departure(*arguments):
    return facts_of(*arguments)["distance_from_public_rows"]


STANDARD = Mixture.of([1.0], [np.zeros(5)], [np.eye(5)])


@pytest.mark.parametrize("m", [30, 100, 1000])
def test_few_rows_explain_what_they_are(m):
    """The distance to the Gaussian of m rows of the same law is about what is said of so few rows."""
    generator = np.random.default_rng(m)
    found = [departure(STANDARD, of_rows(generator.normal(size=(m, 5))), m) for _ in range(20)]
    most = np.median([each["most"] for each in found])
    assert 0.8 < most / found[0]["of_few_rows"] < 1.25
    assert all(each["least"] <= each["most"] for each in found)


def test_a_shift_is_seen():
    """Three standard deviations: more than few rows explain, and never less than the distance of the centres' line."""
    rows = np.random.default_rng(1).normal(size=(100, 5)) + 3.0 * np.eye(5)[0]
    found = departure(STANDARD, of_rows(rows), 100)
    assert found["least"] > 0.8 > 2 * found["of_few_rows"]


def test_components_are_paired_by_their_means():
    """Whatever their order; the pair that is furthest apart is told, with the rows of the smallest component."""
    means = 10 * np.eye(3)
    spreads = np.stack([np.eye(3)] * 3)
    released = Mixture.of([0.5, 0.3, 0.2], means, spreads)
    turned = Mixture.of([0.2, 0.5, 0.3], means[[2, 0, 1]], spreads)
    assert departure(released, turned, 90) == {
        "least": 0.0,
        "most": 0.0,
        "of_few_rows": pytest.approx(0.354, abs=0.001),
    }
    wider = spreads * np.array([1.0, 1.0, 9.0])[:, None, None]
    assert departure(released, Mixture.of([0.5, 0.3, 0.2], means, wider), 90)["least"] > 0.5


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e200])
def test_what_has_no_distance_has_none(scale):
    """A column that is constant, or that overflows: nothing is told, and nothing breaks."""
    rows = np.random.default_rng(2).normal(size=(30, 5)) * np.array([1, 1, 1, 1, scale])
    found = facts_of(STANDARD, of_rows(rows), 30)
    assert np.isfinite(list(found.get("distance_from_public_rows", {}).values())).all()
    if scale == 0:
        assert found == {}


def test_a_gaussian_tells_it():
    """Public rows of the same law are as near as few rows can be; far ones are not."""
    rows = np.random.default_rng(3).normal(size=(2_000, 1))
    budget, public = pp.parse_budget("zcdp:1"), rows[:40]
    near, far = (
        pp.estimate_gaussian(public + shift, pp.Curator.simulation(rows, budget, 0)).diagnostics for shift in (0, 100)
    )
    assert near["distance_from_public_rows"]["most"] < 0.3
    assert far["distance_from_public_rows"]["least"] > 0.95
