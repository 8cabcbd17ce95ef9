"""Price and predicted error of a run before a row is read, and the rows or the budget that a wanted error needs.

Nothing here opens a ledger or reads private rows; the number of private rows is public.

A case is an estimator with everything public about its input except the number of private rows and the budget, which a
planner varies. It uses the plan that the estimator's driver executes, and the noise of the same questions. Errors are
root mean squares for rows of the law that the estimator is made for.
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
"""Rows of the largest table that is planned for, if a method has no limit of its own."""


@dataclass(frozen=True)
class Predicted:
    """A predicted root mean square error.

    Attributes:
        relative, own_sd: units that several estimators use.
        of: the number that is estimated.
        unit: unit of the errors.
        sampling, privacy: the two parts of the error; their squares add up.
        non_private: error of the best non-private estimate from the same rows.
        public_only: error of an estimate from the public rows alone; None if they are too few for one.
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
        """Both parts combined: the root of their sum of squares."""
        return math.hypot(self.sampling, self.privacy)


@dataclass(frozen=True)
class Forecast:
    """The predicted plan and errors of a run.

    Attributes:
        plan: plan of the run.
        errors: predicted errors; a wanted error refers to the first one.
        apart: bound on the root mean square of the total variation distance between a released component and the true
            one; see `variation`. None: it is not predicted.
    """

    plan: Plan
    errors: tuple[Predicted, ...]
    apart: float | None = None


def variation(mean: float, covariance: float = 0.0) -> float:
    """Bound the total variation distance of two close Gaussians by the distances of their parameters.

    sqrt(mean^2 + covariance^2) / 2, from Pinsker's inequality (Arbas, Ashtiani and Liaw 2023, fact A.3, lemma A.4).

    Args:
        mean: Mahalanobis distance of the means.
        covariance: relative distance of the covariances, in Frobenius norm.
    """
    return min(1.0, math.hypot(mean, covariance) / 2)


class Case(Protocol):
    """An estimator with everything that is public about its input."""

    @property
    def d(self) -> int:
        """Number of columns that are estimated."""

    @property
    def m(self) -> int:
        """Number of public rows."""

    @property
    def most_rows(self) -> int:
        """Rows of the largest table that the method accepts."""

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict a run on n private rows with this purse."""

    def feasible(self, n: int, purse: Purse) -> bool:
        """Return whether the answers of that run are likely to exceed the noise."""

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Return the assumptions of that run's forecast."""

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Return the sample sizes that theorems about this estimator require."""


@dataclass(frozen=True)
class CaseOverAnother:
    """Base of cases made from another case: the same columns, public rows and theorems.

    Attributes:
        case: the other case.
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
        """Give the most rows that the other case accepts."""
        return self.case.most_rows

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the other case's theorems."""
        return self.case.theorems(terms)


@dataclass(frozen=True)
class Size:
    """The size of a public table that is not there yet: m rows of d columns."""

    m: int
    d: int


@dataclass(frozen=True)
class _PlannedQuestion:
    """One question of the plan.

    Attributes:
        label: as the ledger will show it.
        question: kind of question.
        share: share of the run's budget.
        price: in the run's currency, exact.
    """

    label: str
    question: str
    share: float
    price: str


@dataclass(frozen=True)
class _Enough:
    """What would suffice: the fewest rows at this budget, and the smallest budget for these rows; None: nothing."""

    rows: int | None
    budget: str | None

    def text(self) -> str:
        """Format as a phrase: `1,200 private rows at this budget, or a budget of zcdp:0.8 with these rows`."""
        ways = [f"{self.rows:,} private rows at this budget"] if self.rows else []
        ways += [f"a budget of {self.budget} with these rows"] if self.budget else []
        return ", or ".join(ways) or "nothing: no number of rows and no budget"


@dataclass(frozen=True)
class RunPlan:
    """Prices and predictions of a run, as `pubpriv plan` prints them.

    Attributes:
        n, d, m: numbers of private rows, columns and public rows.
        budget: as `parse_budget` reads it.
        guarantee: see `Budget.guarantee`.
        steps: questions with their prices.
        errors: see `Forecast`.
        feasible: whether the answers are likely to exceed the noise.
        enough: what would make the run feasible, if it is not.
        wanted: the wanted error, and what would reach it.
        notes: assumptions of the prediction.
        theorems: rows that theorems require for an error of at most `ALPHA`, except with probability `BETA`.
        practical: fewest private rows at which this run is predicted to come as close, in root mean square; None: no
            prediction, or no number of rows suffices.
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
        """Return the whole plan as `plan --json` prints it, numbers and texts by name."""
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


def make_plan(case: Case, n: int, budget: Budget, error: float | None = None) -> RunPlan:
    """Price and predict a run.

    Args:
        case: the estimator with everything public about its input.
        n: number of private rows.
        budget: of the run.
        error: upper limit wanted for the first of the forecast's errors.

    Raises:
        InvalidInput: the budget is too small to be split, or the wanted error is not positive.
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
    return RunPlan(
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
    """Say what a pure run is charged on a dataset whose budget is of another kind."""
    if budget.noise_law == "gaussian":
        return ()
    rho, mu = (cap.price_pure(Fraction(budget.cap.main, UNIT)).main / UNIT for cap in _CAPS)
    note = (
        f"a dataset with a zcdp budget is charged {rho:.2g} rho for this run, and one with an approx budget {mu:.2g} "
        "mu^2: that is expensive, for Gaussian noise of such a price is much smaller"
    )
    return (note,)


_CAPS = ZeroConcentratedDP(1), ApproximateDP(1, "1e-6")
"""One budget of each kind that prices pure steps without regard to its own size."""


def _enough(case: Case, does: Callable[[int, Purse], bool], n: int, budget: Budget) -> _Enough:
    """Find the fewest rows at `budget` and the smallest budget at n rows for which `does` holds, to about 2%."""
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
    """Find the fewest rows at which a run is predicted to be as close to the truth as the theorems promise."""

    def near(n: int, purse: Purse) -> bool:
        apart = case.forecast(n, purse).apart
        return apart is not None and apart <= ALPHA and case.feasible(n, purse)

    return _enough_rows(case, near, budget)


def _reaches(case: Case, error: float) -> Callable[[int, Purse], bool]:
    """Test whether a run is feasible and its first error is at most `error`."""
    return lambda n, purse: case.feasible(n, purse) and case.forecast(n, purse).errors[0].error <= error


def _holds(does: Callable[[int, Purse], bool], n: int, purse: Purse) -> bool:
    try:
        return does(n, purse)
    except InvalidInput:  # the budget is too small to be split over the steps
        return False


def least_where(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """Find the least value from `low` on for which `holds` is true, to 1%, by bisection in the logarithm.

    None: it is false even at `high`.
    """
    if not holds(high):
        return None
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _up(value: float, digits: int) -> float:
    """Round up to this many significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit) * unit
