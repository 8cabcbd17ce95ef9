"""Forecast of `estimate_gaussian`: its questions and its errors; see `planning`."""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.questions.stable import MOST_CELLS
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._cutting import core_end
from pubpriv.estimators.gaussian._degenerate_columns import Layout, examine
from pubpriv.estimators.gaussian._learner import (
    predicted_errors,
)
from pubpriv.estimators.gaussian._no_public import no_public_plan
from pubpriv.estimators.gaussian._plan import (
    LearnerPlan,
    TablePlan,
    feasible,
    learner_plan,
    shells_question,
    table_plan,
)
from pubpriv.estimators.gaussian._preconditioner import check_rows, precondition
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shell_reading import CoreRead, ShellMoments
from pubpriv.estimators.gaussian._shells import (
    RATIO,
    Cut,
    Histogram,
    histogram_edges,
    histogram_question,
    middle_squares,
)
from pubpriv.estimators.gaussian._table_moments import read_outside
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_gaussian
from pubpriv.privacy.budgets import Budget, Purse

_SHELLS = 8
"""Number of shells in an expected release: Gaussian rows are in the core and the first shell."""

_INCOMPLETE = (
    "the errors are those of a table without missing cells. If clearly fewer rows than all are whole, others are used "
    "by the cells that they have, in other questions at the same sum: 3% of it counts which cells are missing"
)


