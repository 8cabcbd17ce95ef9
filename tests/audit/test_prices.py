"""Prices: the audit's own arithmetic is right, everything holds, and wrong prices are seen. About 2 s."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from helpers.conversions import delta_of_gaussian
from scipy import stats

from pubpriv.audit import _prices
from pubpriv.audit._discrete import DiscreteGaussian, curve, precise
from pubpriv.privacy import _conversions, events
from pubpriv.privacy.budgets import Budget, approx, budget, pure, zcdp
from pubpriv.privacy.units import UNIT, floor_units

GAUSSIAN, PURE = "Gaussian events under zcdp and approx", "Pure events under every budget"
FAILURE, RENYI = "Failure terms of discrete noise", "Renyi divergence of the discrete Gaussian"
CURVE, CAPS = "One coordinate of discrete noise under approx", "Caps of (epsilon, delta) budgets"
AS_BUDGETS, AS_EVENTS = "Adversarial amounts as budgets", "Adversarial amounts as events"

CHECKS = {
    GAUSSIAN: lambda: _prices._gaussian_prices(np.random.default_rng(0), 200),
    PURE: lambda: _prices._pure_prices(np.random.default_rng(0), 10),
    FAILURE: _prices._failure_terms,
    RENYI: _prices._renyi_orders,
    CURVE: lambda: _prices._exact_curve(True),
    CAPS: lambda: _prices._caps(np.random.default_rng(0), 3),
    AS_BUDGETS: _prices._as_budgets,
    AS_EVENTS: _prices._as_events,
}
"""As a fast audit makes them, one by one: a patch is looked for by one of them."""


def fault(mechanism):
    """What a fast audit finds broken of one kind of price, with the product as it is patched now."""
    finding = CHECKS[mechanism]()
    assert finding.mechanism == mechanism
    assert not finding.holds
    return finding.detail


def pmf(sd, width):
    """Probabilities of the discrete Gaussian on -width..width, as floats."""
    k = np.arange(-width, width + 1)
    weights = np.exp(-(k**2) / (2 * sd**2))
    return weights / weights.sum()


def test_nothing_is_priced_below_what_it_costs():
    """Every finding of a fast audit, from another seed than its own."""
    found = list(_prices.findings(True, 3))
    assert [finding.detail for finding in found if not finding.holds] == []
    assert all(finding.found <= 1 for finding in found if finding.found is not None)
    assert len({finding.mechanism for finding in found}) == len(found) == 12


@pytest.mark.parametrize("last", [-140, -33, 0, 1, 70, 200])
def test_the_series_is_the_sum_over_the_lattice(last):
    """Euler and Maclaurin's tail at sd 64 against a sum term by term."""
    law = DiscreteGaussian(64)
    summed = precise().fsum(law._weight(k) for k in range(-64 * 40, last + 1)) / law._total
    assert abs(law._by_euler_maclaurin(last) - summed) < 1e-30


@pytest.mark.parametrize(("sd", "shift", "epsilon"), [(1, 1, 0.1), (2, 3, 1.0), (7, 7, 0.5), (20, 3, 0.125)])
def test_the_lattice_curve_is_the_hockey_stick(sd, shift, epsilon):
    """delta as a difference of tails against sum max(0, P - e^epsilon Q)."""
    width = 40 * sd
    p = pmf(sd, width)
    stick = np.maximum(p[shift:] - np.exp(epsilon) * p[:-shift], 0).sum() + p[:shift].sum()
    assert float(DiscreteGaussian(sd).delta(shift, Fraction(epsilon))) == pytest.approx(stick, rel=1e-9)


def test_the_curve_is_that_of_the_product():
    """Two ways of writing the normal tail."""
    for mu, epsilon in ((0.1, 0.25), (1.0, 1.0), (3.0, 8.0)):
        ours = float(curve(mpmath.mpf(mu) ** 2, Fraction(epsilon)))
        assert ours == pytest.approx(delta_of_gaussian(Fraction(mu) ** 2, Fraction(epsilon)), rel=1e-12)


def test_divergences_against_plain_sums():
    """Renyi divergence and total variation, in floats."""
    p = pmf(3, 60)
    assert float(DiscreteGaussian(3).renyi(5, 3.0)) == pytest.approx(
        np.log(np.sum(p[5:] ** 3 / p[:-5] ** 2)) / 2, rel=1e-9
    )
    rounded = np.diff(stats.norm.cdf(np.arange(-60, 62) - 0.5, scale=2))
    assert float(DiscreteGaussian(2).variation()) == pytest.approx(np.abs(rounded - pmf(2, 60)).sum() / 2, rel=1e-9)


