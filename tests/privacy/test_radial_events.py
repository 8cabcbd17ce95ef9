"""What radial noise costs, in every currency."""

from fractions import Fraction
from math import tanh

import pytest

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import ApproximateDP, PureDP, ZeroConcentratedDP
from pubpriv.privacy.events import PureEvent, RadialEvent, event_from_json

NOISE = ((1 << 40, 4), (7, 2))
ZCDP, APPROX = ZeroConcentratedDP(1), ApproximateDP(1, Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("squared", "units"),
    [("4", 2 * 10**12), ("2", 1414213562374), ("1/1000000000000000000000000", 1), ("1/1" + "0" * 40, 1),
     (f"{10**24 + 1}/{10**24}", 10**12 + 1), (f"{10**24}/{10**24}", 10**12)],
)  # fmt: skip
def test_epsilon_is_the_root_rounded_up_to_a_unit(squared, units):
    """Exactly: the integer square root in units of 1e-12."""
    event = RadialEvent(Fraction(squared), NOISE)
    assert event.epsilon == Fraction(units, 10**12)
    assert PureDP(10).price(event).main == units


@pytest.mark.parametrize("epsilon", ["0.01", "1", "4"])
def test_other_currencies_price_it_as_any_mechanism_of_its_epsilon(epsilon):
    """epsilon tanh(epsilon / 2) of rho, and mu of randomised response."""
    event, same = RadialEvent(Fraction(epsilon) ** 2, NOISE), PureEvent(Fraction(epsilon))
    for budget in (ZCDP, APPROX, PureDP(9)):
        assert budget.price(event) == budget.price(same)
    assert ZCDP.price(event).main == pytest.approx(float(epsilon) * tanh(float(epsilon) / 2) * 1e12, abs=2)


def test_an_event_is_read_back():
    """As it was written, and other events are other events."""
    event = RadialEvent(Fraction(7, 3), NOISE, 2)
    assert event_from_json(event.to_json()) == event
    assert event.to_json() == {
        "event": "radial", "squared_distance": "7/3", "noise": [[str(1 << 40), 4], ["7", 2]], "blocks": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [(0, NOISE), (-1, NOISE), (0.5, NOISE), (1, ()), (1, ((0, 1),)), (1, ((5, 0),)), (1, NOISE, 0), (1, NOISE, 3),
     (1, NOISE, True), (1, ((5.0, 1),)), (Fraction(10**19), NOISE)],
)  # fmt: skip
def test_malformed_events_are_refused(fields):
    """A distance that is none, noise without a spread, parts that cannot be divided."""
    with pytest.raises(InvalidInput):
        RadialEvent(Fraction(fields[0]) if isinstance(fields[0], int) else fields[0], *fields[1:])


def test_a_run_of_radial_steps_spends_no_more_than_its_epsilon():
    """A split is in integer units, and questions priced for a part never cost more."""
    purse = PureDP(1).cap.main
    parts = PureDP.split(purse, [Fraction(1, 9), Fraction(1, 7), Fraction(11, 21)])
    assert sum(parts) == purse
    for part in parts:
        assert RadialEvent(PureDP.squared_distance(part), NOISE).epsilon == Fraction(part, 10**12)
        assert PureDP.part(purse, PureDP.squared_distance(part)) == part


def test_a_split_minimises_the_sum_of_variances():
    """Shares that are best for Gaussian steps, rho_i ~ a_i^(1/2), become epsilon_i ~ a_i^(1/3)."""
    a = [1.0, 8.0, 27.0]
    shares = [Fraction(x**0.5) / Fraction(sum(y**0.5 for y in a)) for x in a]
    crowd = sum((Fraction(float(share) ** (2 / 3)) for share in shares), Fraction(0))
    parts = PureDP.split(6 * 10**12, shares, crowd)
    assert [part / 1e12 for part in parts] == pytest.approx([1, 2, 3], rel=1e-6)
    assert PureDP.divided(36.0, [float(share) for share in shares], float(crowd)) == pytest.approx([1, 4, 9])
    # what comes after a step does not change its part
    assert PureDP.split(10**12, [*shares[:1], Fraction(1, 9), Fraction(1, 2)])[0] == PureDP.split(10**12, shares)[0]
