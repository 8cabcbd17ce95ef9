"""The paper's Algorithm 2 with CoinPress inside: bounds that hold, maps in order, exact prices, honest failure."""

import math

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.learner import Setting, world
from pubpriv.data.frames import Frame
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._reference import (
    _Ball,
    _covariance_round,
    _mean_round,
    bound,
    reference_plan,
)
from pubpriv.estimators.gaussian.clipping import tail_bound
from pubpriv.estimators.gaussian.driver import estimate_gaussian
from pubpriv.privacy.budgets import Purse

HALF = pp.ZeroConcentratedDP(0.5)


def refer(setting, seed=1, budget=HALF, **options):
    drawn = world(setting, seed)
    curator = pp.Curator.simulation(drawn.private, budget, seed)
    return drawn, estimate_gaussian(drawn.public, curator, method="algorithm-2", **options)


def public(rows):
    return pp.PublicTable.open(rows, [f"x{i}" for i in range(rows.shape[1])])


def test_bounds_are_those_of_algorithm_1():
    """At d = 10 and beta / 2 = 0.1 by hand: L = 0.1253, U = 9e4, K = U / L; R = sqrt(K) sqrt(5 log 30)."""
    rows = np.random.default_rng(1).standard_normal((11, 10))
    found = bound(public(rows), 0.2, 0.0)
    assert found.spread == pytest.approx(9e4 / 0.12530, rel=1e-3)
    assert found.distance == pytest.approx(math.sqrt(found.spread) * math.sqrt(5 * math.log(30)), rel=1e-9)
    centred = rows - rows.mean(axis=0)
    low = 9e4 / found.spread
    center, matrix = found.frame.dense()
    np.testing.assert_allclose(matrix.T @ matrix, np.linalg.inv(low * centred.T @ centred / 10), rtol=1e-6)
    np.testing.assert_allclose(center, rows.mean(axis=0))


def test_only_the_first_rows_are_used():
    """Algorithm 1 is about d + 1 public rows; its L and U are for those."""
    rows = np.random.default_rng(1).standard_normal((30, 4))
    assert bound(public(rows), 0.1, 0.0) == bound(public(rows[:5]), 0.1, 0.0)


def test_far_public_rows_widen_the_bounds():
    """Lemma B.11: L_gamma = (1 - gamma)^4 / 4 L and U_gamma = 4 / (1 - gamma)^4 U, so K grows by their ratio."""
    rows = public(np.random.default_rng(1).standard_normal((5, 4)))
    near, far = bound(rows, 0.1, 0.0), bound(rows, 0.1, 0.5)
    assert far.spread / near.spread == pytest.approx(16 / 0.5**8)
    log = math.log(60)
    assert far.distance == pytest.approx(math.sqrt(far.spread) * (math.sqrt(10) + math.sqrt(5 * log)))


def test_the_bounds_hold_as_often_as_promised():
    """I <= Cov(y) <= K I and |E y| <= R, but for a share beta / 2 of public draws. 400 draws, 0.3 s."""
    generator, held = np.random.default_rng(2), 0
    for _ in range(400):
        found = bound(public(generator.standard_normal((6, 5))), 0.2, 0.0)
        center, matrix = found.frame.dense()
        values = np.linalg.eigvalsh(matrix @ matrix.T)
        held += values[0] >= 1 and values[-1] <= found.spread and np.linalg.norm(matrix @ center) <= found.distance
    assert held / 400 >= 0.9


@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 0.0), (1.0, 0.0), (0.1, 1.0), (0.1, -0.1)])
def test_parameters_out_of_range_are_refused(beta, gamma):
    """Before anything is spent."""
    with pytest.raises(InvalidInput):
        refer(Setting(1000, 3), beta=beta, gamma=gamma)


