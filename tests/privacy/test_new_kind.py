"""A kind of budget that nobody knew of works everywhere once it is listed: in a ledger, a refusal, a statement."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pytest

from pubpriv import Ledger
from pubpriv.errors import BudgetExceeded
from pubpriv.privacy._conversions import epsilon_gaussian, pure_as_mu_squared
from pubpriv.privacy.budgets import KINDS, Amount, Budget, Purse, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.events import GaussianEvent, PureEvent
from pubpriv.privacy.report import run_statement
from pubpriv.privacy.units import UNIT, floor_units, to_text
from pubpriv.privacy.wording import _best_guess

EVENT = GaussianEvent(Fraction(1, 2), ((1 << 30, 1),))
DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class SquaredMu(Budget):
    """Sums of mu^2, without failure terms: a kind made up for this test."""

    kind: ClassVar[str] = "gdp"
    currency: ClassVar[str] = "squared mu"
    parameters: ClassVar[tuple[str, ...]] = ("mu_squared",)
    gaussian_units: ClassVar[int] = 2
    searched: ClassVar[tuple[float, float]] = (1e-8, 1e4)
    mu_squared: Fraction | str | int

    def __post_init__(self):
        object.__setattr__(self, "mu_squared", Fraction(self.mu_squared))

    @property
    def cap(self):
        """mu^2."""
        return Amount(floor_units(self.mu_squared))

    @property
    def report_delta(self):
        """1e-6."""
        return DELTA

    def describe(self):
        """`2 squared mu`."""
        return f"{float(self.mu_squared):g} squared mu"

    def as_epsilon(self, amount):
        """Balle and Wang."""
        return epsilon_gaussian(Fraction(amount.main, UNIT), DELTA)

    def guarantee(self, events=()):
        """One number."""
        return {"kind": self.kind, "text": self.describe(), "epsilon": self.as_epsilon(self.cap), "delta": float(DELTA)}

    @classmethod
    def variation_bounds(cls, guarantee, all_gaussian):
        """A bound that is far below that of (epsilon, delta)."""
        return [0.125]

    @classmethod
    def pure_cost(cls, epsilon):
        """As under approx."""
        return pure_as_mu_squared(epsilon)

    @classmethod
    def pure_worth(cls, room):
        """Too little, but some."""
        return room / 4

    def texts_within(self, units, ledger):
        """Exact."""
        return [self.written(to_text(self.largest_within(units, ledger)))] if ledger.gaussian_units else []

    def size_worth(self, rho):
        """mu^2 = 2 rho."""
        return 2 * rho


@pytest.fixture(autouse=True)
def _listed(monkeypatch):
    monkeypatch.setitem(KINDS, "gdp", SquaredMu)


def test_it_is_read_and_written():
    """By the command line's grammar and in a ledger's records, and methods split it."""
    budget = parse_budget("gdp:2")
    assert budget == SquaredMu(2)
    assert budget.written() == "gdp:2"
    assert budget.to_json() == {"kind": "gdp", "mu_squared": "2"}
    assert Purse(budget.cap.main, "gdp").rho == 1
    assert _best_guess(budget.guarantee()) == 0.5 + 0.5 * 0.125


@pytest.mark.parametrize("other", [ZeroConcentratedDP(1), parse_budget("approx:8,1e-6"), SquaredMu(2)])
def test_it_holds_of_other_ledgers_and_they_of_its(other):
    """Gaussians that fill an allotment fill the hold, whichever of the two kinds is the ledger's."""
    for allotment, ledger in ((SquaredMu(1), other), (other, SquaredMu(20))):
        steps = allotment.cap.main // allotment.price(EVENT).main
        assert steps * ledger.price(EVENT).main <= allotment.hold_on(ledger).main
        assert allotment.hold_on(ledger).main < (steps + 1) * ledger.price(EVENT).main


def test_a_ledger_keeps_it(tmp_path):
    """Registered, held, charged, refused with what fits, reported, read again by `verify`."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=SquaredMu(2))
        ledger.run("visits", "one").open(SquaredMu(1))
        ledger.run("visits", "one").start("m", "{}", "", None)
        ledger.run("visits", "one").charge("count", {"type": "of another version"}, EVENT)
        with pytest.raises(BudgetExceeded, match=r"What fits: gdp:1$"):
            ledger.run("visits", "two").open(SquaredMu("1.5"))
        with pytest.raises(BudgetExceeded, match="What fits: pure:"):
            ledger.run("visits", "two").open(parse_budget("pure:9"))
        told = run_statement(ledger.balance("visits"), ledger.run("visits", "one").bill())
        assert told["spent"] == "0.5 squared mu"
        assert told["cap"]["text"] == "2 squared mu"
        outlook = ledger.outlook("visits")
        assert outlook.fitting == 1
        assert outlook.epsilon()["cap"] == SquaredMu(2).as_epsilon(Amount(2 * UNIT))
        assert ledger.verify("visits").state.spent == SquaredMu(2).price(EVENT)


def test_pure_events_have_a_price_in_it():
    """From its own conversion, rounded up."""
    assert SquaredMu(2).price(PureEvent(Fraction(1))).main == -(-pure_as_mu_squared(Fraction(1)) * UNIT // 1)
