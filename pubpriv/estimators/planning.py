"""Price and predicted error of a run before a row is read, and the rows or the budget that a wanted error takes.

Nothing here opens a ledger or reads private rows; the number of private rows is public.

A case is an estimator with all that is public about its input, but for the number of private rows and the budget:
those a planner varies. It uses the plan that the estimator's driver executes, and the noise of the very questions it
asks. Errors are root mean squares for rows of the law that the estimator is made for.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Plan
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA, Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize
from pubpriv.ledger import event_of, name_of
from pubpriv.privacy.budgets import ApproximateDP, Budget, Purse, ZeroConcentratedDP
from pubpriv.privacy.units import UNIT

MOST_ROWS = 10**12
"""Rows of the largest table that is planned for, where a method takes any number."""


@dataclass(frozen=True)
class Predicted:
    """A root mean square error that is to be expected.

    Attributes:
        relative, own_sd: units that several estimators use.
        of: which number.
        unit: what the errors are measured in.
        sampling, privacy: its two parts; their squares add up.
        non_private: error of the best estimate without privacy, from the same rows.
        public_only: error of the public rows alone; None where they cannot estimate it.
    """

    relative: ClassVar[str] = "relative, Frobenius"
    own_sd: ClassVar[str] = "standard deviations of a column"

    of: str
    unit: str
    sampling: float
    privacy: float
    non_private: float
    public_only: float | None

    @property
    def error(self) -> float:
        """Both parts together."""
        return math.hypot(self.sampling, self.privacy)


@dataclass(frozen=True)
class Forecast:
    """A run that nobody has made yet.

    Attributes:
        plan: of the run.
        errors: the first one is what a planner is asked to bring down.
        apart: total variation distance, in root mean square, between a released component and the true one, at most;
            see `variation`. None: it is not predicted.
    """

    plan: Plan
    errors: tuple[Predicted, ...]
    apart: float | None = None


def variation(mean: float, covariance: float = 0.0) -> float:
    """Bound the total variation distance of two Gaussians that are not far apart, by the distances of their parameters.

    sqrt(mean^2 + covariance^2) / 2, from Pinsker's inequality (Arbas, Ashtiani and Liaw 2023, fact A.3, lemma A.4).

    Args:
        mean: Mahalanobis distance of the means.
        covariance: relative distance of the covariances, in Frobenius norm.
    """
    return min(1.0, math.hypot(mean, covariance) / 2)


class Case(Protocol):
    """An estimator and what is public about its input."""

    @property
    def d(self) -> int:
        """Number of columns that are estimated."""

    @property
    def m(self) -> int:
        """Number of public rows."""

    @property
    def most_rows(self) -> int:
        """Rows of the largest table that the method takes."""

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Return a run on n private rows with this purse."""

    def feasible(self, n: int, purse: Purse) -> bool:
        """Return whether that run is likely to tell more than noise."""

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Return what the forecast of that run assumes."""

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Return what theorems ask for that speak of this estimator."""


@dataclass(frozen=True)
class CaseOverAnother:
    """What a case has of the one that it is made of: the same columns and public rows, and what theorems say of them.

    Attributes:
        case: the other one.
    """

    case: Case

    @property
    def d(self) -> int:
        """Count the columns."""
        return self.case.d

    @property
    def m(self) -> int:
        """Count the public rows."""
        return self.case.m

    @property
    def most_rows(self) -> int:
        """Give as many as the other case takes."""
        return self.case.most_rows

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Say what the other case says."""
        return self.case.theorems(terms)


@dataclass(frozen=True)
class Size:
    """Public rows that nobody has seen: m of d columns."""

    m: int
    d: int


@dataclass(frozen=True)
class _PlannedQuestion:
    """One question to come.

    Attributes:
        label: as the ledger will show it.
        question: its kind.
        share: of the run's budget.
        price: in the run's currency, exact.
    """

    label: str
    question: str
    share: float
    price: str


@dataclass(frozen=True)
class _Enough:
    """What would do: the fewest rows at this budget, and the smallest budget with these rows; None: nothing would."""

    rows: int | None
    budget: str | None

    def text(self) -> str:
        """Say it within a sentence: `1,200 rows, or a budget of zcdp:0.8 with these rows`."""
        ways = [f"{self.rows:,} private rows at this budget"] if self.rows else []
        ways += [f"a budget of {self.budget} with these rows"] if self.budget else []
        return ", or ".join(ways) or "nothing: no number of rows and no budget"


@dataclass(frozen=True)
class _RunPlan:
    """What a run would cost and show.

    Attributes:
        n, d, m: private rows, columns, public rows.
        budget: as `parse_budget` reads it.
        guarantee: see `Budget.guarantee`.
        steps: questions with their prices.
        errors: see `Forecast`.
        feasible: whether the run would tell more than noise.
        enough: what would, if it would not.
        wanted: for a wanted error: that error, and what would reach it.
        notes: what the prediction assumes.
        theorems: what theorems ask for, to come within `ALPHA` of the truth but for a chance of `BETA`.
        practical: fewest private rows at which this run is predicted to come as near, in root mean square; None: it is
            not predicted, or no number of rows does.
    """

    n: int
    d: int
    m: int
    budget: str
    guarantee: dict[str, Any]
    steps: tuple[_PlannedQuestion, ...]
    forecast: Forecast
    feasible: bool
    enough: _Enough | None
    wanted: tuple[float, _Enough] | None
    notes: tuple[str, ...]
    theorems: tuple[SampleSize, ...]
    practical: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the whole plan as `plan --json` prints it: numbers and texts by name."""
        return {
            "rows": self.n,
            "columns": self.d,
            "public_rows": self.m,
            "budget": self.budget,
            "guarantee": self.guarantee,
            "steps": [asdict(step) for step in self.steps],
            "errors": [{**asdict(each), "error": each.error} for each in self.forecast.errors],
            "feasible": self.feasible,
            "feasible_from": None if self.enough is None else asdict(self.enough),
            "wanted": None if self.wanted is None else {"error": self.wanted[0], **asdict(self.wanted[1])},
            "notes": list(self.notes),
            "theorems": {
                "total_variation": ALPHA,
                "failure": BETA,
                "asked": [asdict(each) for each in self.theorems],
                "predicted": self.practical,
            },
        }


