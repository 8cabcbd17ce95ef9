"""Balances of periods against their caps: pure, like `records`, which changes them.

A dataset with periods has two limits, and a charge must have room in both. A period's own charges and those of runs
without a period are together within its cap: `spent + held + common_spent + common_held <= cap`, for every period. So a
run without a period has to fit in the fullest one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.ledger._no_room import NoRoom

_NOTHING = Amount(0, 0)


@dataclass(frozen=True)
class PeriodsState:
    """The balance of one period, in the currency of its cap.

    Attributes:
        cap: cap of each period.
        common_spent, common_held: amounts of runs without a period, which count in every period.
        spent, held: amounts of runs of the record's period; zero if it has none.
        lifetime: whether the dataset's own cap holds too.
    """

    cap: Amount
    common_spent: Amount = _NOTHING
    common_held: Amount = _NOTHING
    spent: Amount = _NOTHING
    held: Amount = _NOTHING
    lifetime: bool = True

    @property
    def remaining(self) -> Amount:
        """The most that a new run could hold of the cap."""
        return self.cap - self.common_spent - self.common_held - self.spent - self.held

    def of(self, other: "PeriodsState | None") -> "PeriodsState":
        """Return the balance for the period of another record; None: a period without records."""
        if other is None:
            return replace(self, spent=_NOTHING, held=_NOTHING)
        return replace(self, spent=other.spent, held=other.held)

    def capped(self, cap: Amount, lifetime: bool) -> "PeriodsState":
        """Set the cap of each period.

        Raises:
            NoRoom: amounts that count in every period exceed it.
        """
        known = replace(self, cap=cap, lifetime=lifetime).of(None)
        if not known.common_spent.fits(cap):
            why = "what was spent without a period counts in every one, and exceeds the cap of a period"
            amounts = {"held": known.common_held, "remaining": known.remaining}
            raise NoRoom(why, "cap", spent=known.common_spent, requested=cap, **amounts)
        return known

    def opened(self, name: str | None, hold: Amount) -> "tuple[PeriodsState, RunPeriod]":
        """Return the state after a run of a period, or of none, took its hold.

        Raises:
            NoRoom: the hold does not fit; if `name` is None, in the fullest period.
        """
        if not hold.fits(self.remaining):
            amounts = {"spent": self.common_spent + self.spent, "held": self.common_held + self.held}
            why = "the allotment does not fit what is left of the cap of its period"
            raise NoRoom(why, "period", requested=hold, remaining=self.remaining, **amounts)
        return self._moved(name, held=hold), RunPeriod(name, hold)

    def charged(self, run: "RunPeriod", price: Amount) -> "tuple[PeriodsState, RunPeriod]":
        """Return the state after a charge of a run.

        Raises:
            NoRoom: the charge does not fit the run's hold.
            LedgerViolation: more is spent and held than the cap.
        """
        if not price.fits(run.left):
            why = "the charge does not fit what the run still holds of its period's cap"
            raise NoRoom(why, "period_hold", spent=run.charged, held=run.left, requested=price, remaining=run.left)
        moved = self._moved(run.name, spent=price, held=_NOTHING - price)
        if moved.remaining.main < 0 or moved.remaining.delta < 0:
            raise LedgerViolation("more is spent and held in a period than its cap")
        return moved, replace(run, charged=run.charged + price)

    def carried(self, name: str, spent: Amount) -> "PeriodsState":
        """Add the amount that a period spent in closed books.

        Raises:
            LedgerViolation: more is spent than the cap.
        """
        moved = self._moved(name, spent=spent)
        if moved.remaining.main < 0 or moved.remaining.delta < 0:
            raise LedgerViolation("more was spent in a period than its cap")
        return moved

    def closed(self, run: "RunPeriod") -> "PeriodsState":
        """Return the state after a run ended; the rest of its hold returns."""
        return self._moved(run.name, held=_NOTHING - run.left)

    def _moved(self, name: str | None, spent: Amount = _NOTHING, held: Amount = _NOTHING) -> "PeriodsState":
        if name is not None:
            return replace(self, spent=self.spent + spent, held=self.held + held)
        common = replace(self, common_spent=self.common_spent + spent, common_held=self.common_held + held)
        return common.of(None)

    def to_json(self) -> dict[str, Any]:
        """What a balance in the ledger says of it."""
        amounts = {name: getattr(self, name).to_json() for name in _AMOUNTS}
        return amounts | {"lifetime": self.lifetime}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "PeriodsState":
        """What `to_json` wrote."""
        amounts = {name: Amount.from_json(data[name]) for name in _AMOUNTS}
        return cls(**amounts, lifetime=data["lifetime"] is True)


_AMOUNTS = ("cap", "common_spent", "common_held", "spent", "held")


@dataclass(frozen=True)
class RunPeriod:
    """Amounts that a run holds and charged of its period's cap; of every period's cap if `name` is None."""

    name: str | None
    hold: Amount
    charged: Amount = _NOTHING

    @property
    def left(self) -> Amount:
        """Held and not yet charged."""
        return self.hold - self.charged

    def to_json(self) -> dict[str, Any]:
        """What a balance in the ledger says of it."""
        return {"name": self.name, "hold": self.hold.to_json(), "charged": self.charged.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RunPeriod":
        """What `to_json` wrote."""
        return cls(data["name"], Amount.from_json(data["hold"]), Amount.from_json(data["charged"]))


@dataclass(frozen=True)
class PeriodBalance:
    """Amounts spent and held of one period's cap, in its currency.

    Attributes:
        name: name of the period; None: amounts of runs without a period, which count in all.
        spent, held: amounts of its runs.
    """

    name: str | None
    spent: Amount
    held: Amount


def fullest(states: list[PeriodsState]) -> PeriodsState | None:
    """Return the balance with the largest amount spent and held; None if there are none."""
    used = [state.spent + state.held for state in states]
    if not used:
        return None
    most = Amount(max(amount.main for amount in used), max(amount.delta for amount in used))
    return replace(states[0], spent=most, held=_NOTHING)
