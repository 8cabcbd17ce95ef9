"""What theorems ask for: printed constants hold, formulas are those of the paper, and a plan stands beside them."""

import math

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.gaussian._reference_forecast import ReferenceGaussianCase
from pubpriv.estimators.mean._plan import MeanCase
from pubpriv.estimators.mean._reference_forecast import ReferenceMeanCase
from pubpriv.estimators.person_case import PersonCase
from pubpriv.estimators.planning import make_plan, variation
from pubpriv.estimators.sample_sizes import _gaussians, mixtures, populous
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA, Terms
from pubpriv.estimators.sample_sizes.theorems import for_gaussian, for_mean, for_mixture
from pubpriv.privacy.budgets import Purse

HALF = pp.parse_budget("zcdp:0.5")


def test_lemma_4_2_holds_with_equality_at_what_it_asks_for():
    """t = n w / 2 of the answer is the bound at that n, whose right side has n in it; the paper's c is 5, its a 0.1."""
    n = mixtures.terrific_ball(10, 0.25, 1.0, 1e-6, 0.05, 1e6)
    bound = 25_000 * n**0.1 * math.sqrt(10) * math.log(n * 10 / 0.05) * math.log(1e6) * math.log(math.log(1e6))
    assert n * 0.25 / 2 == pytest.approx(bound, rel=1e-6)


def test_theorem_b_2_by_hand():
    """d = 4, alpha = 0.1, beta = 1 / e, so that log(1 / beta) = 1."""
    assert _gaussians.clipped_mean(4, 0.25, 0.1, math.exp(-1)) == pytest.approx(500 + 80)
    assert _gaussians.squares_mean(4, 2.0, 0.1, math.exp(-1)) == pytest.approx(750)
    assert _gaussians.selected_mean(4, 2.0, 0.1, math.exp(-1)) == pytest.approx(500 + 5 * (4 * math.log(40) + 1))


def test_theorem_b_12_begins_at_b_5_and_grows_with_the_distance():
    """Public rows of another law cost more, without end as gamma goes to 1."""
    far = [_gaussians.far_gaussian(10, 0.5, 0.1, 0.05, gamma) for gamma in (0.0, 0.5, 0.9999)]
    assert _gaussians.preconditioned_gaussian(10, 0.5, 0.1, 0.05) < far[0] < far[1] < far[2]
    pure = [_gaussians.preconditioned_pure(10, 1.0, 0.1, 0.05, gamma) for gamma in (0.0, 0.5)]
    assert pure[1] - pure[0] == pytest.approx(100 * math.log(2) / 0.1)


def test_theorem_2_3_gives_the_blocks_room_for_its_noise():
    """With t blocks that all agree, 1 less the noise's end stands at the bar, 0.8 and that end above it, or higher."""
    for epsilon, delta in ((0.1, 1e-6), (0.4, 1e-9)):
        own, lost = populous.parts(epsilon, delta)
        assert (2 * own, 4 * math.exp(own) * lost) == pytest.approx((epsilon, delta))
        end = 2 / (populous.populous_blocks(epsilon, delta) * own) * populous.truncation(own, lost)
        assert 1 - end >= 0.8 + end - 1e-12
    assert 2 * populous.parts(8.0, 1e-6)[0] < 0.463  # theorem 6.2 holds below 2 ln(2) / 3 only


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 1), (3, 4)])
def test_masks_move_a_mixture_by_no_more_than_they_say(d, k):
    """Concentration of lemmas F.1, F.2 and F.5 with the constant that stands for C_1: at beta 0.1 of 400 draws."""
    alpha, generator = 0.3, np.random.default_rng(d)
    sizes = populous.mask_sizes(d, k, 0.2, 1e-6, alpha, 0.1)
    missed = 0
    for _ in range(400):
        worst = 0.0
        for _ in range(k):
            scaled = np.eye(d) + sizes.covariance * generator.standard_normal((d, d))
            values = np.linalg.eigvalsh(scaled @ scaled.T)
            far = max(np.linalg.norm(values - 1), np.linalg.norm(1 / values - 1))
            mean = sizes.mean * np.linalg.norm(generator.standard_normal(d))
            worst = max(worst, far, mean, sizes.weight * abs(generator.standard_normal()))
        missed += worst > alpha
    assert missed <= 0.1 * 400
    assert sizes.radius < alpha / 100  # blocks have to be far closer than what is asked for


