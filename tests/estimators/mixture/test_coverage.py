"""Public rows that lack a component, or have rows that stand for nothing: found, mended, or told."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.runners import instead

import pubpriv as pp
from pubpriv.data.balls import Cylinder
from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View
from pubpriv.data.tables import PublicTable
from pubpriv.data.uncovered import Uncovered
from pubpriv.estimators._whole_rows import WholeRows
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._coverage import _support
from pubpriv.estimators.mixture._outline import outline
from pubpriv.estimators.mixture._plan import ABSENT, SUPPORT, UNCOVERED, MixturePlan, coverage_questions
from pubpriv.estimators.mixture.public_model import _fit, public_model
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.privacy.budgets import Purse

HALF = pp.ZeroConcentratedDP(0.5)
CHEAP = instead(public_model, lambda public, scaling, k: _fit(scaling.apply(public.rows), k, ("diag", 0.01), 1))
MEANS = 8 / 2**0.5 * np.eye(5)[:4]


def drawn(weights, n, generator):
    """n rows of unit Gaussians about `MEANS`."""
    labels = generator.choice(len(weights), n, p=weights)
    return MEANS[labels] + generator.normal(size=(n, 5))


def fitted(public, weights=(0.4, 0.4, 0.2), seed=1, n=12_000, **options):
    """A run on rows with these weights, with its curator."""
    curator = pp.Curator.simulation(drawn(weights, n, np.random.default_rng(seed)), HALF, seed)
    options = {"n_components": len(weights)} | options
    return pp.estimate_mixture(public, curator, runner=CHEAP, **options), curator


def off(estimate, k):
    """Largest distance of one of the first k means to the nearest estimated one."""
    return np.linalg.norm(MEANS[:k, None] - estimate.means, axis=2).min(axis=1).max()


# --- the partition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ball", [None, Cylinder(Frame((1.0, 0.0, 0.0)), 2.0)])
def test_shells_are_those_of_a_slow_twin(ball):
    """How many distances the nearest point is away, one record at a time; none outside of the ball, or of odd cells."""
    generator = np.random.default_rng(0)
    points, rows = generator.normal(size=(4, 3)), 2 * generator.normal(size=(400, 3))
    rows[:3] = [[np.nan, 0, 0], [np.inf, 0, 0], [1e200, 0, 0]]
    regions = Uncovered(Frame((0.0,) * 3), row_tuples(points), (0.5, 1.0, 2.5), ball)
    with np.errstate(over="ignore", invalid="ignore"):
        seen = regions.assign(View(np.ascontiguousarray(rows.T)))
    assert seen[:3].tolist() == [-1] * 3
    for row, region in zip(rows[3:], seen[3:], strict=True):
        gap = min(np.linalg.norm(row - point) for point in points)
        inside = ball is None or np.linalg.norm(row - [1, 0, 0]) <= 2
        assert region == (sum(gap > distance for distance in (0.5, 1.0, 2.5)) - 1 if inside else -1)
    assert set(seen) >= {-1, 0, 1}


# --- what public rows tell -----------------------------------------------------------------------------------


def test_fresh_rows_of_the_same_kind_are_covered_by_chance():
    """The share of fresh rows out of reach is next to never above the bound, and a row that is far off stands alone."""
    generator, above = np.random.default_rng(0), 0
    for _ in range(15):
        rows = generator.normal(size=(30, 3))
        table = PublicTable.open(rows)
        scaling = precondition(table)
        seen = outline(table, scaling, 3)
        fresh = scaling.apply(generator.normal(size=(400, 3))) / np.array(seen.units)
        gaps = np.linalg.norm(fresh[:, None] - np.array(seen.points), axis=2).min(axis=1)
        above += (gaps > seen.distance).mean() > seen.by_chance
    assert above <= 2  # half a per cent of 15 is 0.08
    rows[7] = 60.0
    table = PublicTable.open(rows)
    alone = np.array(outline(table, precondition(table), 3).alone)
    assert alone[7] > 0
    assert (alone > 0).sum() <= 3


# --- the plan ------------------------------------------------------------------------------------------------


def test_coverage_is_asked_where_it_can_tell_something():
    """Not for one component, nor where noise hides what is looked for; support only if rows stand alone."""
    purse = Purse.of(HALF)
    assert coverage_questions(purse, 30_000, 3, alone=0.0) == (UNCOVERED, ABSENT)
    assert coverage_questions(purse, 30_000, 3, alone=0.02) == (SUPPORT, UNCOVERED, ABSENT)
    assert coverage_questions(purse, 30_000, 3, alone=0.001) == (UNCOVERED, ABSENT)  # 30 rows, in a noise of 14
    assert coverage_questions(purse, 30_000, 1, alone=0.02) == ()
    assert coverage_questions(purse, 1_000, 3, alone=0.02) == ()


@pytest.mark.parametrize("regime", ["overlapping", "separated-scarce", "separated-ample"])
def test_what_is_not_asked_is_left_to_the_rounds(regime):
    """All plans have one sum; what they share at the front has one price; the last round takes what is left."""
    purse = Purse.of(HALF)
    plans = [
        MixturePlan.of(purse, 30_000, 5, 3, regime, coverage=asked)
        for asked in ((), (UNCOVERED,), (UNCOVERED, ABSENT), (SUPPORT, UNCOVERED, ABSENT))
    ]
    assert len({sum(ask.price for ask in plan.asks) for plan in plans}) == 1
    uncovered = {ask.price for plan in plans for ask in plan.coverage if ask.label.endswith(UNCOVERED)}
    assert uncovered == {Fraction(2, 100)}
    prices = [plan.rounds[-1].price for plan in plans]
    assert prices == sorted(prices, reverse=True)
    assert len(set(prices)) == 4


# --- runs ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lacking():
    """Sixty public rows of two of three components."""
    return drawn((0.5, 0.5), 60, np.random.default_rng(7))


@pytest.mark.long
@pytest.mark.parametrize("k", [3, pytest.param(None, marks=pytest.mark.slow)])
def test_a_component_without_public_rows_is_found(lacking, k):
    """Whether or not the run knows k; it is told, and what was asked was charged."""
    estimate, curator = fitted(lacking, n_components=k)
    assert off(estimate, 3) < 0.5
    assert len(estimate.weights) == 3
    told = estimate.diagnostics["coverage"]
    assert 0.1 < told["uncovered_rows"] / 12_000 < 0.3
    assert told["component"]
    assert told["asked"] == [f"mixture/{UNCOVERED}", f"mixture/{ABSENT}"]
    assert any("of the private rows lie where no public row is" in text for text in estimate.diagnostics["warnings"])
    assert sorted(line.label for line in curator.statement().charges) == sorted(estimate.diagnostics["rounds"])
    assert estimate.provenance["n_public"] == 60


@pytest.mark.slow
def test_two_absent_components_are_told_apart():
    """Their rows are one cloud, whose covariance says that it is two."""
    estimate, _ = fitted(drawn((0.5, 0.5), 60, np.random.default_rng(7)), (0.3, 0.3, 0.2, 0.2))
    assert off(estimate, 4) < 0.5


@pytest.mark.slow
def test_nothing_is_added_where_nothing_is_missing():
    """One question is asked, the other's share is spent in the rounds, and there is no warning."""
    estimate, curator = fitted(drawn((0.4, 0.4, 0.2), 60, np.random.default_rng(3)))
    told = estimate.diagnostics["coverage"]
    assert told["asked"] == [f"mixture/{UNCOVERED}"]
    assert told["added"] == 0
    assert not [text for text in estimate.diagnostics["warnings"] if "no public row" in text]
    spent = sum(Fraction(line.cost.split()[0]) for line in curator.statement().charges)
    assert 0.99 * Fraction(1, 2) < spent <= Fraction(1, 2)


