"""What is counted against the caps of periods: pure, like `records`, which moves it.

A dataset with periods has two limits, and a charge has room in both or is not made. A period's own charges and those
of runs without a period are within its cap: `spent + held + common_spent + common_held <= cap`, for every period. So a
run without a period has to fit the fullest one.
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
        cap: of each period.
        common_spent, common_held: by runs without a period, which count in every one.
        spent, held: by runs of the period that a record is of; nothing, where it is of none.
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
        """What a new run could hold of it."""
        return self.cap - self.common_spent - self.common_held - self.spent - self.held

    def of(self, other: "PeriodsState | None") -> "PeriodsState":
        """The same for the period of another record; None: for one of which there is no record yet."""
        if other is None:
            return replace(self, spent=_NOTHING, held=_NOTHING)
        return replace(self, spent=other.spent, held=other.held)

    def capped(self, cap: Amount, lifetime: bool) -> "PeriodsState":
        """Take this cap of each period.

        Raises:
            NoRoom: what counts in every period exceeds it.
        """
        known = replace(self, cap=cap, lifetime=lifetime).of(None)
        if not known.common_spent.fits(cap):
            why = "what was spent without a period counts in every one, and exceeds the cap of a period"
            amounts = {"held": known.common_held, "remaining": known.remaining}
            raise NoRoom(why, "cap", spent=known.common_spent, requested=cap, **amounts)
        return known

    def opened(self, name: str | None, hold: Amount) -> "tuple[PeriodsState, RunPeriod]":
        """Tell the state after a run of a period, or of none, took its hold.

        Raises:
            NoRoom: it does not fit; where `name` is None, the fullest period.
        """
        if not hold.fits(self.remaining):
            amounts = {"spent": self.common_spent + self.spent, "held": self.common_held + self.held}
            why = "the allotment does not fit what is left of the cap of its period"
            raise NoRoom(why, "period", requested=hold, remaining=self.remaining, **amounts)
        return self._moved(name, held=hold), RunPeriod(name, hold)

    def charged(self, run: "RunPeriod", price: Amount) -> "tuple[PeriodsState, RunPeriod]":
        """Tell the state after a charge of a run that holds so much.

        Raises:
            NoRoom: it does not fit the hold.
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
        """Take what books that were closed say a period spent in them; it counts on top of what is known here.

        Raises:
            LedgerViolation: more is spent than the cap.
        """
        moved = self._moved(name, spent=spent)
        if moved.remaining.main < 0 or moved.remaining.delta < 0:
            raise LedgerViolation("more was spent in a period than its cap")
        return moved

    def closed(self, run: "RunPeriod") -> "PeriodsState":
        """Tell the state after a run ended: what it held and did not charge returns."""
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
    """What a run holds of its period's cap, and charged; of every period's where `name` is None."""

    name: str | None
    hold: Amount
    charged: Amount = _NOTHING

    @property
    def left(self) -> Amount:
        """Held and not charged."""
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
    """What is spent and held of one period's cap, in its currency.

    Attributes:
        name: of the period; None: of all, by runs without a period.
        spent, held: by its runs.
    """

    name: str | None
    spent: Amount
    held: Amount


def fullest(states: list[PeriodsState]) -> PeriodsState | None:
    """A period in which as much is spent and held as in any of these; None: there are none."""
    used = [state.spent + state.held for state in states]
    if not used:
        return None
    most = Amount(max(amount.main for amount in used), max(amount.delta for amount in used))
    return replace(states[0], spent=most, held=_NOTHING)
