"""The paper's algorithms end to end: they find, they end in bottom, they ask once, and they charge their plan."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.bks_world import QUICK, blobs, run, watched

from pubpriv.errors import InvalidInput
from pubpriv.estimators.mixture.bks.plan import BksPlan
from pubpriv.privacy.budgets import Purse, parse_budget

METHODS = ("bks-scarce", "bks-ample")
BOTH = pytest.mark.parametrize("method", METHODS)


def labels_of(estimate):
    return [charge["label"] for charge in estimate.privacy["charges"]]


def far_off(estimate, k=2, gap=20.0):
    """Largest distance of a released mean to the nearest true one of `blobs`."""
    truth = gap / 2**0.5 * np.eye(k, estimate.means.shape[1])
    return max(np.linalg.norm(truth - mean, axis=1).min() for mean in estimate.means)


def warned(estimate, text):
    return [warning for warning in estimate.diagnostics["warnings"] if text in warning]


# -- they find ------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("constants", ["practical", "paper"])
@pytest.mark.parametrize("budget", ["zcdp:5", "approx:12,1e-6"])
def test_separated_components_are_found(method, constants, budget):
    """Two components, both methods and constants, both kinds of budget: near the truth, and the theorem is told."""
    gap = 20.0 if constants == "practical" else 120.0
    public, private, _ = blobs(gap, n=20_000)  # the paper's shell may hold n w / 1280 rows, noise included
    estimate = run(public, private, method, constants=constants, budget=budget)
    assert estimate.converged
    assert far_off(estimate, gap=gap) < 0.3
    assert estimate.weights == pytest.approx([0.5, 0.5], abs=0.02)
    assert np.abs(estimate.covariances - np.eye(10)).max() < 0.35
    theorem = estimate.diagnostics["requirement"]["theorem"]
    scarce = method == "bks-scarce"
    assert theorem == ({True: "C.24", False: "C.29"} if "zcdp" in budget else {True: "C.23", False: "C.28"})[scarce]
    assert warned(estimate, f"theorem {theorem}")


@BOTH
def test_three_components_take_one_split_more(method):
    """k = 3: groups of groups are split, and with d = k there are no principal components to pay for."""
    for d, asked in ((6, {"pca", "query"}), (3, {"query"})):
        public, private, _ = blobs(12.0, k=3, d=d, m=60)
        estimate = run(public, private, method, k=3)
        assert estimate.converged
        assert far_off(estimate, k=3, gap=12.0) < 0.4
        levels = {label.rpartition("/")[2] for label in labels_of(estimate) if "level" in label}
        assert levels == (asked if method == "bks-scarce" else set())


def test_what_public_points_separate_costs_nothing():
    """Components further apart than superclustering's ball grows: no level is planned, all goes to the rounds."""
    public, private, _ = blobs(500.0)
    estimate = run(public, private)
    assert labels_of(estimate) == ["mixture/round-1", "mixture/round-2"]
    assert estimate.converged


@BOTH
def test_one_component_is_measured(method):
    """k = 1 needs no split."""
    public, private, _ = blobs(0.0)
    estimate = run(public, private, method, k=1)
    assert estimate.converged
    assert np.abs(estimate.means).max() < 0.2


@BOTH
def test_the_same_seed_gives_the_same_bits(method):
    """A run is a function of rows, budget and seed; another runner gives the bits of the plain one."""
    public, private, _ = blobs(20.0)
    first = run(public, private, method)
    runner, seen = watched()
    assert run(public, private, method, runner=runner).mixture == first.mixture
    assert run(public, private, method, seed=2).mixture != first.mixture
    scarce = {"open_level", "level_pca", "public_query", "private_query"}
    assert set(seen) == {"precondition", "start_clusters", "estimate_components", "mixing_weights"} | (
        scarce if method == "bks-scarce" else {"easy_clusters"}
    )


