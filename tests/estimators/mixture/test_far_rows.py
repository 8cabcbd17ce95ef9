"""Rows that a column takes far out of their component: which are counted, what they tell, and when that is asked."""

import json

import numpy as np
import pytest

import pubpriv as pp
from benchmarks import intervals
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.regions import View
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._far_out import FAR_OUT, furthest
from pubpriv.estimators.mixture._far_points import FarRegions
from pubpriv.estimators.mixture._far_rows import FarRows
from pubpriv.estimators.mixture._lone_tails import lone_tails
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._tail_belief import _of_columns
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.privacy.budgets import Purse
from pubpriv.released.law import Mixture

D, N, END = 6, 6000, 5.5
SPREADS = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 30.0])


def drawn(distance=40.0, n=N, seed=0):
    """Rows of two components that lie apart along the first column, and their components."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(2, size=n)
    return SPREADS * generator.standard_normal((n, D)) + distance * labels[:, None] * np.eye(D)[0], labels


def regions(distance=40.0):
    """In standard coordinates of such rows, with the scaling."""
    scaling = precondition(PublicTable.open(drawn(distance, n=200, seed=1)[0]))
    middles = scaling.apply(np.array([np.zeros(D), distance * np.eye(D)[0]]))
    spreads = np.diag((SPREADS / np.array(scaling.scale)) ** 2)
    return FarRegions.of(scaling, Mixture.of([0.5, 0.5], middles, [spreads, spreads]), END)


def counted(rows, distance=40.0):
    found = regions(distance).partition.assign(View(np.ascontiguousarray(rows.T)))
    return np.bincount(found, minlength=D + 1)[1:]


def test_a_row_is_counted_for_the_column_in_which_it_is_furthest_out():
    """In standard deviations of its own component; further out than components end, it belongs to none."""
    rows, labels = drawn()
    for column in range(D):
        rows[: 10 * (column + 1), column] += 100 * SPREADS[column]  # outliers, in each column more
    out = np.abs(rows - 40.0 * labels[:, None] * np.eye(D)[0]) / SPREADS
    furthest_out, far = out.argmax(axis=1), out.max(axis=1)
    expected = np.bincount(furthest_out[(far > FAR_OUT) & (far < furthest(D, END))], minlength=D)
    assert expected.min() > 5
    assert counted(rows) == pytest.approx(expected, abs=2)  # a little further out, another column may be nearer


def test_points_that_rows_of_another_component_are_near_to_are_left_out():
    """Along the column in which components lie apart, only the sides that look away from each other are counted."""
    near, far = regions(6.0), regions(40.0)
    assert far.sides == pytest.approx((1.0,) * D)
    assert near.sides == pytest.approx((0.5, *(1.0,) * (D - 1)))


def found(counts, expected=16.0, sd=11.0):
    return FarRows(tuple(map(float, counts)), (expected,) * D, (sd,) * D, (float(N),) * D, END)


def test_a_column_with_many_rows_far_out_is_likely_to_be_long():
    """Those of others are not, nor is any where all have as many."""
    laws = lone_tails(D, 3.5, END)
    long = found([16, 70, 16, 10, 20, 16])
    odds = long.log_odds(laws).max(axis=0)
    assert long.doubtful
    assert odds[1] > 6
    assert np.delete(odds, 1).max() < 0.5
    alike = found([60] * D)
    assert not alike.doubtful
    assert alike.log_odds(laws).max() < 0.5
    assert alike.log_odds(()).shape == (0, D)


def test_a_column_with_more_rows_far_out_than_any_tail_has_is_crowded():
    """One in forty is what the longest tail brings there; what all columns have is no sign of anything in one."""
    laws = lone_tails(D, 3.5, END)
    most = round(max(law.far for law in laws) * N)
    assert found([16, most + 80, 16, 10, 20, 16]).beyond_laws(laws) == (1,)
    assert found([16, most, 16, 10, 20, 16]).beyond_laws(laws) == ()
    assert found([most + 80] * D).beyond_laws(laws) == ()
    assert found([16, most + 80, 16, 10, 20, 16]).beyond_laws(()) == ()


@pytest.mark.slow
def test_a_second_group_in_one_of_many_columns_flags_the_run():
    """A twentieth of the rows of each component, six sds off: lengths do not show it, and most runs said nothing."""
    generator = np.random.default_rng(3)
    rows = generator.standard_normal((5_060, 20)) + 6 * generator.permutation(np.eye(20)[:3])[np.arange(5_060) % 3]
    odd = generator.random(len(rows)) < 0.05
    whole, clean = rows.copy(), rows
    whole[odd, 7] += 6
    for table, crowded in ((whole, True), (clean, False)):
        trial = pp.Curator.simulation(table[60:], "zcdp:0.5", 4)
        estimate = pp.estimate_mixture(table[:60], trial, n_components=3)
        assert estimate.converged != crowded
        assert any("more rows lie far out in x7" in text for text in estimate.diagnostics["warnings"]) == crowded


def test_of_columns_without_evidence_one_may_be_long():
    """As likely each, and as likely as it was; where two are long for sure, both are."""
    some, each = _of_columns(np.zeros((1, D)))
    assert some == pytest.approx([0.0], abs=1e-9)
    assert each == pytest.approx(np.full((1, D), each[0, 0]))
    assert 1 / D < each[0, 0] < 1.5 / D
    some, each = _of_columns(np.array([[30.0, 0, 0, 30.0, 0, 0]]))
    assert some[0] > 50
    assert each[0, [0, 3]] == pytest.approx([1, 1])
    assert np.delete(each[0], [0, 3]).max() < 0.15
    assert _of_columns(np.array([[-3.0] * D]))[0][0] < -2.5


def test_a_million_rows_deny_a_long_column_by_thousands_of_nats():
    """Chances are still numbers, and those of the column that is least unlikely."""
    some, each = _of_columns(np.array([[-5000.0, -3000.0, -4000.0], [5.0, 6.0, 700.0]]))
    assert some == pytest.approx([-3001.35, 706.99], abs=0.01)
    assert each == pytest.approx(np.array([[0, 1, 0], [0.97, 0.99, 1]]), abs=0.01)


@pytest.mark.parametrize(
    ("n", "d", "k", "kind", "covariance_type", "asked"),
    [
        (5_000, 20, 3, "zcdp", "full", True),
        (5_000, 20, 3, "zcdp", "diag", True),
        (5_000, 20, 3, "zcdp", "spherical", False),
        (500, 20, 3, "zcdp", "full", False),
        (5_000, 2, 3, "zcdp", "full", False),
        (500_000, 200, 3, "zcdp", "full", False),
        (50_000, 5, 3, "pure", "full", False),
    ],
)
def test_the_question_is_asked_where_it_may_tell_something(n, d, k, kind, covariance_type, asked):
    """Not of so many columns of components that counting would take longer than all else."""
    purse = Purse(5 * 10**11, kind)
    plan = MixturePlan.of(purse, n=n, d=d, k=k, regime="overlapping", covariance_type=covariance_type)
    assert (plan.far is not None) == asked
    assert (plan.far in plan.asks) == asked
    if asked:
        assert float(plan.far.price) == pytest.approx(0.02, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize(("d", "asked"), [(31, True), pytest.param(32, False, marks=pytest.mark.slow)])
def test_a_run_that_looks_for_k_asks_what_it_set_aside_whatever_it_finds(d, asked):
    """There may be eight components, of up to 250 columns together. Three are found, whose plan would have had room."""
    generator = np.random.default_rng(5)
    centers = 12 * np.eye(3, d)
    public, private = (centers[np.arange(n) % 3] + generator.standard_normal((n, d)) for n in (150, 30_000))
    curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP(0.5), seed=5)
    estimate = pp.estimate_mixture(public, curator)
    assert len(estimate.weights) == 3
    assert any(charge.label == "mixture/far" for charge in curator.statement().charges) == asked


@pytest.mark.slow
def test_variances_of_a_single_long_column_are_within_their_intervals():
    """Of each component: clipping took a tenth of them, which neither shells nor public rows showed: 22 of 30 were."""
    held = []
    for seed in range(421_000, 421_010):
        run = intervals.measured(intervals.Task("mixture", "one-t5", 5_000, 20, 60, "zcdp:0.5", seed))
        held += np.array(run["variances"]["covered"])[np.array(run["kinds"]) == 1].tolist()
    assert len(held) == 30
    assert sum(held) >= 27


@pytest.mark.long
def test_what_is_released_of_rows_far_out_can_be_kept():
    """Also where components have no end, since the noise of few rows hides what lies outside: as JSON, and exactly."""
    generator = np.random.default_rng(8)
    rows = generator.standard_normal((2_020, 4)) + 9.0 * generator.integers(2, size=(2_020, 1))
    trial = pp.Curator.simulation(rows[20:], "zcdp:0.5", 1)
    kept = []

    def around(step, place, /, *args):
        found = step(*args)
        kept.append(found) if isinstance(found, FarRows) else None
        return found

    pp.estimate_mixture(rows[:20], trial, n_components=2, runner=around)
    (found,) = kept
    assert found.end == 1000.0
    assert np.isfinite([*found.counts, *found.expected, *found.sds, *found.rows, found.end]).all()
    assert from_json(json.loads(json.dumps(to_json(found), allow_nan=False))) == found