def test_each_kind_of_budget_has_the_theorems_that_speak_of_it():
    """zCDP and (epsilon, delta) have both; a pure budget those for pure DP, of which there are none for mixtures."""
    zcdp, pure = Terms.of(HALF), Terms.of(pp.parse_budget("pure:1"))
    assert [each.theorem for each in for_mean(3, zcdp)] == ["BKS B.2 (1)"]
    assert [each.theorem for each in for_mean(3, pure)] == ["BKS B.2 (2)", "BKS B.2 (3)"]
    assert {each.theorem for each in for_gaussian(3, zcdp)} >= {
        "BKS B.5 (1)",
        "BKS B.12 (1)",
        "BKS A.24 (1)",
        "AAL 6.2",
    }
    assert {each.public_rows for each in for_gaussian(3, pure)} == {4}
    assert for_mixture(3, 2, 0.5, pure) == ()
    assert [each.theorem[-4:] for each in for_mixture(3, 2, 0.5, zcdp)[:4]] == ["C.24", "C.23", "C.29", "C.28"]
    assert zcdp.epsilon == pytest.approx(5.222, abs=1e-3)


def test_less_accuracy_takes_fewer_rows_everywhere():
    """At alpha 0.4 every theorem asks for less than at 0.1, but lemma 4.2, which only splits."""
    sharp = Terms.of(pp.parse_budget("approx:1,1e-6"))
    coarse = Terms(sharp.rho, sharp.epsilon, sharp.delta, alpha=0.4)
    for told in (lambda terms: for_gaussian(5, terms), lambda terms: for_mixture(5, 3, 0.2, terms)):
        for one, other in zip(told(sharp), told(coarse), strict=True):
            assert other.private_rows <= one.private_rows
            assert other.private_rows < one.private_rows or one.theorem == "KSSU 4.2"


def test_a_plan_tells_the_rows_that_come_as_near_as_the_theorems():
    """At those rows the predicted distance is the theorems' alpha; few fewer are not enough."""
    case = MeanCase(20, 1)
    plan = make_plan(case, 5000, HALF)
    assert plan.to_json()["theorems"]["predicted"] == plan.practical
    assert plan.theorems == for_mean(20, Terms.of(HALF))
    assert (ALPHA, BETA) == (0.1, 0.05)
    assert case.forecast(plan.practical, Purse.of(HALF)).apart <= ALPHA
    assert case.forecast(int(plan.practical / 1.03), Purse.of(HALF)).apart > ALPHA
    assert variation(0.06, 0.08) == pytest.approx(0.05)


@pytest.mark.parametrize("method", ["clip-and-noise", "coinpress"])
def test_published_means_have_the_error_that_is_predicted(method):
    """Root mean square over 12 draws, to a quarter."""
    d, n = 20, 1000
    error = ReferenceMeanCase(d, 1, method, 2).forecast(n, Purse.of(HALF)).errors[0]
    seen = []
    for seed in range(12):
        rows = np.random.default_rng(seed).standard_normal((n + 1, d))
        curator = pp.Curator.simulation(rows[1:], HALF, seed)
        seen.append(pp.estimate_mean(rows[:1], curator, covariance="identity", method=method).mean)
    assert np.sqrt(np.mean(np.square(seen))) == pytest.approx(error.error, rel=0.25)


def test_algorithm_2_has_the_error_that_is_predicted():
    """Root mean square over 6 draws, to a quarter; far too few rows are told beforehand to drown in noise."""
    d, n = 5, 5000
    case, seen = ReferenceGaussianCase(d, d + 1), []
    for seed in range(6):
        rows = np.random.default_rng(seed).standard_normal((n + d + 1, d))
        curator = pp.Curator.simulation(rows[d + 1 :], HALF, seed)
        told = pp.estimate_gaussian(rows[: d + 1], curator, target="gaussian", method="algorithm-2")
        seen.append(np.linalg.norm(told.covariance - np.eye(d)))
    error = case.forecast(n, Purse.of(HALF)).errors[0]
    assert np.sqrt(np.mean(np.square(seen))) == pytest.approx(error.error, rel=0.25)
    assert case.feasible(n, Purse.of(HALF))
    assert not case.feasible(300, Purse.of(HALF))


def test_a_plan_for_persons_tells_what_the_one_for_rows_does():
    """One row each, and a share less for the method: the same theorems, and no fewer persons than rows."""
    case = MeanCase(20, 1)
    rows, persons = make_plan(case, 5000, HALF), make_plan(PersonCase(case), 5000, HALF)
    assert persons.theorems == rows.theorems
    assert rows.practical <= persons.practical < 1.2 * rows.practical
