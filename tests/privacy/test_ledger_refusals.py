"""Refusals: they say who has the money, and asking for what they say fits works."""

import re
from fractions import Fraction

import pytest
from helpers.events import gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, PureDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.events import PureEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger._refusals import Refused, what_fits
from pubpriv.privacy.ledger.records import DatasetState
from pubpriv.privacy.units import UNIT

QUESTION = {"type": "Counts"}
ZCDP, APPROX, PURE = ZeroConcentratedDP(1), ApproximateDP(1, "1e-6"), PureDP(1)


@pytest.fixture
def open_ledger(new_ledger_url):
    """Makes ledgers with dataset `visits`."""
    made = []

    def make(budget):
        made.append(Ledger.open(new_ledger_url()))
        made[-1].register("visits", budget=budget)
        return made[-1]

    yield make
    for ledger in made:
        ledger.close()


PAIRS = [
    (ZCDP, ZeroConcentratedDP("0.3333333"), ZeroConcentratedDP(2), "zcdp"),
    (APPROX, ApproximateDP("0.3", "1e-6"), ApproximateDP(1, "1e-6"), "approx"),
    (APPROX, ApproximateDP("0.3", "1e-6"), ApproximateDP(2, "2.5e-7"), "approx"),
    (APPROX, ZeroConcentratedDP("0.0033333"), ZeroConcentratedDP(1), "zcdp"),
    (ZCDP, ZeroConcentratedDP("0.98765"), ApproximateDP(4, "1e-6"), "approx"),
    (PURE, PureDP("0.77777777"), PureDP(1), "pure"),
    (ZCDP, ZeroConcentratedDP("0.98765"), PureDP(4), "pure"),
    (APPROX, ZeroConcentratedDP("0.02"), PureDP(4), "pure"),
]


@pytest.mark.parametrize(("budget", "first", "asked", "kind"), PAIRS)
def test_what_is_said_to_fit_can_be_opened(open_ledger, budget, first, asked, kind):
    """The suggestion is of the asked kind, is taken at once, and leaves next to nothing."""
    ledger = open_ledger(budget)
    ledger.run("visits", "first").open(first)
    before = ledger.balance("visits").remaining.main
    with pytest.raises(BudgetExceeded) as refused:
        ledger.run("visits", "second").open(asked)
    fits = re.search(r"What fits: (\S+)$", str(refused.value)).group(1)
    assert fits.startswith(kind)
    ledger.run("visits", "second").open(parse_budget(fits))
    assert ledger.balance("visits").remaining.main <= before * 1e-3
    ledger.verify("visits")


