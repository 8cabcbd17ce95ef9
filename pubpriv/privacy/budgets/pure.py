"""Pure DP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

from pubpriv.privacy.budgets.amounts import Amount
from pubpriv.privacy.budgets.budget import Budget
from pubpriv.privacy.events import Event
from pubpriv.privacy.units import UNIT, Number, floor_units, to_text

_SLACK = 4096
"""Units that are held in addition to the cost, because each charge is rounded up; see `hold_on`."""


@dataclass(frozen=True)
class PureDP(Budget):
    """epsilon-DP.

    Filter: sums of epsilon under fully adaptive choice (Rogers, Roth, Ullman and Vadhan 2016, theorem 3.6).

    Proof. For a transcript t with answers a_1, ..., a_k, P(t) / Q(t) is the product of
    P(a_i | before) / Q(a_i | before): choices are made alike on both tables and cancel. Factor i is at most
    e^epsilon_i, where epsilon_i is fixed by what was before. Their product is at most e^(sum epsilon_i), and the
    sum is at most epsilon on every transcript. Summing over the transcripts of a set S: P(S) <= e^epsilon Q(S).

    A Gaussian event has no finite epsilon: refused. Runs with such an allotment release with radial noise
    (`privacy._radial`), whose epsilon is the l2 distance of neighbours in units of its scale.

    Example:
        >>> import pubpriv as pp
        >>> pp.PureDP(1).describe()
        '1-DP (pure)'
    """

    kind: ClassVar[str] = "pure"
    currency: ClassVar[str] = "epsilon"
    parameters: ClassVar[tuple[str, ...]] = ("epsilon",)
    gaussian_units: ClassVar[int] = 0
    noise_law: ClassVar[str] = "radial"
    searched: ClassVar[tuple[float, float]] = (1e-3, 100.0)
    epsilon: Number

    @property
    def cap(self) -> Amount:
        """epsilon, rounded down."""
        return Amount(floor_units(Fraction(self.epsilon)))

    @property
    def report_delta(self) -> Fraction:
        """0: amounts are epsilons."""
        return Fraction(0)

    def describe(self) -> str:
        """Return `1-DP (pure)`."""
        return f"{float(self.epsilon):g}-DP (pure)"

    def as_epsilon(self, amount: Amount) -> float:
        """Return the amount itself: it is an epsilon."""
        return float(Fraction(amount.main, UNIT))

    def guarantee(self, events: Sequence[Event] = ()) -> dict[str, Any]:  # noqa: ARG002 - nothing smaller follows
        """Return the guarantee: epsilon, for any charges."""
        return {"kind": self.kind, "text": self.describe(), "epsilon": float(self.epsilon)}

    @classmethod
    def variation_bounds(cls, guarantee: Mapping[str, Any], all_gaussian: bool) -> list[float]:  # noqa: ARG003
        """Return no bounds: randomised response reaches that of (epsilon, 0)."""
        return []

    @classmethod
    def pure_cost(cls, epsilon: Fraction) -> Fraction:
        """Return epsilon itself."""
        return epsilon

    @classmethod
    def pure_worth(cls, room: float) -> float:
        """Return the room itself."""
        return room

    @classmethod
    def squared_distance(cls, units: int) -> Fraction:
        """Return the epsilon^2 that `units` pay for: a radial event rounds its epsilon up to one unit."""
        return Fraction(units, UNIT) ** 2

    @classmethod
    def split(cls, units: int, shares: Sequence[Fraction], crowd: Fraction = Fraction(1)) -> list[int]:
        """Return the part share^(2/3) / crowd of `units` for each share; the last part takes the rest.

        Shares are meant for Gaussian steps, whose variances fall with their part of rho: for a given sum of rho_i,
        sum a_i / rho_i is least if rho_i is proportional to a_i^(1/2). Variances of radial steps fall with epsilon_i^2,
        and sum a_i / epsilon_i^2 is least if epsilon_i is proportional to a_i^(1/3).

        The powers are not divided by their sum: a step's part must not depend on later steps, because some plans are
        made again when answers have decided what these are.
        """
        # to nine digits: on another machine powers may differ in the last digit, and a resumed run splits again
        powers = [Fraction(round(1e9 * float(share) ** (2 / 3)), 10**9) for share in shares[:-1]]
        parts = [int(units * power / crowd) for power in powers]
        return [*parts, units - sum(parts)]

    @classmethod
    def part(cls, units: int, squared_distance: Fraction) -> int:
        """Return epsilon, rounded down."""
        return min(units, isqrt(int(squared_distance * UNIT**2)))

    @classmethod
    def divided(cls, squared_distance: float, shares: Sequence[float], crowd: float = 1.0) -> list[float]:
        """Split as `split` does, but unrounded."""
        parts = [share ** (2 / 3) / crowd for share in shares[:-1]]
        return [squared_distance * part**2 for part in (*parts, max(1 - sum(parts), 0.0))]

    def hold_on(self, ledger: Budget, cap: Amount | None = None, room: Amount | None = None) -> Amount:
        """Convert this allotment to the ledger's currency; see `Budget.hold_on`.

        A pure charge of e costs f(e), f superadditive with f(0) = 0, so sum f(e_i) <= f(sum e_i); but each is
        rounded up by less than two units, so 4096 units are held in addition to f(A) if `room` has them. Pure charges
        that exceed the hold by rounding are refused before they are made. On a pure ledger f(e) = e, and both round in
        the same way.
        """
        main = ledger.price_pure(Fraction(self.epsilon)).main
        if ledger.kind == self.kind:
            return Amount(main)
        cap = ledger.cap if cap is None else cap
        spare = (cap if room is None else room).main - main
        return Amount(main + max(0, min(_SLACK, spare)))

    def texts_within(self, units: int, ledger: Budget) -> list[str]:
        """Return allotments: exact on a pure ledger; on others the inverse of a price, and slightly less."""
        if ledger.kind == self.kind:
            return [self.written(to_text(units))]
        guess = ledger.pure_worth(units / UNIT)
        return [self.written(self.rounded_down(guess * factor)) for factor in (1, 0.99999, 0.999)]

    def size_worth(self, rho: float) -> float:
        """Refuse: no epsilon pays for a Gaussian."""
        return rho / self.gaussian_step()
