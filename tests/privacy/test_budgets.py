"""Budgets, units and conversions: caps round down, costs round up, nonsense is refused."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from helpers.conversions import delta_of_gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.errors import InvalidInput
from pubpriv.privacy._conversions import epsilon_gaussian, mu_squared_units
from pubpriv.privacy.budgets import (
    REPORT_DELTA,
    Amount,
    ApproximateDP,
    PureDP,
    ZeroConcentratedDP,
    budget_from_json,
    parse_budget,
)
from pubpriv.privacy.events import GaussianEvent, PureEvent
from pubpriv.privacy.units import DELTA_UNIT, UNIT, ceil_units, floor_units, to_text

MILLIONTH = Fraction(1, 10**6)
fractions = st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**15)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(fractions)
def test_caps_round_down_and_costs_round_up(value):
    """No cap exceeds the promise and no cost falls below it, each by less than one unit."""
    assert value - Fraction(1, UNIT) < Fraction(ZeroConcentratedDP(value).cap.main, UNIT) <= value
    assert value <= Fraction(ceil_units(value), UNIT) < value + Fraction(1, UNIT)
    assert floor_units(value) == PureDP(value).cap.main


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.integers(min_value=0, max_value=10**30))
def test_decimal_text_is_exact(units):
    """The text of an amount reads back as the same amount."""
    assert Fraction(Decimal(to_text(units))) * UNIT == units
    assert Fraction(Decimal(to_text(units, DELTA_UNIT))) * DELTA_UNIT == units


def test_a_float_means_its_shortest_decimal():
    """0.1 is one tenth, whatever way it is written."""
    assert PureDP(0.1) == PureDP("0.1") == PureDP(Decimal("0.1")) == PureDP(Fraction(1, 10))


NONSENSE = [float("nan"), float("inf"), -1, 0, -0.0, True, None, "NaN", "inf", "x", [1], "1e999999999", 1e300]


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize("maker", [PureDP, ZeroConcentratedDP, lambda v: ApproximateDP(v, MILLIONTH)])
def test_nonsense_is_refused(maker, value):
    """Whatever is no sensible positive number is bad input and names its parameter."""
    with pytest.raises(InvalidInput, match=r"epsilon|rho"):
        maker(value)


@pytest.mark.parametrize("value", [5e-324, "1e-400", "9e-13"])
def test_less_than_one_unit_is_refused(value):
    """A cap that would round down to nothing is no budget."""
    for maker in (PureDP, ZeroConcentratedDP):
        with pytest.raises(InvalidInput, match="at least"):
            maker(value)


BAD_DELTAS = [(1, None), (2, None), (0, None), ("1e-6", "1e-6"), ("1e-6", 0), ("1e-6", "2e-6")]


@pytest.mark.parametrize(("delta", "failure"), BAD_DELTAS)
def test_deltas_out_of_range_are_refused(delta, failure):
    """delta is in (0, 1) and failure_delta in (0, delta)."""
    with pytest.raises(InvalidInput):
        ApproximateDP(1, delta, failure)


@pytest.mark.parametrize(("epsilon", "rho"), [(1, 0.0280), (2, 0.1005), (4, 0.3510), (8, 1.173)])
def test_gdp_caps_match_the_table(epsilon, rho):
    """mu^2 / 2 at delta = 1e-6 is the published figure."""
    assert mu_squared_units(Fraction(epsilon), MILLIONTH) / (2 * UNIT) == pytest.approx(rho, rel=2e-3)


def _delta_by_integral(mu, epsilon):
    """Slow twin: the mass of P above e^epsilon Q, for P = N(mu, 1) and Q = N(0, 1), by quadrature."""
    with mpmath.workdps(40):
        start = epsilon / mu + mu / 2
        gap = lambda x: mpmath.npdf(x, mu) - mpmath.exp(epsilon) * mpmath.npdf(x)  # noqa: E731
        return mpmath.quad(gap, [start + k for k in range(0, 24, 2)])


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_mu_cap_is_the_largest_that_fits(epsilon):
    """At the cap delta fits, one unit above it does not, by an independent integral."""
    units = mu_squared_units(Fraction(epsilon), MILLIONTH)
    for extra, fits in ((0, True), (1, False)):
        with mpmath.workdps(40):
            mu = mpmath.sqrt(mpmath.mpf(units + extra) / UNIT)
            found = _delta_by_integral(mu, mpmath.mpf(epsilon))
            assert (found <= mpmath.mpf(1) / 10**6) is fits


CONVERSIONS = [
    ("0.001", 0.1829),
    ("0.01", 0.6217),
    ("0.1", 2.142),
    ("0.5", 5.222),
    ("1", 7.766),
    ("5", 20.55),
]


@pytest.mark.parametrize(("rho", "epsilon"), CONVERSIONS)
def test_zcdp_conversion_matches_the_table(rho, epsilon):
    """The continuous minimisation gives the published epsilon, never less than the exact Gaussian's."""
    found = ZeroConcentratedDP(rho).guarantee()["epsilon"]
    assert found == pytest.approx(epsilon, rel=5e-4)
    assert found > epsilon_gaussian(2 * Fraction(rho), MILLIONTH)


