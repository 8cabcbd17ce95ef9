"""Parts of the paper's algorithms against slow twins: balls, superclusters, queries, and what a theorem asks for."""

import json
from fractions import Fraction

import numpy as np
import pytest
from helpers.bks_world import blobs
from hypothesis import given, settings
from hypothesis import strategies as st

import pubpriv as pp
from pubpriv.audit import recording
from pubpriv.data.balls import Balls, Cylinder
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.regions import View
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture.bks._clustering import _grown, _private_query, _search, _Split
from pubpriv.estimators.mixture.bks._constants import Constants
from pubpriv.estimators.mixture.bks.driver import _mixing_weights
from pubpriv.estimators.mixture.bks.estimate import start_clusters
from pubpriv.estimators.mixture.bks.plan import BksPlan
from pubpriv.estimators.mixture.bks.requirement import requirement
from pubpriv.estimators.mixture.bks.tree import Level, Tree, _radius, _supercluster
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA
from pubpriv.privacy.budgets import Purse
from pubpriv.released.law import Mixture

PAPER, PRACTICAL = Constants.named("paper"), Constants.named("practical")
NEAR, FAR = Cylinder(Frame((0.0, 0.0)), 1.0), Cylinder(Frame((0.0, 0.0)), 2.0)
SHELLS = Balls((NEAR, FAR), (((0, True),), ((0, False), (1, True)), ((0, False), (1, False))))


# -- balls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paths",
    [(((0, True),), ((1, True),)), ((), ((0, True),)), (((0, False),), ((0, False), (1, True)))],
    ids=["two balls", "all and a ball", "a part of the other"],
)
def test_regions_that_overlap_cannot_be_built(paths):
    """Two paths that agree about every ball they share could hold the same record."""
    with pytest.raises(ValueError, match="same record"):
        Balls((NEAR, FAR), paths)


def test_each_record_is_in_one_shell_or_in_none():
    """Inside, between, beyond; on the boundary inside; odd cells nowhere."""
    records = np.array([[0.5, 0], [1, 0], [1.5, 0], [0, 2], [0, 2.001], [1e308, 0], [np.nan, 0], [0, np.inf]])
    with np.errstate(all="ignore"):
        assert SHELLS.assign(View(records.T)).tolist() == [0, 0, 1, 1, 2, -1, -1, -1]
        assert Balls((), ((),)).assign(View(records.T)).tolist() == [0, 0, 0, 0, 0, 0, -1, -1]


def test_regions_come_back_from_the_ledger():
    """The same object after JSON, so that a stored question is the one that was asked."""
    assert from_json(json.loads(json.dumps(to_json(SHELLS)))) == SHELLS


def test_a_replaced_record_moves_the_counts_of_shells_as_far_as_is_charged():
    """From shell to shell: squared distance 2 in noise units, and no pair of places exceeds it."""
    question = Counts.priced(SHELLS, Fraction(1, 10))
    places = [(0.0, 0.0), (1.5, 0.0), (9.0, 0.0), (np.nan, 0.0)]
    totals = [question.totals(View(np.array([place]).T))["count"] for place in places]
    moved = {int(((a - b) ** 2).sum()) for a in totals for b in totals}
    assert moved == {0, 1, 2}
    assert question.squared_distance <= Fraction(1, 10)


# -- algorithm 3 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("far", "radius"),
    [([0], 2), ([0, 1.5], 3), ([0, 2.5], 5), ([0, 1.5, 3.5], 5), ([0, 1.5, 2.5, 4.5], 7), ([0, 3.5], 2)],
    ids=["alone", "one step", "two steps", "pure twice", "a chain", "a far one is left out"],
)
def test_the_ball_grows_as_the_proof_reads(far, radius):
    """Claims C.15 and C.16 by hand, in steps of 1 from a radius of 1."""
    assert _radius(np.array(far, float), 1.0, k=9) == radius