def test_units_common_to_all_columns_do_not_matter():
    """A thousandth of the units, and an offset: the same model in other units."""
    public, private, _ = blobs(20.0)
    plain, other = run(public, private), run(public / 1000 + 7, private / 1000 + 7)
    assert np.allclose((other.means - 7) * 1000, plain.means, atol=1e-2)
    assert np.allclose(other.covariances * 1e6, plain.covariances, atol=1e-2)


def test_columns_of_unlike_scales_are_told():
    """Balls measure all columns alike, so a column of a thousand times the scale is worth a warning."""
    public, private, _ = blobs(20.0)
    scale = np.r_[1000.0, np.ones(9)]
    assert warned(run(public * scale, private * scale), "comparable units")
    assert not warned(run(public, private), "comparable units")


# -- they end in bottom ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("constants", ["practical", "paper"])
def test_one_gaussian_is_not_split(method, constants):
    """All rows of one component, k = 2: the public model, flagged, with the step that failed and what is asked for."""
    public, private, _ = blobs(0.0)
    estimate = run(public, private, method, constants=constants)
    assert not estimate.converged
    assert estimate.weights.shape == (2,)
    assert not estimate.diagnostics["private_model_chosen"]
    assert warned(estimate, "only 1 of 2 groups")
    assert warned(estimate, "standard deviations between means")
    assert np.asarray(estimate.standard_errors["means"]["privacy"]).max() == 0
    assert "mixture/round-1" not in labels_of(estimate)


def test_q_priv_is_asked_once_where_public_and_private_rows_disagree():
    """Public rows split two ways, private rows all at one point: one Q_priv of one split, then bottom.

    As printed, algorithm 5 would ask the private rows about every centre and radius that passes Q_pub, and the
    proofs charge one count. Here the charges of the run are the plan's first two, whatever the private rows are.
    """
    for constants, gap in (("practical", 12.0), ("paper", 120.0)):
        public, _, _ = blobs(gap)
        for point in (public[0], 1e9 * np.eye(10)[0]):
            runner, seen = watched()
            estimate = run(public, np.tile(point, (4000, 1)), runner=runner, constants=constants)
            assert labels_of(estimate) == ["mixture/level-1/pca", "mixture/level-1/query"]
            ((arguments, passed),) = seen["private_query"]
            assert len(arguments[2]) == 1
            assert passed == ()
            assert not estimate.converged
            assert warned(estimate, "the private rows agree to no split")


def test_a_level_asks_about_each_group_once():
    """Four components: the second level has two groups, and one question asks about one split of each."""
    generator = np.random.default_rng(0)
    corners = np.array([[0, 0], [0, 1], [1.3, 0], [1.3, 1]]) * 10.0
    means = np.c_[corners, np.zeros((4, 4))]
    public = means[np.arange(80) % 4] + generator.normal(size=(80, 6))
    private = means[np.arange(8000) % 4] + generator.normal(size=(8000, 6))
    runner, seen = watched()
    estimate = run(public, private, k=4, runner=runner)
    assert estimate.converged
    assert far_off_any(estimate.means, means) < 0.4
    levels = [arguments[2] for arguments, _ in seen["private_query"]]
    assert len(levels) == len({label for label in labels_of(estimate) if "query" in label})
    for splits in levels:
        assert len({split.path for split in splits}) == len(splits)
    assert sum(len(splits) for splits in levels) <= 2 * 4 - 1


def far_off_any(means, truth):
    return max(np.linalg.norm(truth - mean, axis=1).min() for mean in means)


def test_a_component_without_private_rows_is_told():
    """Public points far from every private row make a group that is nearly empty: measured, flagged, no crash."""
    public, private, labels = blobs(500.0)
    estimate = run(public, private[labels == 0])
    assert not estimate.converged
    assert warned(estimate, "fewer than the 250 that the smallest weight allows")
    assert estimate.weights.min() > 0


def test_too_few_public_points_to_split_cost_nothing():
    """Three public rows cannot make two groups of two: bottom before anything is asked."""
    public, private, _ = blobs(12.0, m=3)
    estimate = run(public, private)
    assert labels_of(estimate) == []
    assert warned(estimate, "no group has the 4 public points")


