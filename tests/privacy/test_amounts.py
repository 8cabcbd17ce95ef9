"""Adversarial amounts: whatever is asked of a ledger is refused as bad input, or rounded against the spender."""

import math
import tempfile
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.privacy._conversions import pure_as_mu_squared, pure_as_rho
from pubpriv.privacy.budgets import Amount, ApproximateDP, PureDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.events import GaussianEvent, PureEvent, event_from_json
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.units import DELTA_UNIT, UNIT

QUESTION = {"type": "Counts"}
NONSENSE = [
    0, -1, -0.0, math.nan, math.inf, -math.inf, True, False, None, [], {}, object(), b"1", 1j, "", "one", "nan", "inf",
    "-1", "1/3", "0x10", "1e400", "1e-9999999", "1e9999999", 5e-324, 2.2250738585072014e-308, "4.9e-324", 1e300,
    10**400, Fraction(1, 10**400), Fraction(-1, 3), Decimal("NaN"), Decimal("-Infinity"), Decimal("sNaN"),
    np.float64("nan"), np.int64(-1), np.bool_(True), "१e-400", Fraction(10**9 + 1),
]  # fmt: skip


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: f"{type(value).__name__}:{str(value)[:12]}")
def test_no_budget_is_made_of_nonsense(value):
    """Every parameter of every kind refuses it, as bad input and nothing else."""
    makers = [
        lambda: PureDP(value),
        lambda: ZeroConcentratedDP(value),
        lambda: ApproximateDP(value, "1e-6"),
        lambda: ApproximateDP(1, value),
    ]
    if value is not None:  # which is the default
        makers.append(lambda: ApproximateDP(1, "1e-6", value))
    for make in makers:
        with pytest.raises(InvalidInput):
            make()


@pytest.mark.parametrize("value", [Fraction(1, 3), 0.1, "0.1", Decimal("0.3"), np.float32(0.1), 1e-12, Fraction(22, 7)])
def test_a_cap_is_rounded_down(value):
    """A cap is never more than was promised, and less by at most a unit."""
    for budget in (PureDP(value), ZeroConcentratedDP(value)):
        promised = Fraction(budget.cap.main, UNIT)
        exact = Fraction(str(value)) if isinstance(value, float | np.float32) else Fraction(value)
        assert 0 <= exact - promised < Fraction(1, UNIT)


@pytest.mark.parametrize(
    "data",
    [
        {"event": "pure", "epsilon": "nan"}, {"event": "pure", "epsilon": "-1"}, {"event": "pure", "epsilon": "1e10"},
        {"event": "gaussian", "squared_distance": "0", "noise": [["5", 1]]},
        {"event": "gaussian", "squared_distance": "-1/3", "noise": [["5", 1]]},
        {"event": "gaussian", "squared_distance": "1", "noise": []},
        {"event": "gaussian", "squared_distance": "1", "noise": [["0", 1]]},
        {"event": "gaussian", "squared_distance": "1", "noise": [["-5", 1]]},
        {"event": "gaussian", "squared_distance": "1", "noise": [["5", 0]]},
        {"event": "none"}, {},
    ],
)  # fmt: skip
def test_events_without_a_cost_are_not_made(data):
    """No distance, no noise, no spread, less than nothing: there is no such event."""
    with pytest.raises((InvalidInput, ValueError)):
        event_from_json(data)


INEXACT = [0.5, 1.5, math.nan, math.inf, 5e-324, True, "1", None, Decimal(1), np.int64(5), np.float64(2)]


@pytest.mark.parametrize("value", INEXACT, ids=lambda value: f"{type(value).__name__}:{value}")
def test_amounts_and_events_are_made_of_exact_numbers(value):
    """A float would be stored as one number and priced as another; NaN compares with nothing."""
    makers = [
        lambda: Amount(value),
        lambda: Amount(1, value),
        lambda: PureEvent(value),
        lambda: GaussianEvent(value, ((5, 1),)),
        lambda: GaussianEvent(Fraction(1), ((value, 1),)),
        lambda: GaussianEvent(Fraction(1), ((5, value),)),
    ]
    for make in makers:
        with pytest.raises(InvalidInput):
            make()