@pytest.mark.slow
def test_rows_that_are_all_over_the_place_are_told_and_not_trusted(lacking):
    """A fifth of the private rows lies far out in every direction: no component, and the release says so."""
    generator = np.random.default_rng(5)
    rows = drawn((0.5, 0.5), 12_000, generator)
    rows[:2400] = 60 * generator.normal(size=(2400, 5))
    curator = pp.Curator.simulation(rows, HALF, 1)
    estimate = pp.estimate_mixture(lacking, curator, n_components=2, runner=CHEAP)
    assert not estimate.converged
    assert not estimate.diagnostics["coverage"]["component"]
    assert any("form no component" in text for text in estimate.diagnostics["warnings"])


@pytest.mark.slow
def test_a_model_that_explains_uncovered_rows_is_not_flagged():
    """Public rows are half as wide as private ones: much is uncovered, the rounds find it all, and counts show that."""
    labels, generator = np.arange(60) % 3, np.random.default_rng(2)
    estimate, _ = fitted(MEANS[labels] + 0.4 * generator.normal(size=(60, 5)), (0.34, 0.33, 0.33))
    assert off(estimate, 3) < 0.2
    assert any("form no component" in text for text in estimate.diagnostics["warnings"])
    assert any("explains these rows" in text for text in estimate.diagnostics["warnings"])
    assert estimate.converged