def test_the_ball_stops_growing_after_k_steps():
    """A chain of points without end."""
    assert _radius(np.arange(100.0), 1.0, k=3) == 7


def test_awkward_point_sets_have_a_ball():
    """One point: radius 0. Every point twice: all of them."""
    assert _supercluster(np.ones((1, 3)), 2, PAPER).radius == 0
    pairs = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 2, axis=0)
    ball = _supercluster(pairs, 2, PAPER)
    assert (np.linalg.norm(pairs - ball.center, axis=1) <= ball.radius).all()


# -- Q_pub ----------------------------------------------------------------------------------------------------


def passes(points: np.ndarray, center: int, radius: float, least: float, shell: float) -> bool:
    """Q_pub as its three lines are printed."""
    far = [np.linalg.norm(point - points[center]) for point in points]
    inside = sum(r <= radius for r in far)
    between = sum(radius < r <= shell * radius for r in far)
    return inside >= least and between == 0 and sum(r > shell * radius for r in far) >= least


def first_of_all(points, most, smallest, least, constants: Constants):
    """Algorithm 5's double loop as printed, without Q_priv: (centre, radius), and how many pass in all."""
    found, number = None, 0
    for i in range(int(np.ceil(np.log2(most / smallest))) + 1):
        for j in range(len(points)):
            if passes(points, j, most / 2**i, least, constants.public_shell):
                found, number = found or (j, most / 2**i), number + 1
    return found, number


def test_the_first_ball_is_that_of_the_printed_loop_which_asks_about_many():
    """Two far clusters: the same centre and radius as the slow twin, which passes more than one candidate."""
    points = np.random.default_rng(0).normal(size=(24, 2)) + 60.0 * (np.arange(24) % 2)[:, None]
    slow, number = first_of_all(points, 200.0, 0.1, 6.0, PAPER)
    found = _search(points, 200.0, 0.1, 6.0, PAPER)
    assert (found.center, found.cut) == (slow[0], 2 * slow[1])
    assert (found.inner, found.outer) == (found.cut, 5 * found.cut)
    assert number > 20


