"""What each estimator would ask, and how far its answers would be off, before a private row is read.

A case is an estimator with all that is public about its input, but for the number of private rows and the budget:
those a planner varies. It uses the plan that the estimator's driver executes, and the noise of the very questions it
asks. Errors are root mean squares for rows of the law that the estimator is made for.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from pubpriv.data.frames import Frame
from pubpriv.data.questions import Question
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.gaussian import mean_plan
from pubpriv.gaussian import plan as learner_plan
from pubpriv.gaussian.auto import compares, table_plan, table_rehearsal
from pubpriv.gaussian.awkward import Layout, examine
from pubpriv.gaussian.clipping import length_quantile, moment_constants
from pubpriv.gaussian.errors import predicted_errors
from pubpriv.gaussian.errors_mean import two_step_errors
from pubpriv.gaussian.mean import feasible as mean_feasible
from pubpriv.gaussian.moments import loud_radius, quantile_question
from pubpriv.gaussian.preconditioner import precondition
from pubpriv.gaussian.ranks import Whole
from pubpriv.plans import Plan
from pubpriv.privacy.budgets import Budget, Purse

RELATIVE = "relative, Frobenius"
OWN_SD = "standard deviations of a column"


@dataclass(frozen=True)
class Predicted:
    """A root mean square error that is to be expected.

    Attributes:
        of: which number.
        unit: what the errors are told in.
        sampling, privacy: its two parts; their squares add up.
        non_private: error of the best estimate without privacy, from the same rows.
        public_only: error of the public rows alone; None where they cannot estimate it.
    """

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
        plan: labels and prices.
        questions: of the sizes and prices to come, about nothing, in the order of the plan.
        errors: the first one is what a planner is asked to bring down.
    """

    plan: Plan
    questions: tuple[Question, ...]
    errors: tuple[Predicted, ...]


class Case(Protocol):
    """An estimator and what is public about its input."""

    d: int
    m: int

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """A run on n private rows with this purse."""

    def feasible(self, n: int, purse: Purse) -> bool:
        """Whether that run is likely to tell more than noise."""

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """What the forecast of that run assumes."""


@dataclass(frozen=True)
class MeanCase:
    """`estimate_mean` by its default method, for d columns and m public rows."""

    d: int
    m: int

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Two steps, combined with the public mean."""
        plan = mean_plan.make_plan(purse, n, self.d, self.m)
        weights, _ = mean_plan.combined(*plan.steps, n, 1 / self.m)
        own, noise = two_step_errors(plan, weights, (plan.steps[0].privacy, plan.steps[1].privacy))
        told = Predicted("mean", OWN_SD, own, noise, 1 / math.sqrt(n), 1 / math.sqrt(self.m))
        return Forecast(plan, tuple(mean_plan.rehearsal(plan)), (told,))

    def feasible(self, n: int, purse: Purse) -> bool:
        """As the driver decides."""
        return mean_feasible(mean_plan.predicted_error(n, self.d, self.m, purse.rho), self.m)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Of a mean."""
        return ("rows are Gaussian with the covariance that is given, public ones are drawn from the same law",)


@dataclass(frozen=True)
class GaussianCase:
    """`estimate_gaussian` by the learner.

    Attributes:
        layout: of the columns; awkward ones have a scale of their own.
        m: public rows.
        target: `auto`, `gaussian` or `moments`.
    """

    layout: Layout
    m: int
    target: str

    @classmethod
    def of(cls, public: PublicTable, target: str, scale: dict[str, float]) -> "GaussianCase":
        """From public rows, which are checked as the driver checks them."""
        if target == "gaussian":
            precondition(public)
            return cls(plain_layout(len(public.columns), public.columns), len(public.rows), target)
        return cls(examine(public, scale), len(public.rows), target)

    @classmethod
    def sized(cls, d: int, m: int, target: str) -> "GaussianCase":
        """For m public rows of d columns that nobody has seen: none is taken to be awkward."""
        if m < d + 1:
            raise InvalidInput(
                f"a covariance of {d} columns needs at least {d + 1} public rows, not {m}: give more public rows, "
                "or ask for fewer columns"
            )
        return cls(plain_layout(d), m, target)

    @property
    def d(self) -> int:
        """Columns."""
        return self.layout.dimension

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Rounds, quantiles if the target takes them, and the last release."""
        if self.target == "gaussian":
            plan = learner_plan.make_plan(purse, n, self.d)
            questions = learner_plan.rehearsal(plan, self.d)
        else:
            plan = table_plan(purse, n, self.layout, self.target)
            questions = table_rehearsal(plan, self.layout)
        return Forecast(plan, tuple(questions), self._errors(n, plan))

    def feasible(self, n: int, purse: Purse) -> bool:
        """As the driver decides."""
        return learner_plan.feasible(n, self.d, purse.rho)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Of a Gaussian."""
        law = "the error is that for Gaussian rows; tables with long tails have larger ones"
        return (law, *self.layout.notes())

    def _errors(self, n: int, plan: Plan) -> tuple[Predicted, ...]:
        d, m = self.d, self.m
        if self.target == "gaussian" or compares(self.layout, self.target):
            told = predicted_errors(plan, n, d)
            noise = told["covariance_noise"], told["mean_noise"]
            own = math.sqrt(told["covariance"] ** 2 - noise[0] ** 2), math.sqrt(told["mean"] ** 2 - noise[1] ** 2)
            bias = 0.0
        else:
            own = math.sqrt(d * (d + 1) / n), math.sqrt(d / n)
            noise, bias = self._table_noise(n, plan)
        entries = math.sqrt(d * (d + 1) / 2)
        public = math.sqrt(d * (d + 1) / (m - 1)), math.sqrt(d / m)
        best = math.sqrt(d * (d + 1) / n), math.sqrt(d / n)
        parts = [*zip(own, noise, best, public, strict=True)]
        return (
            Predicted("covariance", RELATIVE, math.hypot(own[0], bias * math.sqrt(d)), *parts[0][1:]),
            Predicted("mean", "Mahalanobis", *parts[1]),
            Predicted(
                "variance of a column",
                "relative",
                math.hypot(own[0] / entries, bias),
                *(part / entries for part in parts[0][1:]),
            ),
            Predicted("mean of a column", OWN_SD, *(part / math.sqrt(d) for part in parts[1])),
        )

    def _table_noise(self, n: int, plan: Plan) -> tuple[tuple[float, float], float]:
        """Of covariance and mean, clipped at the quantile of |w| that Gaussian rows have; and what clipping takes."""
        d, final = self.d, plan.ask("gaussian/final")
        frame = Frame((0.0,) * d)
        asked = quantile_question(frame, None, Whole(n, 0.0), 1.0, plan.ask("gaussian/quantile-reach"))
        radius = min(length_quantile(d, asked.rank / n), loud_radius(frame, n, final))
        noise = learner_plan.joint_question(frame, radius, learner_plan.final_theta(d), final).noise()
        moment, total = (float(noise[part].max()) / n for part in ("moment", "sum"))
        return (moment * math.sqrt(d * (d + 1) / 2), total * math.sqrt(d)), 1 - moment_constants(d, radius).level


def plain_layout(d: int, columns: tuple[str, ...] = ()) -> Layout:
    """d columns, none of them awkward as far as is known."""
    names = columns or tuple(f"x{i}" for i in range(d))
    return Layout(names, (0.0,) * d, tuple(range(d)), ())