def test_what_the_discrete_gaussian_costs_beyond_its_mu():
    """At sd 1 the curve lies above that of mu, which is why an approx ledger refuses small noise."""
    assert DiscreteGaussian(1).delta(1, Fraction(1, 10)) > 1.01 * curve(mpmath.mpf(1), Fraction(1, 10))


# -- wrong prices are seen -------------------------------------------------------------------------------------


def test_prices_that_round_down(monkeypatch):
    """A unit in favour of the spender."""
    monkeypatch.setattr(budget, "ceil_units", floor_units)
    assert "is priced" in fault(GAUSSIAN)
    assert "costs less than itself" in fault(PURE)


def test_caps_that_round_up(monkeypatch):
    """One unit of mu^2 more than the largest that implies the guarantee, or more of rho than was written."""
    real = _conversions.mu_squared_units
    monkeypatch.setattr(approx, "mu_squared_units", lambda epsilon, delta: real(epsilon, delta) + 1)
    assert "allows more than delta" in fault(CAPS)
    monkeypatch.undo()
    monkeypatch.setattr(pure, "floor_units", lambda value, unit=UNIT: floor_units(value, unit) + 1)
    assert "PureDP" in fault(AS_BUDGETS)


def test_failure_terms_that_are_forgotten(monkeypatch):
    """Discrete noise priced as continuous noise and nothing else."""
    monkeypatch.setattr(events.GaussianEvent, "total_variation", lambda event: Fraction(0))
    assert "exceeds its bound" in fault(FAILURE)


def test_failure_terms_without_their_factor(monkeypatch):
    """A total variation charged as it is, not times 2 (1 + e^epsilon)."""
    monkeypatch.setattr(approx, "failure_factor", lambda epsilon: Fraction(1))
    assert "too small a failure term" in fault(FAILURE)


def test_a_curve_of_too_small_a_mu(monkeypatch):
    """A Gaussian priced at mu^2 but for one part in a thousand million: the exact delta is above that."""
    real = Budget.price
    monkeypatch.setattr(
        Budget,
        "price",
        lambda self, event: replace(paid := real(self, event), main=paid.main * (10**9 - 1) // 10**9),
    )
    assert "exceeds what is charged" in fault(CURVE)
    assert "exceeds what is charged" in fault(RENYI)


def test_pure_events_at_the_price_of_an_exponential_mechanism(monkeypatch):
    """epsilon^2 / 8 holds for one mechanism only, and for no mu at all."""
    monkeypatch.setattr(zcdp, "pure_as_rho", lambda epsilon: epsilon**2 / 8)
    assert "tanh" in fault(PURE)
    monkeypatch.setattr(approx, "pure_as_mu_squared", lambda epsilon: epsilon**2 / 4)
    assert "below its mu" in fault(PURE)


def test_amounts_that_are_none(monkeypatch):
    """A budget that takes what it is given: true for one, negative for positive."""
    real = budget.exact
    monkeypatch.setattr(budget, "exact", lambda value, name: Fraction(1) if value is True else real(value, name))
    assert "True: accepted" in fault(AS_BUDGETS)
    monkeypatch.setattr(budget, "exact", lambda value, name: real(-value if value == -1 else value, name))
    assert "-1: accepted" in fault(AS_BUDGETS)


def test_events_that_cost_nothing(monkeypatch):
    """A distance that is not checked to be positive, and a price that is not rounded up."""
    monkeypatch.setattr(budget, "ceil_units", floor_units)
    assert "priced below itself" in fault(AS_EVENTS)
    monkeypatch.setattr(events.GaussianEvent, "__post_init__", lambda event: None)
    assert "has a price" in fault(AS_EVENTS)


def test_amounts_mean_what_is_written():
    """A float is its shortest decimal; what is no positive number has no meaning."""
    assert _prices._meaning(0.1) == _prices._meaning("0.1") == Fraction(1, 10)
    assert _prices._meaning(np.float32(0.1)) == Fraction(1, 10)
    assert all(_prices._meaning(value) is None for value in _prices._NOT_AMOUNTS)
    assert all(_prices._meaning(value) > 0 for value in _prices._AMOUNTS)
