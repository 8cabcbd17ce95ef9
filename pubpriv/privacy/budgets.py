"""The three kinds of budget, what each may hold in all, and amounts of it.

| kind | cap that is enforced | may be charged |
|---|---|---|
| `PureDP(epsilon)` | sum of epsilon | pure mechanisms |
| `ZeroConcentratedDP(rho)` | sum of rho | Gaussian at mu^2/2; pure at epsilon tanh(epsilon/2) |
| `ApproximateDP(epsilon, delta)` | sums of mu^2 and failure terms | Gaussian, sd >= 2^20; pure at its mu^2 |

Every cap holds although each charge may be chosen after seeing all answers before it; the proofs are in the
classes. Nothing here is a privacy-loss-distribution figure: those are no guarantee for adaptive charges.

What the proofs rest on. Fix two neighbouring tables, and let P and Q be the laws of the transcript on them:
all charges of a dataset in the order of its chain, with their answers.

- *Whoever asks sees everything.* Labels, questions, noise scales, the order, how runs interleave, when one
  stops: any function of the transcript so far and of randomness of their own.
- *The price comes first.* It is worked out from the stored question alone and appended, in one transaction at
  a time per dataset, before a row is read. So the price of charge i is fixed by the transcript before answer i.
- *The stopping rule is a refusal.* A charge that would carry a sum past the cap is refused, and a refusal is a
  function of prices. Sums are of integers, costs rounded up and caps down, so on **every** transcript the sum
  of true costs is at most the cap. A price is at least one unit, so every transcript is finite.
- *Late answers.* Of concurrent runs one may charge while the answer of another is still out. Draw that answer
  when it is charged and show it later: the law is the same, and later questions merely know less.
- *Resuming.* A charge is resumed with its stored question. Several attempts may draw, at most one draw is
  published, and which one does not depend on its value; so the transcript has one answer per charge.
- *Holds* only refuse more: a charge is taken from its run's hold, and spent and held together fit the cap.

- *Raising* a cap replaces the promise: from then on the raised cap is what holds, for old answers too. Who
  raises because of what answers said is bound by the largest cap they would ever have agreed to.

The same argument over the charges of one run, everything else given, makes its allotment the bound on what
that run adds.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from pubpriv.errors import InvalidInput
from pubpriv.privacy.conversions import mu_squared_units
from pubpriv.privacy.units import (
    DELTA_UNIT,
    UNIT,
    Number,
    ceil_units,
    exact,
    floor_units,
    stored_fraction,
    stored_integer,
    to_text,
)

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
        """What `to_json` wrote.

        Raises:
            ValueError: it is anything but decimal digits.
        """
        return cls(stored_integer(data["main"]), stored_integer(data["delta"]))


@dataclass(frozen=True)
class PureDP:
    """epsilon-DP.

    Filter: sums of epsilon under fully adaptive choice (Rogers, Roth, Ullman and Vadhan 2016, theorem 3.6).

    Proof. For a transcript t with answers a_1, ..., a_k, P(t) / Q(t) is the product of
    P(a_i | before) / Q(a_i | before): choices are made alike on both tables and cancel. Factor i is at most
    e^epsilon_i, where epsilon_i is fixed by what was before. Their product is at most e^(sum epsilon_i), and the
    sum is at most epsilon on every transcript. Summing over the transcripts of a set S: P(S) <= e^epsilon Q(S).

    A Gaussian event has no finite epsilon: refused.
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

    Filter: sums of rho under fully adaptive choice (Feldman and Zrnic 2021, theorem 3.1, order by order).

    Proof. Fix an order a > 1. Given what was before, answer i satisfies D_a(P_i || Q_i) <= a rho_i, that is
    E_Q[(P_i / Q_i)^a | before] <= exp((a - 1) a rho_i), and rho_i is fixed by what was before. Hence
    (likelihood ratio of the first k answers)^a exp(-(a - 1) a (rho_1 + ... + rho_k)) is a supermartingale under
    Q that starts at 1. At the end, which comes after finitely many steps, its mean is at most 1; the sum there
    is at most rho on every transcript, so E_Q[(P / Q)^a] <= exp((a - 1) a rho): D_a(P || Q) <= a rho. The cap
    does not depend on a, so this holds for all orders at once, which is rho-zCDP; exchange P and Q for the rest.

    Charged are discrete Gaussians at squared_distance / 2, which is exact for them (Canonne, Kamath and Steinke
    2020: coordinates are independent and their divergences add), and epsilon-DP steps at epsilon tanh(epsilon/2),
    the largest D_a / a of randomised response, reached as a falls to 1. There are no failure terms: what needs
    one is no zCDP event.
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

    Filter, in two parts: sums of mu^2 for continuous noise (Smith and Thakurta 2022), then discreteness.

    Proof. (i) Let each answer, given what was before, be mu_i-GDP. By Blackwell's theorem it is then a random
    function, on our fixed pair of tables, of one draw that is N(0, 1) on one table and N(mu_i, 1) on the other;
    equally of the increment of B_s = W_s + h s over a time mu_i^2, W a Brownian motion and h = 0 on one table,
    1 on the other. Let answer i use the path from s_i = mu_1^2 + ... + mu_(i-1)^2 to s_i + mu_i^2: both ends are
    fixed by the transcript before it, and increments beyond s_i are independent of the path up to there. So the
    whole transcript is a random function of the path up to the time mu*^2, which no sum passes. Of that path the
    end B(mu*^2) is sufficient for h, and its two laws are those of mu*-GDP: so is the transcript.

    (ii) A discrete Gaussian is within total variation t_i of a rounded continuous one (`GaussianEvent`), whose
    answer is mu_i-GDP. Replace every answer by this twin, coupled so that each step, while all before agree,
    disagrees with probability t_i. As t_1 + t_2 + ... <= T on every transcript, on either table the transcript
    moves by at most T in total variation. For every set S then P(S) <= P'(S) + T <= e^epsilon Q'(S) +
    delta_GDP(epsilon) + T <= e^epsilon Q(S) + delta_GDP(epsilon) + (1 + e^epsilon) T, where
    delta_GDP(epsilon) <= delta - failure_delta by the choice of mu*. The ledger charges 2 (1 + e^epsilon) t_i as
    failure terms and keeps their sum within failure_delta; the factor two covers that t_i is a leading order.

    An epsilon-DP step is charged as mu-GDP at mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), the least whose
    trade-off function lies below the step's. rho-zCDP implies no mu: nothing is converted from there but Gaussians. A
    raised cap with another epsilon counts failure terms of the past at the new one (`events.cap_in`).

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
    values = {name: stored_fraction(value) for name, value in data.items() if name != "kind"}
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


def purse_of(budget: Budget) -> Purse:
    """All of a budget, for plans that are made before a run has begun."""
    return Purse(budget.cap.main, budget.kind)


def amount_text(budget: Budget, amount: Amount) -> str:
    """`0.25 rho`, or `0.7 mu^2`, exact."""
    return f"{to_text(amount.main)} {budget.currency}"


def _not_tiny(value: Fraction, name: str) -> Fraction:
    if ceil_units(value) > floor_units(value) == 0:
        raise InvalidInput(f"{name} must be at least {1 / UNIT:g}")
    return value


def _text(value: Number) -> str:
    return f"{float(Fraction(value)):.6g}"