@dataclass(frozen=True)
class GaussianCase:
    """Case of `estimate_gaussian` by the learner.

    Attributes:
        layout: layout of the columns; degenerate ones have a scale of their own.
        m: number of public rows.
        target: `auto`, `gaussian` or `moments`.
        of_mean: whether only the mean is reported.
        estimates_missing: whether rows that lack cells are used.
    """

    layout: Layout
    m: int
    target: str
    of_mean: bool = False
    estimates_missing: bool = False

    most_rows = MOST_ROWS

    @classmethod
    def of(cls, public: PublicTable, target: str, scale: dict[str, float]) -> "GaussianCase":
        """Make the case from public rows, which are checked as by the driver."""
        if target == "gaussian":
            check_rows(*public.rows.shape)
            precondition(public)
            return cls(_plain_layout(len(public.columns), public.columns), len(public.rows), target)
        return cls(examine(public, scale), len(public.rows), target)

    @classmethod
    def sized(cls, d: int, m: int, target: str) -> "GaussianCase":
        """Make the case of m planned public rows of d columns; no column is assumed to be degenerate."""
        if target == "gaussian":
            check_rows(m, d)
        return cls(_plain_layout(d), m, target)

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.layout.dimension

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the rounds, the target's questions about the tail, and the last release."""
        if self.target == "gaussian":
            plan: LearnerPlan = learner_plan(purse, n, self.d)
        else:
            plan = table_plan(purse, n, self.layout, self.target, self.of_mean)
        errors = self.errors(n, plan)
        return Forecast(plan, errors, variation(errors[1].error, errors[0].error))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as the driver does."""
        return feasible(n, self.d, purse)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the errors assume, and which columns are degenerate."""
        law = "the error is that for Gaussian rows; tables with long tails have larger ones"
        rounds = "rounds end once one finds the rows settled; the final release then gets what the others would cost"
        return (law, rounds, *((_INCOMPLETE,) if self.estimates_missing else ()), *self.layout.notes())

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorems B.5 and B.12, and of methods without public rows."""
        return for_gaussian(self.d, terms)

    def errors(self, n: int, plan: LearnerPlan) -> tuple[Predicted, ...]:
        """Predict the errors of covariance and mean, and of one variance and one mean of a column."""
        d, m = self.d, self.m
        added = 0.0
        if not isinstance(plan, TablePlan) or plan.may_be_gaussian:
            errors = predicted_errors(plan, n, d)
            noise = [errors["covariance_noise"], errors["mean_noise"]]
            own = math.sqrt(errors["covariance"] ** 2 - noise[0] ** 2), math.sqrt(errors["mean"] ** 2 - noise[1] ** 2)
        else:
            own = math.sqrt(d * (d + 1) / n), math.sqrt(d / n)
            *noise, added = self._table_errors(n, plan)
        entries = math.sqrt(d * (d + 1) / 2)
        spread = math.sqrt(d * (d + 1) / (m - 1)) if m > d else None  # fewer rows have no covariance
        best = math.sqrt(d * (d + 1) / n), math.sqrt(d / n)
        of_mean = own[1], noise[1], best[1], math.sqrt(d / m)
        return (
            Predicted("covariance", Predicted.relative, own[0], noise[0], best[0], spread),
            Predicted("mean", "Mahalanobis", *of_mean),
            Predicted(
                "variance of a column",
                "relative",
                own[0] / entries,
                math.hypot(noise[0] / entries, added),
                best[0] / entries,
                None if m < 2 else math.sqrt(2 / (m - 1)),
            ),
            Predicted("mean of a column", Predicted.own_sd, *(part / math.sqrt(d) for part in of_mean)),
        )

    def _table_errors(self, n: int, plan: TablePlan) -> tuple[float, float, float]:
        """Compute the noise of covariance and mean, from Gaussian rows' core and first shell, and the expected excess.

        The shape of that shell is shrunk to the core's as far as its noise requires (`_table_moments`), its size is
        not. What is expected beyond the shell is added to the variance of each column; it is more than Gaussian rows
        have there.
        """
        d, release = self.d, self._expected(n, plan)
        (core, beyond), (core_sum, beyond_sum) = release.moments.second_sds[:2], release.moments.mean_sds[:2]
        entries = math.sqrt(d * (d + 1) / 2)
        chance = math.sqrt(float(release.moments.rows[1])) * float(middle_squares(np.array(release.where.edges))[0]) / n
        noisy = beyond * entries
        leant = chance * noisy / math.hypot(chance, noisy)
        added = float(np.trace(release.core + read_outside(release).second)) / d - 1
        return math.hypot(core * entries, leant, beyond), math.hypot(core_sum, beyond_sum) * math.sqrt(d), added

    def _expected(self, n: int, plan: TablePlan) -> CoreRead:
        """Simulate the last release for standard Gaussian rows without its noise, with the sizes of that noise."""
        d, frame = self.d, Frame((0.0,) * self.d)
        ends = core_end(n, d) * RATIO ** np.arange(_SHELLS + 1, dtype=float)
        edges, binned = ends[:-1], np.array(histogram_edges(n, d))
        where = Cut(False, 1.0, 0.0, tuple(edges.tolist()), tuple(ends.tolist()))
        final, counts = plan.final, plan.histogram
        noise = final.as_asked(shells_question(frame, where, final, plan.counted, plan.of_mean)).noise()
        sds = {part: np.broadcast_to(sd.ravel(), len(ends)) for part, sd in noise.items()}
        counted = counts.as_asked(histogram_question(frame, n, counts)).noise()["count"]
        seconds = gaussian_shares(edges, d + 2, np.ones(1))[0][:, None, None] * np.eye(d)  # |w|^2 weighs for two more
        return CoreRead(
            ShellMoments(
                n,
                n * gaussian_shares(edges, d, np.ones(1))[0],
                np.zeros((len(ends), d)),
                seconds,
                float(sds["count"][0]),
                sds["sum"] / n,
                sds["moment"] / n,
            ),
            Histogram(
                tuple(binned.tolist()),
                tuple((n * gaussian_shares(binned, d, np.ones(1))[0]).tolist()),
                float(counted.flat[0]),
            ),
            where,
            seconds[0],
            np.zeros(d),
            frame,
            PublicShape(),
        )


@dataclass(frozen=True)
class NoPublicCase:
    """Case of `estimate_gaussian` without public rows, for d columns."""

    d: int
    m: int = 0

    @property
    def most_rows(self) -> int:
        """Rows of the largest table that the search accepts."""
        return MOST_CELLS // self.d

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the search for the columns, and the learner on the rest of the budget."""
        plan = no_public_plan(purse, n, self.d)
        errors = self._learner(n, plan.learner)
        apart = variation(errors[1].error, errors[0].error)
        return Forecast(plan, tuple(replace(each, public_only=None) for each in errors), apart)

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as the driver does."""
        try:
            plan = no_public_plan(purse, n, self.d)
        except InvalidInput:
            return False
        return feasible(n, self.d, plan.learner_purse(purse))

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Say what the error assumes, what may be paid without a result, and what public rows would improve."""
        purse = Purse.of(budget)
        plan, few = no_public_plan(purse, n, self.d), self.d + 1
        share = 1 - plan.learner_purse(purse).rho / purse.rho
        helped = predicted_errors(learner_plan(purse, n, self.d), n, self.d)["covariance"]
        search = (
            f"a search for the columns takes {share:.2%} of the budget; where it finds none, there is no answer, and"
        )
        instead = f"{few} public rows would make the search unnecessary: an error of {helped:.3g}, any budget that"
        return (
            "the error is that for Gaussian rows",
            f"{search} the rest of the budget is not spent",
            f"{instead} Gaussian noise takes, and rows of any law (the target moments)",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of lemma A.24 (1), and of others that need no public rows."""
        return tuple(each for each in for_gaussian(self.d, terms) if each.public_rows is None)

    def _learner(self, n: int, plan: LearnerPlan) -> tuple[Predicted, ...]:
        return GaussianCase(_plain_layout(self.d), self.d + 1, "gaussian").errors(n, plan)


def _plain_layout(d: int, columns: tuple[str, ...] = ()) -> Layout:
    """Make the layout of d columns, none of which is known to be degenerate."""
    names = columns or tuple(f"x{i}" for i in range(d))
    return Layout(names, (0.0,) * d, tuple(range(d)), ())