points_in_the_plane = st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1, max_size=14).map(
    lambda rows: np.array(rows, float)
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(points_in_the_plane, st.sampled_from([2.0, 3.0]))
def test_whatever_is_found_passes_q_pub(points, least):
    """Any points: a ball that is found passes as printed; with printed radii none is missed."""
    smallest = 0.5
    for constants in (PAPER, PRACTICAL):
        found = _search(points, 128.0, smallest, least, constants)
        if found is not None:
            assert found.inside <= found.inner <= found.cut <= found.outer <= found.outside
            assert passes(points, found.center, max(found.inside, 1e-9), least, constants.public_shell * 0.999)
        if constants is PAPER:
            slow, _ = first_of_all(points, 128.0, smallest, least, constants)
            assert (found is None) == (slow is None)
            assert found is None or (found.center, found.cut) == (slow[0], 2 * slow[1])


def test_a_lone_point_is_no_component():
    """As printed t = m w / 2 is below one for few points, and an outlier would pass."""
    points = np.r_[np.random.default_rng(0).normal(size=(5, 2)), [[1000.0, 0.0]]]
    assert PAPER.least_public(6, 1 / 6) == 2
    assert first_of_all(points, 2000.0, 0.1, 0.5, PAPER)[0] is not None
    assert _search(points, 2000.0, 0.1, PAPER.least_public(6, 1 / 6), PAPER) is None


# -- Q_priv and the tree --------------------------------------------------------------------------------------

ROOT = Tree()
SPLIT = _Split((), Frame((0.0, 0.0)), 1.0, 2.0, 1.5, 1.0)


def agreed(rows: np.ndarray, splits=(SPLIT,), tree: Tree = ROOT) -> tuple[_Split, ...]:
    """What the private rows say at a budget that drowns nothing."""
    curator = pp.Curator.simulation(rows, pp.ZeroConcentratedDP(100), 0)
    curator.begin("mixture", {}, "0")
    return _private_query(curator, tree, splits, 0.5, "practical", Ask("mixture/level-1/query", 2, 1))


@pytest.mark.parametrize(
    ("inside", "between", "beyond", "passed"),
    [(500, 0, 500, True), (500, 25, 475, False), (100, 0, 900, False), (900, 0, 100, False), (0, 0, 1000, False)],
    ids=["two groups", "a full shell", "too few inside", "too few beyond", "nobody inside"],
)
def test_q_priv_wants_two_groups_and_an_empty_shell(inside, between, beyond, passed):
    """At least n w / 4 = 125 inside and beyond, and at most a twentieth of that in the shell."""
    rows = np.repeat([[0.0, 0.0], [1.5, 0.0], [9.0, 0.0]], [inside, between, beyond], axis=0)
    assert PRACTICAL.least_private(1000, 0.5) == 125
    assert bool(agreed(rows)) == passed


def test_a_group_may_not_be_asked_about_twice():
    """Two splits of one group are refused before anything is charged."""
    other = _Split((), Frame((5.0, 0.0)), 1.0, 2.0, 1.5, 3.0)
    with pytest.raises(ValueError, match="one split only"):
        agreed(np.zeros((10, 2)), (SPLIT, other))


def test_rows_of_other_groups_are_not_counted():
    """Two groups in one question: each split sees its own rows."""
    tree = Tree((Cylinder(Frame((100.0, 0.0)), 50.0),), (), (((0, True),), ((0, False),)))
    here = _Split(((0, False),), Frame((0.0, 0.0)), 1.0, 2.0, 1.5, 1.0)
    there = _Split(((0, True),), Frame((100.0, 0.0)), 1.0, 2.0, 1.5, 1.0)
    rows = np.repeat([[0.0, 0.0], [9.0, 0.0], [100.0, 0.0]], [300, 300, 400], axis=0)
    assert agreed(rows, (here, there), tree) == (here,)


def test_no_more_splits_are_made_than_components_are_missing():
    """Three groups agree to a split, one component is missing: the widest gap is taken."""
    tree = Tree((NEAR, FAR), (), SHELLS.paths)
    gaps = (1.0, 3.0, 2.0)
    splits = tuple(_Split(p, Frame((0.0, 0.0)), 1.0, 2.0, 1.5, g) for p, g in zip(SHELLS.paths, gaps, strict=True))
    after = _grown(Level(tree, (Frame((0.0, 0.0)),) * 3, (1.0,) * 3), splits, k=4)
    assert after.closed == (SHELLS.paths[0], SHELLS.paths[2])
    assert after.open == tuple((*SHELLS.paths[1], (2, side)) for side in (True, False))
    assert after.partition.n_regions == 4


# -- estimation, and what a theorem asks for ------------------------------------------------------------------


def test_weights_have_a_floor_and_sum_to_one():
    """max(., alpha / 2k) as printed sums to more than one."""
    model = Mixture.of([1, 0], [[0.0], [1.0]], [[[1.0]], [[1.0]]])
    last = Round(model, (999.0, 1.0), 1.0, 1.0, 1.0, model, 1_000.0)
    weights = _mixing_weights(last)
    assert sum(weights) == pytest.approx(1)
    assert weights[1] == pytest.approx((ALPHA / 4) / (0.999 + ALPHA / 4))


def test_components_start_at_their_own_public_points():
    """Means are the public ones; variances are each group's own, with the scatter of its mean."""
    rows, _, _ = blobs(50.0, m=400)
    rows[1::2] = 5 * (rows[1::2] - rows[1::2].mean(axis=0)) + rows[1::2].mean(axis=0)
    public = pp.PublicTable(tuple(f"x{i}" for i in range(10)), rows)
    scaling = precondition(public)
    whole = Cylinder(Frame(tuple(rows[::2].mean(axis=0))), 20.0)
    start = start_clusters(public, scaling, Balls((whole,), (((0, True),), ((0, False),))))
    _, means, covariances = start.mixture.arrays
    own = [scaling.apply(rows[half::2]) for half in (0, 1)]
    for group, mean, covariance in zip(own, means, covariances, strict=True):
        assert mean == pytest.approx(group.mean(axis=0))
        spread = (group - group.mean(axis=0)).var(axis=0, ddof=1)
        assert np.trace(covariance) == pytest.approx(spread.sum() * (1 + 1 / len(group)), rel=0.1)
    assert np.trace(covariances[1]) == pytest.approx(25 * np.trace(covariances[0]), rel=0.2)


def test_the_theorem_asks_for_what_is_printed():
    """Constants that the paper names: the proof of C.20, condition 2, lemma C.7; and more of everything for k = 3."""
    n, m, d, k = 100_000, 24, 50, 2
    told = requirement(True, n, m, d, k, 0.5, pp.ZeroConcentratedDP(1), 1.0, 0.0)
    logarithm = np.log((n + m) * k / BETA)
    assert told.separation == pytest.approx(103 * np.sqrt(k * logarithm))
    assert told.columns == pytest.approx(8 * logarithm**2, abs=1)
    assert told.public_rows == pytest.approx(12 / 0.5 * np.log(2 * k / BETA), abs=1)
    assert told.private_rows >= 405 * k**2 / (2 * ALPHA**2) * np.log(2 * k / BETA)
    more = requirement(True, n, m, d, 3, 1 / 3, pp.ZeroConcentratedDP(1), 1.0, 0.0)
    ample = requirement(False, n, m, d, k, 0.5, pp.ZeroConcentratedDP(1), 1.0, 0.0)
    for name in ("separation", "columns", "public_rows", "private_rows"):
        assert getattr(more, name) > getattr(told, name)
    assert ample.public_rows > 6 * d > told.public_rows


def test_less_budget_asks_for_more_rows():
    """In either currency, and where the noise of Q_priv is what counts."""
    arguments = (True, 10**5, 24, 50, 2, 0.5)
    rows = [
        [requirement(*arguments, budget, rho, 0.0).private_rows for budget, rho in kind]
        for kind in (
            [(pp.ZeroConcentratedDP(1), 1.0), (pp.ZeroConcentratedDP(0.01), 0.01)],
            [(pp.ApproximateDP(1, 1e-6), 0.03), (pp.ApproximateDP(0.1, 1e-6), 0.0003)],
        )
    ]
    assert all(less > more for more, less in rows)
    loud = BksPlan.of(Purse(10**7, "zcdp"), 10**5, 50, 2, 1).count_sd
    assert loud == pytest.approx((1e-5 * 0.13) ** -0.5, rel=1e-3)
    noisy = requirement(*arguments, pp.ZeroConcentratedDP(1), 1.0, loud).private_rows
    assert noisy > requirement(*arguments, pp.ZeroConcentratedDP(1), 1.0, 0.0).private_rows


def test_a_theorem_that_covers_the_run_says_nothing():
    """No warning where all is met; separation that is not known is asked for."""
    told = requirement(False, 10**5, 24, 50, 2, 0.5, pp.ZeroConcentratedDP(1), 1.0, 0.0)
    met = (told.private_rows, told.public_rows, told.columns, 2)
    assert told.unmet(*met, told.separation) is None
    assert "standard deviations" in told.unmet(*met, None)
    assert "columns" not in told.unmet(*met, 3.0)


# -- the audit ------------------------------------------------------------------------------------------------


def test_a_ledger_repeats_a_run_of_the_paper():
    """Every stored question and value is read back: over a file of zeros, the same model, and nothing is paid twice."""
    driver = next(driver for driver in recording.drivers(0) if driver.name.endswith("bks-scarce"))
    finding = recording._repeated(driver)
    assert finding.holds, finding.detail
    labels = [label for label, *_ in recording.record(driver, driver.rows, 0).asked]
    assert {label.rpartition("/")[2] for label in labels} == {"pca", "query", "round-1", "round-2"}
