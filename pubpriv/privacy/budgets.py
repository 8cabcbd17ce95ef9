"""The three kinds of budget, what each may hold in all, and amounts of it.

| kind | cap that is enforced | may be charged |
|---|---|---|
| `PureDP(epsilon)` | sum of epsilon | pure mechanisms |
| `ZeroConcentratedDP(rho)` | sum of rho | Gaussian at mu^2/2; pure at epsilon tanh(epsilon/2) |
| `ApproximateDP(epsilon, delta)` | sums of mu^2 and failure terms | Gaussian, sd >= 2^20; pure at its mu^2 |

Every cap holds although each charge may be chosen after seeing all answers before it; the proofs are in the
classes. Nothing here is a privacy-loss-distribution figure: those are no guarantee for adaptive charges.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from pubpriv.errors import InvalidInput
from pubpriv.privacy.conversions import epsilon_gaussian, epsilon_zcdp, mu_squared_units
from pubpriv.privacy.units import DELTA_UNIT, UNIT, Number, ceil_units, exact, floor_units, to_text

REPORT_DELTA = Fraction(1, 10**6)
"""delta at which a zCDP guarantee is also told as an epsilon."""


@dataclass(frozen=True, order=False)
class Amount:
    """So much of a budget: `main` in units of its currency (epsilon, rho or mu^2), `delta` in delta units.

    Raises:
        InvalidInput: anything but Python integers, which neither round nor overflow.
    """

    main: int
    delta: int = 0

    def __post_init__(self) -> None:
        if type(self.main) is not int or type(self.delta) is not int:
            raise InvalidInput("an amount is a whole number of units: a Python integer")

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.main + other.main, self.delta + other.delta)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.main - other.main, self.delta - other.delta)

    def fits(self, room: "Amount") -> bool:
        """Both parts fit."""
        return self.main <= room.main and self.delta <= room.delta

    def to_json(self) -> dict[str, str]:
        """Integers as decimal text."""
        return {"main": str(self.main), "delta": str(self.delta)}

    @classmethod
    def from_json(cls, data: dict[str, str]) -> "Amount":
        """What `to_json` wrote."""
        return cls(int(data["main"]), int(data["delta"]))


@dataclass(frozen=True)
class PureDP:
    """epsilon-DP.

    Filter: sums of epsilon under fully adaptive choice (basic composition; Rogers, Roth, Ullman, Vadhan 2016,
    theorem 3.6): for any transcript the likelihood ratio is a product of factors at most e^epsilon_i, and the
    ledger stops before their exponents sum past the cap. A Gaussian event has no finite epsilon: refused.
    """

    kind: ClassVar[str] = "pure"
    currency: ClassVar[str] = "epsilon"
    epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _not_tiny(exact(self.epsilon, "epsilon"), "epsilon"))

    @property
    def cap(self) -> Amount:
        """epsilon, rounded down."""
        return Amount(floor_units(Fraction(self.epsilon)))

    def describe(self) -> str:
        """`1-DP`."""
        return f"{_text(self.epsilon)}-DP (pure)"


@dataclass(frozen=True)
class ZeroConcentratedDP:
    """rho-zCDP.

    Filter: sums of rho under fully adaptive choice (Feldman and Zrnic 2021, theorem 3.1, per order of Renyi
    divergence): conditional on the transcript each answer satisfies D_a <= a rho_i for every order a, so
    exp((a-1) (loss - a sum rho_i)) is a supermartingale, and stopping before sum rho_i passes the cap bounds
    D_a by a rho for every a at once.
    """

    kind: ClassVar[str] = "zcdp"
    currency: ClassVar[str] = "rho"
    rho: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", _not_tiny(exact(self.rho, "rho"), "rho"))

    @property
    def cap(self) -> Amount:
        """rho, rounded down."""
        return Amount(floor_units(Fraction(self.rho)))

    def describe(self) -> str:
        """`0.5-zCDP`."""
        return f"{_text(self.rho)}-zCDP"


@dataclass(frozen=True)
class ApproximateDP:
    """(epsilon, delta)-DP, kept as Gaussian DP beside a reserve for failure terms.

    Cap: sum of mu^2 at most mu*^2, the largest for which a Gaussian mechanism at mu* is
    (epsilon, delta - failure_delta)-DP (Balle and Wang 2018), and sum of failure terms at most failure_delta.

    Filter: (i) if each answer, given the transcript, is mu_i-GDP and the ledger stops before sum mu_i^2
    passes mu*^2, the whole is mu*-GDP (Smith and Thakurta 2022: the transcript is a post-processing of a
    Brownian motion whose clock, sum mu_i^2, is stopped). (ii) A discrete Gaussian is within total variation
    t_i of a post-processed continuous one. Replace every answer by its continuous twin: both transcripts,
    on a table and on its neighbour, move by at most sum t_i, so for every set S, P(S) <= e^epsilon Q(S) +
    delta_GDP(epsilon) + (1 + e^epsilon) sum t_i. The ledger charges twice that as the failure term.

    Args:
        epsilon: positive.
        delta: in (0, 1).
        failure_delta: part of delta reserved for failure terms; default delta / 100.
    """

    kind: ClassVar[str] = "approx"
    currency: ClassVar[str] = "mu^2"
    epsilon: Number
    delta: Number
    failure_delta: Number | None = field(default=None)

    def __post_init__(self) -> None:
        epsilon, delta = exact(self.epsilon, "epsilon"), exact(self.delta, "delta")
        if delta >= 1:
            raise InvalidInput(f"delta must be below 1, not {_text(delta)}")
        failure = delta / 100 if self.failure_delta is None else exact(self.failure_delta, "failure_delta")
        if failure >= delta:
            raise InvalidInput("failure_delta must be below delta")
        if epsilon > 700:
            raise InvalidInput("epsilon above 700 protects nobody")
        _not_tiny(epsilon, "epsilon")
        for name, value in (("epsilon", epsilon), ("delta", delta), ("failure_delta", failure)):
            object.__setattr__(self, name, value)
        if self.cap.main < 1 or self.cap.delta < 1:
            raise InvalidInput(f"{self.describe()} is too small to be counted")

    @property
    def cap(self) -> Amount:
        """mu*^2 and the failure reserve, both rounded down."""
        delta, failure = Fraction(self.delta), Fraction(self.failure_delta or 0)
        return Amount(mu_squared_units(Fraction(self.epsilon), delta - failure), floor_units(failure, DELTA_UNIT))

    def describe(self) -> str:
        """`(4, 1e-06)-DP`."""
        return f"({_text(self.epsilon)}, {float(self.delta):g})-DP"


Budget = PureDP | ZeroConcentratedDP | ApproximateDP
GRAMMAR = "pure:EPSILON, zcdp:RHO or approx:EPSILON,DELTA (for example zcdp:0.5 or approx:1,1e-6)"


def parse_budget(text: str) -> Budget:
    """The budget that `text` writes: `pure:1`, `zcdp:0.5`, `approx:1,1e-6`.

    Raises:
        InvalidInput: anything else, with the grammar.
    """
    kind, _, numbers = text.strip().partition(":")
    values = [part.strip() for part in numbers.split(",")]
    makers: dict[tuple[str, int], type[Any]] = {
        ("pure", 1): PureDP,
        ("zcdp", 1): ZeroConcentratedDP,
        ("approx", 2): ApproximateDP,
    }
    maker = makers.get((kind.strip().lower(), len(values)))
    if maker is None or not all(values):
        raise InvalidInput(f"a budget is written {GRAMMAR}, not {text!r}")
    budget: Budget = maker(*values)
    return budget


def budget_to_json(budget: Budget) -> dict[str, str]:
    """Exact, with an explicit tag."""
    names = {"pure": ("epsilon",), "zcdp": ("rho",), "approx": ("epsilon", "delta", "failure_delta")}[budget.kind]
    return {"kind": budget.kind, **{name: str(Fraction(getattr(budget, name))) for name in names}}


def budget_from_json(data: dict[str, str]) -> Budget:
    """What `budget_to_json` wrote."""
    values = {name: Fraction(value) for name, value in data.items() if name != "kind"}
    maker: Any = {"pure": PureDP, "zcdp": ZeroConcentratedDP, "approx": ApproximateDP}[data["kind"]]
    budget: Budget = maker(**values)
    return budget


_STEPS = {"pure": 1, "zcdp": 1, "approx": 2}
"""Prices are multiples of so many units."""


@dataclass(frozen=True)
class Purse:
    """A method's share of an all-Gaussian run, to be split over its steps.

    Attributes:
        units: integer units of the run's currency.
        kind: of the run's allotment.
    """

    units: int
    kind: str

    def split(self, shares: list[Fraction]) -> list[Fraction]:
        """Squared distances (mu^2) that the steps may cost: integer units each, the last takes the rest."""
        step = _STEPS[self.kind]
        parts = [int(self.units * share) // step * step for share in shares[:-1]]
        parts.append(self.units // step * step - sum(parts))
        if min(parts) < 1:
            raise InvalidInput("the budget is too small to be split over the steps of this method")
        return [self.squared_distance(part) for part in parts]

    def squared_distance(self, units: int) -> Fraction:
        """mu^2 that `units` pay for: 2 rho under zCDP; units of mu^2 are paid in twos (`events.price`)."""
        return Fraction(2 * units if self.kind == "zcdp" else units // 2 * 2, UNIT)

    @property
    def rho(self) -> float:
        """mu^2 / 2 of the whole purse, for predictions."""
        return float(self.squared_distance(self.units)) / 2


def guarantee(budget: Budget, all_gaussian: bool = True) -> dict[str, Any]:
    """The guarantee of `budget` for a report: plain numbers, and a sentence.

    For a zCDP budget the implied epsilon at delta = 1e-6 is given twice: as any rho-zCDP release guarantees
    (Canonne-Kamath-Steinke), and as an all-Gaussian run does (Balle-Wang, mu^2 = 2 rho).
    """
    told: dict[str, Any] = {"kind": budget.kind, "text": budget.describe()}
    if isinstance(budget, PureDP):
        return told | {"epsilon": float(budget.epsilon)}
    if isinstance(budget, ApproximateDP):
        return told | {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    rho, delta = Fraction(budget.rho), float(REPORT_DELTA)
    implied = epsilon_zcdp(rho, REPORT_DELTA)
    told |= {"rho": float(rho), "delta": delta, "epsilon": implied}
    told["text"] += f", which implies ({implied:.4g}, {delta:g})-DP"
    if all_gaussian:
        told["epsilon_all_gaussian"] = epsilon_gaussian(2 * rho, REPORT_DELTA)
        told["text"] += f"; all noise being Gaussian, ({told['epsilon_all_gaussian']:.4g}, {delta:g})-DP"
    return told


def amount_text(budget: Budget, amount: Amount) -> str:
    """`0.25 rho`, or `0.7 mu^2`, exact."""
    return f"{to_text(amount.main)} {budget.currency}"


def _not_tiny(value: Fraction, name: str) -> Fraction:
    if ceil_units(value) > floor_units(value) == 0:
        raise InvalidInput(f"{name} must be at least {1 / UNIT:g}")
    return value


def _text(value: Number) -> str:
    return f"{float(Fraction(value)):.6g}"
