"""Base class of all kinds of budget; each kind has a module of its own."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets.amounts import Amount
from pubpriv.privacy.events import Event, GaussianEvent, ThresholdEvent
from pubpriv.privacy.units import UNIT, ceil_units, exact, floor_units, to_text

REPORT_DELTA = Fraction(1, 10**6)
"""The delta at which a zCDP guarantee is also given as an epsilon."""


class Budget(ABC):
    """A budget of one kind: its promise, the price of events, and its text.

    A kind is a frozen dataclass of exact fractions. All amounts that it returns are rounded against the spender.

    Attributes:
        kind: name in files, ledgers and on the command line.
        currency: name of the quantity that adds up (epsilon, rho or mu^2).
        parameters: fields that are written on the command line, the size of the budget first.
        gaussian_units: units of the currency that a Gaussian costs for each unit of rho; 0: Gaussians have no price.
        noise_law: law of the noise of runs with such an allotment: `gaussian` or `radial`.
        searched: range of sizes in which `plan` looks for a large enough budget.
    """

    kind: ClassVar[str]
    currency: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]
    gaussian_units: ClassVar[int]
    noise_law: ClassVar[str] = "gaussian"
    searched: ClassVar[tuple[float, float]]

    def __post_init__(self) -> None:
        """Make the size (epsilon or rho) exact.

        Raises:
            InvalidInput: the size is less than one unit, or not a number; see `units.exact`.
        """
        name = self.parameters[0]
        size = exact(getattr(self, name), name)
        if ceil_units(size) > floor_units(size) == 0:
            raise InvalidInput(f"{name} must be at least {1 / UNIT:g}")
        object.__setattr__(self, name, size)

    # -- the promise

    @property
    @abstractmethod
    def cap(self) -> Amount:
        """The most that may be spent in all, rounded down."""

    @property
    @abstractmethod
    def report_delta(self) -> Fraction:
        """The delta at which amounts are given as epsilon; 0 if amounts are epsilons already."""

    @abstractmethod
    def describe(self) -> str:
        """Return the promise in short, for example `0.5-zCDP`."""

    @abstractmethod
    def as_epsilon(self, amount: Amount) -> float:
        """Return the epsilon that `amount` guarantees at `report_delta`, rounded up.

        For a cap or an allotment this is its guarantee. For the amount spent so far it is only a figure, not a
        guarantee (only the cap is): if charging continues, stopping when the figure looks good is a choice made
        after seeing answers.
        """

    @abstractmethod
    def guarantee(self, events: Sequence[Event] = ()) -> dict[str, Any]:
        """Return the promise as plain numbers and a sentence: the part of a report that people sign.

        Args:
            events: all charges of a run, if this is a run's budget and they are known.
        """

    @classmethod
    @abstractmethod
    def variation_bounds(cls, guarantee: Mapping[str, Any], all_gaussian: bool) -> list[float]:
        """Return bounds on the total variation between releases of two neighbours, other than that of (epsilon, delta).

        Args:
            guarantee: result of `guarantee`.
            all_gaussian: all charges under the guarantee are known, and Gaussian.
        """

    # -- prices of events

    def price(self, event: Event) -> Amount:
        """Return the price of `event` in this currency, exact, rounded up and never zero.

        Raises:
            InvalidInput: the event has no price in this kind of budget.
        """
        if isinstance(event, ThresholdEvent):
            return self.price_threshold(event)
        return self.price_gaussian(event) if isinstance(event, GaussianEvent) else self.price_pure(event.epsilon)

    def price_threshold(self, event: ThresholdEvent) -> Amount:  # noqa: ARG002 - a kind that has a delta prices it
        """Refuse counts released above a threshold: they may fail, and this kind of budget has no delta for that.

        Raises:
            InvalidInput: always, in a kind without a delta.
        """
        raise InvalidInput(
            "cells that nobody named beforehand are released above a threshold, which fails with a small chance, and "
            f"{self.kind} DP has no delta to pay for that: use an approx budget for the ledger and for the run, or "
            "give public rows"
        )

    def tails_within(self, reserve: int) -> Fraction:  # noqa: ARG002
        """Return the sum of `ThresholdEvent.tail` that `reserve` (units of delta) pays for; 0 if they have no price."""
        return Fraction(0)

    def price_gaussian(self, event: GaussianEvent) -> Amount:
        """Return the price of Gaussian noise: rho = mu^2 / 2, rounded up to a unit, times `gaussian_units`.

        So mu^2 is rounded up to an *even* number of units: both currencies round at the same points, and `hold_on`
        needs no reserve.

        Raises:
            InvalidInput: Gaussian noise has no price in this kind of budget.
        """
        return Amount(self.gaussian_step() * ceil_units(event.squared_distance / 2))

    def price_pure(self, epsilon: Fraction) -> Amount:
        """Return the price of any epsilon-DP mechanism."""
        return Amount(ceil_units(self.pure_cost(epsilon)))

    @classmethod
    @abstractmethod
    def pure_cost(cls, epsilon: Fraction) -> Fraction:
        """Return an upper bound of the price of any epsilon-DP mechanism in this currency."""

    @classmethod
    @abstractmethod
    def pure_worth(cls, room: float) -> float:
        """Return roughly the largest epsilon whose `pure_cost` is `room`; the caller must check the price."""

    @classmethod
    def gaussian_step(cls) -> int:
        """Return `gaussian_units`.

        Raises:
            InvalidInput: Gaussians have no price.
        """
        if not cls.gaussian_units:
            raise InvalidInput(f"Gaussian noise has no price under {cls.kind} DP: use a zcdp or an approx budget")
        return cls.gaussian_units

    @classmethod
    def squared_distance(cls, units: int) -> Fraction:
        """Return the mu^2 that `units` pay for; see `price_gaussian`."""
        return Fraction(2 * (units // cls.gaussian_step()), UNIT)

    # -- how a run splits its allotment over the steps of a method

    @classmethod
    def split(cls, units: int, shares: Sequence[Fraction], crowd: Fraction = Fraction(1)) -> list[int]:  # noqa: ARG003
        """Split `units` into parts that are multiples of a price step; the last part takes the rest.

        Args:
            units: units of the whole.
            shares: shares of Gaussian steps.
            crowd: used if small shares cost more than their share; see `PureDP.split`.
        """
        step = cls.gaussian_step()
        parts = [int(units * share) // step * step for share in shares[:-1]]
        return [*parts, units // step * step - sum(parts)]

    @classmethod
    def part(cls, units: int, squared_distance: Fraction) -> int:
        """Return the number of units, of `units`, that pay for this squared distance."""
        return int(units * squared_distance / cls.squared_distance(units))

    @classmethod
    def divided(cls, squared_distance: float, shares: Sequence[float], crowd: float = 1.0) -> list[float]:  # noqa: ARG003
        """Split the squared distance of a whole run as `split` does, but unrounded, for predictions."""
        return [share * squared_distance for share in shares]

    # -- holds of runs

    def cap_since(self, registered: "Budget") -> Amount:  # noqa: ARG002 - a kind whose prices depend on it says how
        """Return the cap of this budget, raised from the first registered one, in whose terms charges are priced."""
        return self.cap

    def hold_on(self, ledger: "Budget", cap: Amount | None = None, room: Amount | None = None) -> Amount:  # noqa: ARG002
        """Convert this allotment to the ledger's currency, so that all charges that fit the allotment fit the hold.

        Runs charge Gaussians only, unless their allotment is pure (`PureDP.hold_on`). A Gaussian costs g r units of
        a currency, g its `gaussian_units` and r an integer, the same in every currency (`price_gaussian`). With g
        that of the allotment A and g' that of the ledger, charges within the allotment have sum g r_i <= A, hence
        sum g' r_i <= g' A / g, an integer, at most floor(g' A / g), which is the hold:

        - the same kind: A.
        - zcdp (g = 1) on approx (g' = 2): 2 A.
        - approx on zcdp: floor(A / 2).

        There is no slack, so a run may take the whole of a ledger of the other kind. Failure terms of a Gaussian
        shrink with its price, so a run reserves the part of the cap's failure reserve that its mu^2 is of the
        cap's mu^2, rounded down: parts of a whole, rounded down, never sum to more than the whole.

        Args:
            ledger: the dataset's budget.
            cap: the dataset's cap; default: that of `ledger`.
            room: the part of the cap that is left; default: all of it.

        Raises:
            InvalidInput: an allotment of this kind cannot be charged to this ledger, or rounds down to nothing.
        """
        if not ledger.gaussian_units:
            raise InvalidInput(
                f"a {self.kind} allotment cannot be charged to a {ledger.kind} ledger: its noise is Gaussian. "
                "Register the dataset with a zcdp or an approx budget, or give the run a pure allotment"
            )
        units = self.cap.main * ledger.gaussian_units // self.gaussian_units
        if units < 1:
            raise InvalidInput(f"{self.describe()} is too small to be counted in {ledger.currency}")
        cap = ledger.cap if cap is None else cap
        return Amount(units, units * cap.delta // cap.main)

    def how_many(self, ledger: "Budget", cap: Amount, room: Amount) -> int:
        """Count the runs with this allotment that can be opened in `room`, if none is closed before the next.

        All holds are equal, except those of a pure allotment on another kind of ledger: there the last needs no slack.

        Raises:
            InvalidInput: see `hold_on`.
        """
        least, usual = self.hold_on(ledger, cap, Amount(0)), self.hold_on(ledger, cap, cap)
        if not least.fits(room):
            return 0
        fitting = (room.main - least.main) // usual.main + 1
        return min(fitting, room.delta // usual.delta) if usual.delta else fitting

    @abstractmethod
    def texts_within(self, units: int, ledger: "Budget") -> list[str]:
        """Return texts of allotments of this kind whose hold on `ledger` should be at most `units`, best first."""

    def largest_within(self, units: int, ledger: "Budget") -> int:
        """Return the largest cap of an all-Gaussian allotment whose hold on `ledger` is at most `units` (`hold_on`)."""
        return ((units + 1) * self.gaussian_units - 1) // ledger.gaussian_units

    # -- texts

    def to_json(self) -> dict[str, str]:
        """Return exact JSON data, with an explicit tag."""
        values = {each.name: str(Fraction(getattr(self, each.name))) for each in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **values}

    def written(self, size: str | None = None) -> str:
        """Return the text that `parse_budget` reads, to six digits: `zcdp:0.5`.

        Args:
            size: write this epsilon or rho instead.
        """
        values = [f"{float(getattr(self, name)):g}" for name in self.parameters]
        return f"{self.kind}:{','.join([size or values[0], *values[1:]])}"

    def resized(self, size: float) -> Self:
        """Return the same budget with another epsilon or rho."""
        make: Any = type(self)
        resized: Self = make(f"{size:.12f}", *(getattr(self, name) for name in self.parameters[1:]))
        return resized

    def amount_text(self, amount: Amount) -> str:
        """Write an amount in this currency, exact: `0.25 rho`, or `0.7 mu^2`."""
        return f"{to_text(amount.main)} {self.currency}"

    @staticmethod
    def rounded_down(size: float) -> str:
        """Write an epsilon or a rho to six digits, rounded down."""
        return f"{Context(prec=6, rounding=ROUND_DOWN).create_decimal(Decimal(size)):f}"

    @abstractmethod
    def size_worth(self, rho: float) -> float:
        """Return roughly the smallest epsilon or rho, other parameters unchanged, that pays for Gaussians of `rho`.

        Raises:
            InvalidInput: Gaussians have no price here.
        """