# -- awkward input --------------------------------------------------------------------------------------------


@BOTH
def test_repeated_and_constant_public_rows(method):
    """Every public row twice, one column constant: nothing breaks, and covariances are positive."""
    public, private, _ = blobs(20.0)
    public = np.repeat(public, 2, axis=0)
    public[:, 4] = 1.0
    estimate = run(public, private, method)
    assert warned(estimate, "constant")
    assert min(np.linalg.eigvalsh(covariance)[0] for covariance in estimate.covariances) > 0
    same = run(np.tile(public[:1], (12, 1)), private, method)
    assert not same.converged
    assert np.isfinite(same.means).all()


@BOTH
def test_odd_private_rows_hardly_move_the_estimate(method):
    """Rows with missing, infinite or huge cells are nobody's or clipped: the estimate hardly moves."""
    public, private, _ = blobs(20.0)
    spoilt = private.copy()
    spoilt[:40] = np.array([np.nan, np.inf, -np.inf, 1e300] * 10)[:, None]
    spoilt[40:60, 3] = np.nan
    estimate = run(public, spoilt, method)
    assert far_off(estimate) < 0.5


@BOTH
def test_bad_input_is_refused_before_anything_is_opened(method):
    """No number of components, more of them than public rows, or a covariance type that is not built."""
    public, private, _ = blobs(20.0)
    for options, text in [
        ({"k": None}, "number of components"),
        ({"k": 41}, "cannot seed"),
        ({"covariance_type": "diag"}, "full covariances only"),
        ({"constants": "magic"}, "constants must be one of"),
        ({"min_weight": 0.7}, "min_weight"),
        ({"budget": "pure:1"}, "pure"),
        *([({"budget": "zcdp:1e-12"}, "too small")] if method == "bks-scarce" else []),
    ]:
        with pytest.raises(InvalidInput, match=text):
            run(public, private, method, **options)


# -- they charge their plan -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["zcdp", "approx"])
@pytest.mark.parametrize(("k", "levels"), [(1, 0), (2, 0), (2, 1), (5, 4)])
def test_prices_of_a_plan_sum_to_the_purse(kind, k, levels):
    """To the last unit that the currency can pay, for every number of levels."""
    purse = Purse(123_456_789_012, kind)
    for d in (2, 50):
        plan = BksPlan.of(purse, 10_000, d, k, levels)
        assert sum((ask.price for ask in plan.asks), Fraction(0)) == purse.squared_distance(purse.units)
        assert len({ask.label for ask in plan.asks}) == len(plan.asks)
        assert sum(ask.label.endswith("query") for ask in plan.asks) == levels
        for question, ask in zip(plan.questions, plan.asks, strict=True):
            assert question.squared_distance <= ask.price


@BOTH
@pytest.mark.parametrize("budget", ["zcdp:0.5", "approx:2,1e-6"])
def test_a_run_charges_its_plan(method, budget):
    """Labels are those of the diagnostics, and with every level asked nothing but rounding is left."""
    public, private, _ = blobs(20.0)
    estimate = run(public, private, method, budget=budget)
    assert labels_of(estimate) == estimate.diagnostics["rounds"]
    cap = parse_budget(budget).cap.main / 10**12
    paid = sum(float(charge["cost"].split()[0]) for charge in estimate.privacy["charges"])
    assert 0.999999 * cap < paid <= cap


def test_the_questions_do_not_depend_on_private_rows_but_through_answers():
    """Other private rows, other answers: the first level and the plan are the same."""
    public, private, _ = blobs(12.0)
    taken = []
    for rows in (private, private[::-1], np.zeros_like(private)):
        runner, seen = watched(QUICK)
        run(public, rows, runner=runner)
        taken.append((seen["open_level"][0], seen["level_pca"][0][0][1:]))
    assert [str(level[0][1]) for level in taken] == [str(taken[0][0][1])] * 3
    assert [str(asked) for _, asked in taken] == [str(taken[0][1])] * 3
