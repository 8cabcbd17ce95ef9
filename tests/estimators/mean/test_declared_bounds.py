"""A mean with declared bounds: the noise of a plain clipped mean, released spreads, no tail beyond the bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums
from pubpriv.data.regions import Everything
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mean._declared_bounds import bounded_plan
from pubpriv.privacy.budgets import Purse

COLUMNS = ["clip(income, 0, 300000)", "clip(age, 0, 120)"]


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(1)
    return np.clip(np.c_[random.lognormal(10, 1, 3000), random.normal(45, 18, 3000)], 0, [3e5, 120])


def estimated(rows, public, budget="zcdp:0.5", columns=COLUMNS, seed=3, **options):
    return pp.estimate_mean(public, pp.Curator.simulation(rows, budget, seed, columns=columns), **options)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_number_and_second_moment_cost_nothing_beside_the_sum(d):
    """The noise is that of the sum of clipped rows alone, for the whole price, up to rounding."""
    (ask,) = bounded_plan(Purse.of(pp.parse_budget("zcdp:0.5")), d).asks
    alone = ClippedSums.priced(Everything(), (Frame((0.0,) * d),), (math.sqrt(d),), ask.price)
    assert ask.question.squared_distance <= ask.price == Fraction(1)
    assert ask.question.noise()["sum"].max() == pytest.approx(alone.noise()["sum"].max(), rel=1e-4)


def test_errors_are_those_of_a_plain_clipped_mean(rows):
    found = estimated(rows, rows[:60])
    noise = np.array([150_000, 60]) * math.sqrt(2 * 2 / 0.5) / len(rows)
    assert found.method.startswith("declared-bounds")
    assert found.standard_errors["mean"]["privacy"] == pytest.approx(noise, rel=1e-3)
    assert found.standard_errors["mean"]["sampling"] == pytest.approx(rows.std(axis=0) / math.sqrt(3000), rel=0.05)
    assert np.abs(found.mean - rows.mean(axis=0)) == pytest.approx([0, 0], abs=4 * noise.max())
    assert (np.abs(found.mean - rows.mean(axis=0)) < 4 * noise).all()
    assert found.converged


def test_rows_that_public_rows_do_not_show_are_in_the_mean(rows):
    """One row in a hundred lies at a bound, and no public one."""
    odd = rows.copy()
    odd[:30] = [300_000, 120]
    same, found = estimated(rows, rows[40:100]), estimated(odd, rows[40:100])
    assert found.mean - same.mean == pytest.approx(odd.mean(axis=0) - rows.mean(axis=0), rel=0.05)
    assert found.converged


def test_public_rows_move_no_number(rows):
    one, other = (estimated(rows, rows[at]).mean.tolist() for at in (slice(1), slice(5, 80)))
    assert one == other


def test_rows_without_a_value_are_left_out(rows):
    holes = rows.copy()
    holes[:900, 0] = np.nan
    found = estimated(holes, rows[:60])
    assert found.mean == pytest.approx(rows[900:].mean(axis=0), rel=0.1)
    full = estimated(rows[900:], rows[:60])
    privacy = [np.array(each.standard_errors["mean"]["privacy"]) for each in (found, full)]
    assert (privacy[0] > privacy[1]).all()


def test_a_table_without_rows_is_flagged(rows):
    found = estimated(np.full_like(rows, np.nan), rows[:60])
    assert not found.converged
    assert [finding.code for finding in found.findings] == ["no-rows"]


@pytest.mark.parametrize("options", [{"covariance": "unknown"}, {"covariance": "identity", "force": True}])
def test_a_covariance_that_is_asked_for_is_used(rows, options):
    assert not estimated(rows, rows[:60], **options).method.startswith("declared-bounds")


def test_one_column_without_bounds_has_a_tail(rows):
    found = estimated(rows, rows[:60], columns=["income", COLUMNS[1]])
    assert not found.method.startswith("declared-bounds")


def test_bounds_that_are_a_safety_net_are_none(rows):
    """Rows are looked for if bounds are a thousand times as wide as all public rows reach; narrower ones are noted."""
    net, loose = (estimated(rows[:, 1:], rows[:60, 1:], columns=[f"clip(age, 0, {high})"]) for high in ("1e6", "5000"))
    assert net.method.startswith("learner")
    assert loose.method.startswith("declared-bounds")
    assert [finding.code for finding in loose.findings] == ["loose-bounds"]
    assert loose.converged


def test_it_needs_no_public_rows(rows):
    found = estimated(rows, None, method="no-public")
    assert found.mean.tolist() == estimated(rows, rows[:60]).mean.tolist()


def test_a_pure_budget_pays_for_it(rows):
    found = estimated(rows, rows[:60], "pure:1")
    assert (np.abs(found.mean - rows.mean(axis=0)) < 4 * np.array(found.standard_errors["mean"]["privacy"])).all()


def test_noise_as_wide_as_the_bounds_is_refused(rows):
    """With what would do, before anything is asked; a run that is forced to is flagged."""
    with pytest.raises(InvalidInput, match=r"half the width .* take .* rows"):
        estimated(rows[:10], rows[:60], "zcdp:0.05")
    found = estimated(rows[:10], rows[:60], "zcdp:0.05", force=True)
    assert [finding.code for finding in found.findings] == ["few-rows"]
    assert (found.mean >= 0).all()
    assert (found.mean <= [300_000, 120]).all()


def test_groups_get_means_too(rows):
    half = ["low", "high"] * 1500
    curator = pp.Curator.simulation(
        rows, "zcdp:0.5", 3, columns=COLUMNS, groups=(pp.ByCategory("half", ("low", "high")), half)
    )
    found = pp.estimate_mean(rows[:60], curator)
    assert found.method.startswith("declared-bounds")
    for name, own in (("low", rows[::2]), ("high", rows[1::2])):
        group = found.of_group(name)
        assert (np.abs(group.mean - own.mean(axis=0)) < 4 * np.array([n.error for n in group.numbers()])).all()