def make_plan(case: Case, n: int, budget: Budget, error: float | None = None) -> _RunPlan:
    """Price and predict a run.

    Args:
        case: the estimator and what is public about its input.
        n: private rows.
        budget: of the run.
        error: what the first of the forecast's errors should be at most.

    Raises:
        InvalidInput: a budget that is too small to be split, or an error that is not positive.
    """
    if error is not None and not 0 < error < math.inf:
        raise InvalidInput(f"a wanted error must be a positive number, not {error!r}")
    forecast = case.forecast(n, Purse.of(budget))
    events = [event_of(question) for question in forecast.plan.questions]
    whole = sum(ask.part for ask in forecast.plan.asks)
    steps = tuple(
        _PlannedQuestion(ask.label, name_of(question), ask.part / whole, budget.amount_text(budget.price(event)))
        for ask, question, event in zip(forecast.plan.asks, forecast.plan.questions, events, strict=True)
    )
    feasible = case.feasible(n, Purse.of(budget))
    wanted = None if error is None else (error, _enough(case, _reaches(case, error), n, budget))
    return _RunPlan(
        n=n,
        d=case.d,
        m=case.m,
        budget=budget.written(),
        guarantee=budget.guarantee(events),
        steps=steps,
        forecast=forecast,
        feasible=feasible,
        enough=None if feasible else _enough(case, case.feasible, n, budget),
        wanted=wanted,
        notes=(*case.notes(n, budget), *_elsewhere(budget)),
        theorems=case.theorems(Terms.of(budget)),
        practical=_practical(case, budget),
    )


def _elsewhere(budget: Budget) -> tuple[str, ...]:
    """What a pure run is charged on a dataset whose budget is of another kind."""
    if budget.noise_law == "gaussian":
        return ()
    rho, mu = (cap.price_pure(Fraction(budget.cap.main, UNIT)).main / UNIT for cap in _CAPS)
    note = (
        f"a dataset with a zcdp budget is charged {rho:.2g} rho for this run, and one with an approx budget {mu:.2g} "
        "mu^2: that is expensive, for Gaussian noise of such a price is much smaller"
    )
    return (note,)


_CAPS = ZeroConcentratedDP(1), ApproximateDP(1, "1e-6")
"""Budgets of the kinds whose prices of pure steps do not depend on their size."""


def _enough(case: Case, does: Callable[[int, Purse], bool], n: int, budget: Budget) -> _Enough:
    """The fewest rows at `budget` and the smallest budget at n rows for which `does` holds, to about 2%."""
    size = least_where(lambda value: _holds(does, n, Purse.of(budget.resized(value))), *budget.searched)
    return _Enough(
        _enough_rows(case, does, budget),
        None if size is None else budget.resized(_up(size, 2)).written(),
    )


def _enough_rows(case: Case, does: Callable[[int, Purse], bool], budget: Budget) -> int | None:
    purse = Purse.of(budget)
    rows = least_where(lambda value: _holds(does, math.ceil(value), purse), 2.0, case.most_rows)
    return None if rows is None else math.ceil(_up(rows, 3))


def _practical(case: Case, budget: Budget) -> int | None:
    """The fewest rows at which a run is predicted to be as near to the truth as the theorems promise."""

    def near(n: int, purse: Purse) -> bool:
        apart = case.forecast(n, purse).apart
        return apart is not None and apart <= ALPHA and case.feasible(n, purse)

    return _enough_rows(case, near, budget)


def _reaches(case: Case, error: float) -> Callable[[int, Purse], bool]:
    """A feasible run whose first error is at most `error`."""
    return lambda n, purse: case.feasible(n, purse) and case.forecast(n, purse).errors[0].error <= error


def _holds(does: Callable[[int, Purse], bool], n: int, purse: Purse) -> bool:
    try:
        return does(n, purse)
    except InvalidInput:  # too little to be split over the steps
        return False


def least_where(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """Find the least value from `low` on that `holds`, to 1%, by bisection in the logarithm; None: not even `high`."""
    if not holds(high):
        return None
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _up(value: float, digits: int) -> float:
    """Rounded up to so many digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit) * unit