@pytest.mark.parametrize("mu_squared", ["0.002", "0.2", "2"])
def test_epsilon_gaussian_errs_upwards(mu_squared):
    """delta at the epsilon told is not above the delta asked for, and is close to it."""
    epsilon = epsilon_gaussian(Fraction(mu_squared), MILLIONTH)
    told = delta_of_gaussian(Fraction(mu_squared), Fraction(epsilon))
    assert told <= 1e-6
    assert told == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("budget", [PureDP("0.7"), ZeroConcentratedDP("0.5"), ApproximateDP(2, "1e-6", "3e-9")])
def test_json_keeps_a_budget_exactly(budget):
    """Written and read back, a budget and its cap are the same."""
    again = budget_from_json(budget.to_json())
    assert again == budget
    assert again.cap == budget.cap


def test_budgets_are_read_in_three_spellings():
    """The three spellings are read; another shape shows the grammar, and a missing number is refused."""
    assert parse_budget("zcdp:0.5") == ZeroConcentratedDP("0.5")
    assert parse_budget("approx:1,1e-6") == ApproximateDP(1, "1e-6")
    assert parse_budget("pure:1") == PureDP(1)
    for text in ("", "rho:1", "approx:1", "zcdp:1,2", "0.5"):
        with pytest.raises(InvalidInput, match="zcdp:RHO"):
            parse_budget(text)
    with pytest.raises(InvalidInput):
        parse_budget("zcdp")


def test_amounts_fit_only_with_both_parts():
    """Room in mu^2 is not room in delta."""
    assert Amount(3, 4).fits(Amount(3, 4))
    assert not Amount(3, 5).fits(Amount(9, 4))
    assert Amount(3, 4) + Amount(1, 1) - Amount(4, 5) == Amount(0)


def test_a_guarantee_reads_as_words_and_numbers():
    """zCDP tells its implied epsilon; a smaller one of a run whose charges are all Gaussian, at a part of delta."""
    wide = GaussianEvent(Fraction(1), ((1 << 30, 1),))
    told = ZeroConcentratedDP("0.5").guarantee([wide])
    assert epsilon_gaussian(Fraction(1), REPORT_DELTA) < told["epsilon_all_gaussian"] < told["epsilon"]
    assert "0.5-zCDP" in told["text"]
    assert "all noise being Gaussian" in told["text"]


COARSE = GaussianEvent(Fraction(1), ((1 << 10, 1),))


@pytest.mark.parametrize("events", [[], [PureEvent(Fraction(1))], [COARSE], [COARSE, PureEvent(Fraction(1))]])
def test_nothing_smaller_is_told_without_its_proof(events):
    """Unknown charges, other noise than Gaussian, and noise so coarse that its failure term is no small part."""
    told = ZeroConcentratedDP("0.5").guarantee(events)
    assert "epsilon_all_gaussian" not in told
    assert "all noise" not in told["text"]


def test_a_large_rho_outgrows_its_reserve():
    """At rho 8 even wide noise is not told as continuous: e^epsilon times its distance passes the reserve."""
    wide = GaussianEvent(Fraction(16), ((1 << 28, 1),))
    assert "epsilon_all_gaussian" not in ZeroConcentratedDP(8).guarantee([wide])
    assert "epsilon_all_gaussian" in ZeroConcentratedDP(2).guarantee([wide])


@pytest.mark.parametrize("value", [np.float64("0.1"), np.float32("0.1"), np.longdouble("0.1")])
def test_numpy_scalars_are_numbers(value):
    """They mean the decimal that they print; arrays and truth values are no numbers."""
    assert ZeroConcentratedDP(value) == ZeroConcentratedDP("0.1")
    assert PureDP(np.int64(3)) == PureDP(3)
    for nonsense in (np.float64("nan"), np.float64("inf"), np.bool_(True), np.array([0.1]), np.float64(-1)):
        with pytest.raises(InvalidInput):
            ZeroConcentratedDP(nonsense)


@pytest.mark.parametrize("epsilon", ["1e-13", "5e-324", "1e-30"])
def test_an_approximate_epsilon_below_one_unit_is_refused(epsilon):
    """At once, and with its name."""
    with pytest.raises(InvalidInput, match="epsilon must be at least"):
        ApproximateDP(epsilon, MILLIONTH)


@pytest.mark.parametrize("delta", ["0.999999999999999999999999999999", 1 - Fraction(1, 10**80)])
def test_a_delta_next_to_one_ends(delta):
    """Either a cap or a refusal, never a search without end."""
    try:
        assert ApproximateDP(1, delta).cap.main > 0
    except InvalidInput:
        assert Fraction(delta) > 1 - Fraction(1, 10**50)


@pytest.mark.parametrize("text", ["zcdp", "zcdp:", "approx", "approx:1,", "pure:"])
def test_a_budget_without_its_number_shows_the_grammar(text):
    """What is missing is shown by example."""
    with pytest.raises(InvalidInput, match=r"zcdp:RHO.*zcdp:0\.5"):
        parse_budget(text)