@pytest.mark.slow
def test_public_rows_that_stand_for_nothing_are_left_out():
    """Three of 63 public rows far from everything: the result is that without them, and it is told."""
    generator = np.random.default_rng(11)
    clean = drawn((0.4, 0.4, 0.2), 60, generator)
    garbage = np.r_[clean, generator.uniform(-80, 80, (3, 5))]
    estimate, _ = fitted(garbage)
    assert off(estimate, 3) < 0.5
    assert estimate.diagnostics["coverage"]["public_rows_left_out"] == 3
    assert any("3 of 63 public rows" in text for text in estimate.diagnostics["warnings"])


def test_public_rows_stand_for_a_share_of_the_rows_that_lack_no_value():
    """Half of the rows lack one, and a far group has an eighth of its share of the others, a sixteenth of all."""
    generator = np.random.default_rng(12)
    public, rows = drawn((0.5, 0.5), 60, generator), drawn((0.5, 0.5), 120_000, generator)
    public[:3], rows[:750] = (60 + generator.normal(size=(count, 5)) for count in (3, 750))
    rows[1::2, 0] = np.nan
    table = PublicTable.open(public)
    scaling = precondition(table)
    seen = outline(table, scaling, 3)
    curator = pp.Curator.simulation(rows, HALF, 1)
    whole = WholeRows(120_000.0, 10.0, fewer=False)  # the support question sees it by itself, too
    support = _support(curator, scaling, seen, whole, Ask("mixture/support", 1, 100))
    assert support.rows == pytest.approx(60_000, rel=0.01)
    assert support.refused == ()
    assert 0.1 * support.rows < 20 * support.counts[1] < 0.2 * support.rows


@pytest.mark.long
def test_far_public_rows_are_kept_where_noise_hides_what_they_stand_for():
    """A true far row stands for forty private rows, and so few are within the noise: no count is asked to tell."""
    generator = np.random.default_rng(4)
    public, rows = drawn((0.5, 0.5), 99, generator), drawn((0.5, 0.5), 4_000, generator)
    far = np.array([60.0, -60.0, 60.0, -60.0, 60.0])
    rows[:40] = far + generator.normal(size=(40, 5))
    estimate = pp.estimate_mixture(
        np.r_[public, [far]], pp.Curator.simulation(rows, HALF, 1), n_components=2, runner=CHEAP
    )
    assert f"mixture/{SUPPORT}" not in estimate.diagnostics["coverage"]["asked"]
    assert estimate.diagnostics["coverage"]["public_rows_left_out"] == 0