@pytest.fixture
def books(tmp_path):
    """A ledger with dataset `visits`, zcdp:1, and an open run `r` of it all."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", ZeroConcentratedDP(1))
        ledger.run("visits", "r").open(ZeroConcentratedDP(1))
        yield ledger


@pytest.mark.parametrize("share", [Amount(0), Amount(-1), Amount(-(10**40)), Amount(10**12 + 1), Amount(10**400)])
def test_shares_are_checked(books, share):
    """Nothing, less than nothing and more than there is are no shares; the books stay as they were."""
    before = books.balance("visits")
    with pytest.raises((InvalidInput, BudgetExceeded)):
        books.run("visits", "r").start("mean", "{}", "hash", share)
    assert books.balance("visits") == before


def test_the_smallest_charge_costs_a_unit_and_the_largest_is_refused(books):
    """A distance of 1e-300 is not free, and 1e300 does not wrap around."""
    books.run("visits", "r").charge("tiny", QUESTION, GaussianEvent(Fraction(1, 10**300), ((1 << 62, 1),)))
    assert books.balance("visits").spent == Amount(1)
    for huge in (Fraction(10**300), Fraction(2 * 10**12, 10**12)):
        with pytest.raises(BudgetExceeded):
            books.run("visits", "r").charge("huge", QUESTION, GaussianEvent(huge, ((1 << 30, 1),)))
    assert books.balance("visits").spent == Amount(1)
    books.verify("visits")


def test_thirds_never_fit_four_times(books):
    """Three thirds of a budget are more than all of it, since each is rounded up."""
    third = GaussianEvent(Fraction(2, 3), ((1 << 30, 1),))
    for label in "ab":
        books.run("visits", "r").charge(label, QUESTION, third)
    with pytest.raises(BudgetExceeded):
        books.run("visits", "r").charge("c", QUESTION, third)
    assert books.balance("visits").spent.main == 2 * -(-UNIT // 3)


# --- allotment and cap of different kinds, both enforced ----------------------------------------------------------

LEDGERS = ["zcdp:1", "approx:4,1e-6", "pure:2"]
ALLOTMENTS = [
    "zcdp:0.3", "zcdp:0.123456789012", "zcdp:1", "zcdp:0.000000000001", "approx:1,1e-6", "approx:3.3,1e-7",
    "approx:0.01,1e-9", "approx:4,1e-6", "pure:0.5", "pure:0.3333333333333", "pure:2", "pure:0.000000000001",
]  # fmt: skip

gaussians = st.builds(
    lambda units, denominator, sd, size: GaussianEvent(Fraction(units, denominator * 1000), ((1 << sd, size),)),
    st.integers(1, 700),
    st.sampled_from([1, 3, 7, 997, 10**9]),
    st.sampled_from([19, 20, 24, 40]),
    st.sampled_from([1, 10**6]),
)
pures = st.builds(lambda n, d: PureEvent(Fraction(n, d)), st.integers(1, 40), st.sampled_from([3, 7, 60, 10**13]))
steps = st.one_of(
    st.tuples(st.just("open"), st.integers(0, 2), st.sampled_from(ALLOTMENTS)),
    st.tuples(st.just("charge"), st.integers(0, 2), st.one_of(gaussians, pures)),
    st.tuples(st.just("charge"), st.integers(0, 2), gaussians),
    st.tuples(st.just("close"), st.integers(0, 2), st.none()),
)


def true_cost(event, kind):
    """What an event costs, unrounded: (main, total variation that is not accounted elsewhere)."""
    if isinstance(event, PureEvent):
        told = {"pure": event.epsilon, "zcdp": pure_as_rho(event.epsilon), "approx": pure_as_mu_squared(event.epsilon)}
        return told[kind], Fraction(0)
    squared = event.squared_distance
    return (squared / 2, Fraction(0)) if kind == "zcdp" else (squared, event.total_variation())


def within(events, budget):
    """The exact sums of the true costs are within what the budget promises, rounding nowhere."""
    costs = [true_cost(event, budget.kind) for event in events]
    main, variation = sum(cost for cost, _ in costs), sum(tv for _, tv in costs)
    assert main <= Fraction(budget.cap.main, UNIT)
    if budget.kind == "approx":
        failure = Fraction(1 + math.exp(float(budget.epsilon))) * variation
        assert failure <= Fraction(budget.cap.delta, DELTA_UNIT)
        assert budget.cap.delta <= budget.failure_delta * DELTA_UNIT


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.sampled_from(LEDGERS), st.lists(steps, min_size=4, max_size=24))
def test_whatever_is_accepted_keeps_both_promises(cap, sequence):
    """After any sequence: spent and held within the cap, each run within its allotment, in exact true costs too."""
    budget = parse_budget(cap)
    paid: dict[str, list] = {}
    allotments = {}
    with tempfile.TemporaryDirectory() as folder, Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("visits", budget)
        for number, (what, run, value) in enumerate(sequence):
            name = f"run-{run}"
            try:
                if what == "open":
                    ledger.run("visits", name).open(parse_budget(value))
                    allotments.setdefault(name, parse_budget(value))
                elif what == "charge":
                    ledger.run("visits", name).charge(f"step-{number}", QUESTION, value)
                    paid.setdefault(name, []).append(value)
                else:
                    ledger.run("visits", name).close("done")
            except (InvalidInput, BudgetExceeded):
                pass
            balance = ledger.balance("visits")
            assert (balance.spent + balance.held).fits(balance.cap)
            assert min(balance.spent.main, balance.held.main, balance.spent.delta, balance.held.delta) >= 0
        for name, allotment in allotments.items():
            run = ledger.run("visits", name).bill()
            assert run.allotment == allotment
            assert run.state.spent.fits(run.state.allotment)
            assert run.state.charged.fits(run.state.hold)
            within(paid.get(name, []), allotment)
        within([event for events in paid.values() for event in events], budget)
        ledger.verify("visits")


PAIRS = [
    ("zcdp:1", "approx:1,1e-6"), ("approx:4,1e-6", "zcdp:0.1"), ("zcdp:1", "pure:0.5"), ("approx:4,1e-6", "pure:0.5"),
    ("pure:2", "pure:0.5"),
]  # fmt: skip


@pytest.mark.parametrize(("cap", "allotment"), PAIRS)
def test_the_allotment_stops_a_run_before_a_roomy_cap_does(tmp_path, cap, allotment):
    """In its own currency: the run spends all it was given but for a few units, and is refused a few more."""
    budget, given_ = parse_budget(cap), parse_budget(allotment)
    pure = given_.kind == "pure"
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget)
        ledger.run("visits", "r").open(given_)
        whole = given_.cap.main // 4 * 4  # halves are then whole even units, of which no price is rounded
        distance = Fraction(2 * whole if given_.kind == "zcdp" else whole, UNIT)

        def part(of):
            return PureEvent(of) if pure else GaussianEvent(of, ((1 << 40, 1),))

        for label in "ab":
            ledger.run("visits", "r").charge(label, QUESTION, part(distance / 2))
        with pytest.raises(BudgetExceeded, match="allotment"):
            ledger.run("visits", "r").charge("c", QUESTION, part(Fraction(20, UNIT)))
        assert ledger.run("visits", "r").bill().state.spent.main == whole
        assert ledger.balance("visits").remaining.main > 0
        ledger.verify("visits")


def test_a_cap_stops_a_run_of_another_kind(tmp_path):
    """The hold, in the ledger's currency, is what a second run of another kind does not get."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", ApproximateDP(1, "1e-6"))
        ledger.run("visits", "first").open(ApproximateDP("0.9", "1e-6"))
        for allotment in ("zcdp:0.02", "pure:0.5"):
            with pytest.raises(BudgetExceeded):
                ledger.run("visits", "second").open(parse_budget(allotment))
        with pytest.raises(InvalidInput):
            ledger.run("visits", "second").charge("a", QUESTION, PureEvent(Fraction(1)))