def test_rounds_compose_in_order():
    """From a bound that is far too wide and skew, the rounds reach the identity; the mended order is what does it.

    In the order as published the same rounds stay far from it: the factors do not commute.
    """
    generator = np.random.default_rng(3)
    axes, _ = np.linalg.qr(generator.standard_normal((5, 5)))
    root = axes * np.geomspace(0.01, 1, 5)
    rows = generator.standard_normal((200_000, 5)) @ root.T
    curator = pp.Curator.simulation(rows, HALF, 1)
    frame, swapped = Frame.of(np.zeros(5), np.eye(5)), np.eye(5)
    for number in range(5):
        told = _covariance_round(curator, frame, Ask(f"gaussian/covariance-{number}", 1, 10))
        step = told.next.dense()[1] @ np.linalg.inv(frame.dense()[1])
        frame, swapped = told.next, swapped @ step
    for matrix, close in ((frame.dense()[1], True), (swapped, False)):
        image = matrix @ root
        off = np.linalg.norm(image @ image.T - np.eye(5))
        assert (off < 0.2) == close


def test_mean_rounds_shrink_the_ball():
    """From 1,000 standard deviations to the tail radius over sqrt(n), and the mean is inside."""
    rows = 700.0 + np.random.default_rng(4).standard_normal((5000, 3))
    curator = pp.Curator.simulation(rows, HALF, 1)
    ball = _Ball(Frame.of(np.zeros(3), np.eye(3)), 1500.0, 0.0)
    for number in range(4):
        ball = _mean_round(curator, ball, Ask(f"gaussian/mean-{number}", 1, 10))
        assert np.linalg.norm(np.array(ball.frame.center) - 700.0) <= ball.radius
    assert ball.radius < 1.5 * tail_bound(3, 0.01) / math.sqrt(5000)


@pytest.mark.parametrize("kind", ["zcdp", "approx"])
def test_the_plan_adds_up(kind):
    """Half for the second moment, half for the mean, to the last unit."""
    purse = Purse(500_000_000_000, kind)
    plan = reference_plan(purse, 3)
    assert sum(ask.price for ask in plan.asks) == purse.squared_distance(purse.units)
    half = sum(ask.price for ask in plan.mean)
    assert float(half / purse.squared_distance(purse.units)) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("budget", [HALF, pp.ApproximateDP(3.0, 1e-6)])
def test_with_rows_to_spare_it_is_right(budget):
    """(5, 2e4), condition 1e8 and shift 1e6: within half of the non-private error, and the bill is the plan's."""
    drawn, estimate = refer(Setting(20_000, 5, condition=1e8, shift=1e6), budget=budget)
    covariance, mean = np.array(drawn.error(estimate.mean, estimate.covariance)) / np.array(drawn.best())
    assert covariance < 1.5
    assert mean < 1.5
    assert estimate.converged
    assert [charge["label"] for charge in estimate.privacy["charges"]] == estimate.diagnostics["rounds"]


def test_it_is_honest_about_what_it_cannot_do():
    """(10, 1e3): its bounds are too wide for so few rows; it fails, says so, and the learner does not."""
    drawn, estimate = refer(Setting(1000, 10))
    assert not estimate.converged
    assert any("noise drowns" in text for text in estimate.diagnostics["warnings"])
    assert drawn.error(estimate.mean, estimate.covariance)[0] > 4 * drawn.best()[0]
    curator = pp.Curator.simulation(drawn.private, HALF, 1)
    learnt = estimate_gaussian(drawn.public, curator)
    assert drawn.error(learnt.mean, learnt.covariance)[0] < 2 * drawn.best()[0]


def test_errors_cover():
    """1.96 standard errors hold at least 85% of the entries where it converges; its clipping bias is not counted."""
    inside = []
    for seed in range(10):
        drawn, estimate = refer(Setting(10_000, 4), seed)
        errors = estimate.standard_errors["covariance"]
        sd = np.hypot(errors["sampling"], errors["privacy"])
        inside.append(np.abs(estimate.covariance - drawn.root @ drawn.root.T) <= 1.96 * sd)
    assert np.mean(inside) > 0.85
