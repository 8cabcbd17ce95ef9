"""Events and their prices: exact, rounded up, refused where a kind cannot price them."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, PureDP, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent, PureEvent, event_from_json
from pubpriv.privacy.ledger.records import DatasetState, RunState, apply
from pubpriv.privacy.units import DELTA_UNIT, UNIT

APPROX = ApproximateDP(2, "1e-6")
SD = 1 << 20


def gaussian(squared_distance, sd=1 << 30, size=1):
    """An event at mu^2 = squared_distance."""
    return GaussianEvent(Fraction(squared_distance), ((sd, size),))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**15), max_value=10, max_denominator=10**20))
def test_gaussian_prices_round_up(mu_squared):
    """rho is mu^2 / 2 up by less than a unit, and mu^2 costs exactly twice as many units."""
    rho, squared = (budget.price(gaussian(mu_squared)).main for budget in (ZeroConcentratedDP(1), APPROX))
    assert mu_squared / 2 <= Fraction(rho, UNIT) < mu_squared / 2 + Fraction(1, UNIT)
    assert squared == 2 * rho


def test_pure_dp_refuses_gaussian_noise():
    """There is no epsilon for it, and the message names kinds that work."""
    with pytest.raises(InvalidInput, match=r"zcdp.*approx"):
        PureDP(1).price(gaussian(1))


def test_small_noise_is_refused_under_approx():
    """One below 2^20 is refused, 2^20 is not; zCDP needs no such floor."""
    with pytest.raises(InvalidInput):
        APPROX.price(gaussian(1, SD - 1))
    with pytest.raises(InvalidInput):
        APPROX.price(GaussianEvent(Fraction(1), ((SD, 1), (SD - 1, 1))))
    assert APPROX.price(gaussian(1, SD)).main == UNIT
    assert ZeroConcentratedDP(1).price(gaussian(1, 1)).main == UNIT // 2


@pytest.mark.parametrize(("sd", "size"), [(SD, 1), (SD, 2_000_000), (1 << 31, 500_500)])
def test_the_failure_term_covers_twice_the_discretisation(sd, size):
    """delta is at least 2 (1 + e^epsilon) sqrt(N / 1152) / sd^2, and at most 3 % above it."""
    with mpmath.workdps(40):
        exact = 2 * (1 + mpmath.e**2) * mpmath.sqrt(mpmath.mpf(size) / 1152) / mpmath.mpf(sd) ** 2 * DELTA_UNIT
        paid = APPROX.price(gaussian(1, sd, size)).delta
        assert exact <= paid <= exact * 1.03 + 1


@pytest.mark.parametrize("epsilon", ["0.01", "1", "5"])
def test_pure_events_convert_upwards(epsilon):
    """epsilon tanh(epsilon/2) and (2 Phi^-1(e^eps/(1+e^eps)))^2, never below."""
    event = PureEvent(Fraction(epsilon))
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon)
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(2 / (1 + mpmath.exp(-e)) - 1)
        for budget, exact in ((ZeroConcentratedDP(1), e * mpmath.tanh(e / 2)), (APPROX, mu**2)):
            assert 0 <= budget.price(event).main - exact * UNIT <= 2
    assert PureDP(1).price(event) == Amount(int(Fraction(epsilon) * UNIT))


@pytest.mark.parametrize("event", [GaussianEvent(Fraction(1, 3), ((SD, 2), (7, 1))), PureEvent(Fraction(1, 7))])
def test_json_keeps_an_event_exactly(event):
    """Written and read back, an event is the same."""
    assert event_from_json(event.to_json()) == event


def test_unknown_events_are_refused():
    """A tag from elsewhere is no event, and nothing is imported for it."""
    with pytest.raises(InvalidInput):
        event_from_json({"event": "os.system"})


@pytest.mark.parametrize("allotment", [ZeroConcentratedDP(1), APPROX])
def test_gaussian_runs_are_refused_by_a_pure_ledger(allotment):
    """The hold itself is refused, before anything is read."""
    with pytest.raises(InvalidInput, match="pure"):
        allotment.hold_on(PureDP(1))


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    st.lists(st.integers(min_value=1, max_value=10**6), min_size=1, max_size=30),
    st.sampled_from(["zcdp", "approx"]),
)
def test_what_fits_the_allotment_fits_the_hold(weights, kind):
    """Charges that fill an allotment never lack hold in the other currency, for all their roundings."""
    allotment, ledger = (ZeroConcentratedDP("0.03"), APPROX) if kind == "zcdp" else (APPROX, ZeroConcentratedDP(1))
    room, cap, held = Amount(0), allotment.cap, Amount(0)
    whole = Fraction(cap.main, UNIT) * (2 if kind == "zcdp" else 1)
    for weight in weights:
        event = gaussian(whole * weight / sum(weights), 1 << 34)
        if (room + allotment.price(event)).fits(cap):
            room, held = room + allotment.price(event), held + ledger.price(event)
    assert held.main <= allotment.hold_on(ledger).main


@pytest.mark.parametrize("ledger", [ZeroConcentratedDP(1), APPROX])
def test_pure_charges_that_fit_the_allotment_fit_the_hold(ledger):
    """Splitting a pure allotment never costs more than the whole."""
    for steps in (1, 2, 7, 100):
        paid = steps * ledger.price(PureEvent(Fraction(1, steps))).main
        assert paid <= PureDP(1).hold_on(ledger).main


def test_a_negative_distance_has_no_price():
    """An event cannot give money back."""
    with pytest.raises((InvalidInput, ValueError)):
        ZeroConcentratedDP(1).price(gaussian("-0.3"))


def test_the_whole_of_an_approx_ledger_can_be_held_by_a_zcdp_run():
    """An allotment of exactly mu^2 / 2 fits an untouched ledger."""
    allotment = ZeroConcentratedDP(Fraction(APPROX.cap.main, 2 * UNIT))
    assert allotment.hold_on(APPROX).fits(APPROX.cap)


BAD_NOISE = [(), ((0, 1),), ((-5, 1),), ((SD, 0),), ((SD, 1), (0, 3))]


@pytest.mark.parametrize("noise", BAD_NOISE)
def test_an_event_needs_noise(noise):
    """Without noise that spreads there is no event, and none is read from a ledger."""
    with pytest.raises(InvalidInput, match="noise"):
        GaussianEvent(Fraction(1), noise)
    with pytest.raises(InvalidInput):
        event_from_json({"event": "gaussian", "squared_distance": "1", "noise": [[str(a), b] for a, b in noise]})


@pytest.mark.parametrize("value", ["0", "-1/3"])
def test_an_event_costs_something(value):
    """Distances and epsilons are positive."""
    with pytest.raises(InvalidInput):
        gaussian(value)
    with pytest.raises(InvalidInput):
        PureEvent(Fraction(value))


@pytest.mark.parametrize("amount", ["cap", "allotted", "hold", "share", "price_run", "price_ledger"])
def test_no_record_moves_a_negative_amount(amount):
    """Whatever its kind, and in either part."""
    kinds = {"cap": "registered", "share": "started", "price_run": "charged", "price_ledger": "charged"}
    kind = kinds.get(amount, "opened")
    good = {name: Amount(1) for name in ("cap", "allotted", "hold", "share", "price_run", "price_ledger")}
    room = DatasetState(Amount(9, 9)), RunState(Amount(9, 9), Amount(9, 9))
    for bad in (Amount(-1), Amount(0), Amount(1, -1)):
        with pytest.raises(InvalidInput, match="positive"):
            apply(kind, {**good, amount: bad, "method": "m"}, *room)