@settings(derandomize=True, max_examples=12, deadline=None)
@given(
    st.integers(min_value=0, max_value=10**12),
    st.sampled_from([1, 10**3, 10**9, 10**11]),
    st.sampled_from([(ZCDP, ZCDP), (APPROX, APPROX), (ZCDP, APPROX), (APPROX, ZCDP)]),
)
def test_suggestions_fit_whatever_is_left(weight, scale, kinds):
    """For any remainder, failure reserve included, what is written there is no more than the room."""
    asked, ledger = kinds
    cap = ledger.cap
    left = Amount(cap.main * weight // 10**12 // scale, cap.delta // (1 + weight % 7))
    state = DatasetState(cap, cap - left)
    told = re.search(r"What fits: (\S+)$", what_fits(asked, ledger, state))
    if told:
        assert parse_budget(told.group(1)).hold_on(ledger, cap, left).fits(left)
    else:
        assert left.main < 2 or left.main * cap.delta // cap.main > left.delta or asked.kind == "approx"


def test_a_delta_that_is_worth_more_than_the_rest_is_answered_with_zcdp(open_ledger):
    """No epsilon fits with a delta of one half; an amount of rho does."""
    ledger = open_ledger(APPROX)
    with pytest.raises(BudgetExceeded, match=r"What fits: zcdp:\d") as refused:
        ledger.run("visits", "r").open(ApproximateDP(1, "0.5"))
    ledger.run("visits", "r").open(parse_budget(str(refused.value).rsplit(" ", 1)[1]))


def test_a_refusal_is_worded_without_the_lock(open_ledger, monkeypatch):
    """While its text is worked out, another process can write."""
    ledger = open_ledger(ZCDP)

    def slow(refusal):
        with Ledger.open(ledger.url) as other:
            other.register("meanwhile", budget=ZCDP)
        return "worded"

    monkeypatch.setattr(Refused, "_of_dataset", slow)
    with pytest.raises(BudgetExceeded, match="worded"):
        ledger.run("visits", "r").open(ZeroConcentratedDP(2))
    assert ledger.datasets() == ["meanwhile", "visits"]


def test_a_refusal_carries_its_amounts(open_ledger):
    """Spent, held, requested and remaining are numbers to compute with."""
    ledger = open_ledger(ZCDP)
    ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
    ledger.run("visits", "r").charge("a", QUESTION, gaussian("0.1"))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.run("visits", "s").open(ZeroConcentratedDP("0.6"))
    error = refused.value
    found = [amount.main * 10 // UNIT for amount in (error.spent, error.held, error.requested, error.remaining)]
    assert found == [1, 4, 6, 5]


def test_a_charge_that_its_run_cannot_pay_says_what_the_run_has(open_ledger):
    """Allotment, spent, requested and remaining are the run's, although the dataset has plenty."""
    ledger = open_ledger(ZeroConcentratedDP(100))
    ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
    ledger.run("visits", "r").charge("a", QUESTION, gaussian("0.4"))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.run("visits", "r").charge("b", QUESTION, gaussian("0.2"))
    words = ("Release id 'r'", "allotment 0.5 rho", "spent 0.4 rho", "requested 0.2 rho", "remaining 0.1 rho")
    for word in words:
        assert word in str(refused.value)
    assert refused.value.remaining == Amount(UNIT // 10)
    assert ledger.run("visits", "r").find("b") is None


def test_a_method_cannot_spend_more_than_its_share(open_ledger):
    """Labels name their method; its share is a limit although the run has more."""
    ledger = open_ledger(ZCDP)
    ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
    ledger.run("visits", "r").start("mean", "{}", "hash", Amount(UNIT // 10))
    ledger.run("visits", "r").charge("mean/a", QUESTION, gaussian("0.06"))
    with pytest.raises(BudgetExceeded, match=r"share of mean.*remaining 0\.04 rho"):
        ledger.run("visits", "r").charge("mean/b", QUESTION, gaussian("0.05"))
    ledger.run("visits", "r").charge("mean/b", QUESTION, gaussian("0.04"))
    ledger.run("visits", "r").charge("of no method", QUESTION, gaussian("0.15"))
    assert ledger.run("visits", "r").start("mixture", "{}", "hash", None) == Amount(UNIT // 4)
    ledger.verify("visits")


def test_methods_share_the_failure_reserve_as_they_share_mu_squared(open_ledger):
    """Two methods with budgets of their own fit one approx run, and both can charge."""
    ledger = open_ledger(APPROX)
    ledger.run("visits", "r").open(APPROX)
    for method in ("mean", "mixture"):
        share = ledger.run("visits", "r").start(method, "{}", "hash", ApproximateDP("0.6", "1e-6").cap)
        assert share.delta > 0
        ledger.run("visits", "r").charge(f"{method}/a", QUESTION, gaussian("0.005"))
    ledger.verify("visits")


def test_shares_and_names_of_methods_are_checked(open_ledger):
    """Nothing, less than nothing, and names that labels cannot carry are bad input."""
    ledger = open_ledger(ZCDP)
    ledger.run("visits", "r").open(ZCDP)
    for method, share in (("mean", Amount(0)), ("mean", Amount(-1)), ("me/an", None), ("", None)):
        with pytest.raises(InvalidInput):
            ledger.run("visits", "r").start(method, "{}", "hash", share)


WHOLE = [(APPROX, "zcdp"), (ZCDP, "approx"), (ZCDP, "zcdp"), (APPROX, "approx")]


@pytest.mark.parametrize(("budget", "kind"), WHOLE)
def test_a_run_can_take_a_whole_ledger_and_spend_it(open_ledger, budget, kind):
    """Of either kind: the hold is all there is, and many uneven charges use it up without a refusal."""
    ledger = open_ledger(budget)
    rho = budget.cap.main if budget.kind == "zcdp" else budget.cap.main // 2
    if kind == "zcdp":
        allotment = ZeroConcentratedDP(Fraction(rho, UNIT))
    elif budget.kind == "approx":
        allotment = budget
    else:
        with pytest.raises(BudgetExceeded) as refused:
            ledger.run("visits", "r").open(ApproximateDP(9, "1e-6"))
        allotment = parse_budget(str(refused.value).rsplit(" ", 1)[1])
        rho = allotment.cap.main // 2
    ledger.run("visits", "r").open(allotment)
    rest = rho
    for step in range(12):
        units = rest if step == 11 else rho // 13 + step
        rest -= units
        uneven = Fraction(units, UNIT) - Fraction(1, 3 * UNIT)
        ledger.run("visits", "r").charge(str(step), QUESTION, gaussian(uneven))
    assert ledger.run("visits", "r").bill().state.hold.main - ledger.run("visits", "r").bill().state.charged.main <= 1
    ledger.verify("visits")


def test_raising_epsilon_counts_earlier_failure_terms_at_the_new_one(open_ledger):
    """The reserve shrinks by the ratio of the factors, so charges made before stay covered."""
    ledger = open_ledger(APPROX)
    ledger.run("visits", "r").open(ApproximateDP("0.5", "1e-6"))
    ledger.run("visits", "r").charge("a", QUESTION, gaussian("0.001"))
    higher = {"budget": ApproximateDP(3, "1e-6"), "raise_": True, "reason": "a second study"}
    with pytest.raises(BudgetExceeded, match="close open runs first"):
        ledger.register("visits", **higher)
    ledger.run("visits", "r").close("done")
    ledger.register("visits", **higher)
    balance = ledger.balance("visits")
    assert balance.cap.main == ApproximateDP(3, "1e-6").cap.main
    assert balance.cap.delta == pytest.approx(float(APPROX.cap.delta) * (1 + 2.71828) / (1 + 20.0855), rel=0.01)
    ledger.run("visits", "s").open(ApproximateDP(2, "1e-6"))
    ledger.run("visits", "s").charge("b", QUESTION, gaussian("0.001"))
    ledger.verify("visits")


def test_pure_runs_charge_any_ledger(open_ledger):
    """A pure allotment pays for pure events in whatever currency."""
    for budget in (PURE, ZCDP, APPROX):
        ledger = open_ledger(budget)
        ledger.run("visits", "r").open(PureDP("0.1"))
        for label in "abcd":
            ledger.run("visits", "r").charge(label, QUESTION, PureEvent(Fraction(1, 40)))
        with pytest.raises(InvalidInput):
            ledger.run("visits", "r").charge("gaussian", QUESTION, gaussian("0.0001"))
        ledger.verify("visits")


def _refusals(make):
    """One refusal of each kind: (name, text)."""
    ledger = make(ZCDP)
    ledger.run("visits", "r").open(ZeroConcentratedDP("0.6"))
    ledger.run("visits", "r").charge("first", QUESTION, gaussian("0.1"))
    ledger.run("visits", "r").start("mean", "{}", "hash", Amount(UNIT // 10))
    lower = {"budget": ZeroConcentratedDP("0.3"), "raise_": True, "reason": "less"}
    pure = make(ZeroConcentratedDP("0.000000000003"))  # three units, which is what is held of it
    pure.run("visits", "r").open(PureDP("0.000002"))
    for label in "abc":  # worth next to nothing, and rounded up to a unit each
        pure.run("visits", "r").charge(label, QUESTION, PureEvent(Fraction(1, 10**7)))
    calls = {
        "dataset": lambda: ledger.run("visits", "s").open(ZeroConcentratedDP("0.5")),
        "run": lambda: ledger.run("visits", "r").charge("a", QUESTION, gaussian("0.6")),
        "share": lambda: ledger.run("visits", "r").start("more", "{}", "hash", Amount(UNIT)),
        "method": lambda: ledger.run("visits", "r").charge("mean/a", QUESTION, gaussian("0.2")),
        "cap": lambda: ledger.register("visits", **lower),
        "hold": lambda: pure.run("visits", "r").charge("d", QUESTION, PureEvent(Fraction(1, 10**7))),
    }
    for name, call in calls.items():
        with pytest.raises(BudgetExceeded) as refused:
            call()
        yield name, str(refused.value)


def test_every_kind_of_refusal_says_all_of_it(open_ledger):
    """Dataset, run, share, method, cap, hold: spent, held, requested, remaining, by whom, and what would fit."""
    told = dict(_refusals(open_ledger))
    for name, text in told.items():
        for word in ("spent", "held", "requested", "remaining", "last spent by"):
            assert word in text, (name, word, text)
        assert re.search(r"What fits: |Nothing more fits", text), (name, text)
    assert told["hold"].startswith("the charge does not fit what the run still holds")
    assert "held by methods 0.1 rho" in told["run"]
    assert told["run"].endswith("What fits: 0.5 rho")
    assert told["method"].endswith("What fits: 0.1 rho")
    assert told["share"].endswith("What fits: 0.4 rho")
    assert told["cap"].endswith("What fits: a cap of 0.6 rho or more")
    assert told["dataset"].endswith("What fits: zcdp:0.4")
