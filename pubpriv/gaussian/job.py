"""A mean, or a Gaussian, from files to model: what a command or a scheduled flow does."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from pubpriv import jobs
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.gaussian.awkward import examine
from pubpriv.gaussian.known import read_covariance
from pubpriv.gaussian.mean import check_feasible as check_mean_feasible
from pubpriv.gaussian.mean import check_two_step, checked_mean, estimate_mean
from pubpriv.gaussian.pipeline import chosen_target, estimate_gaussian
from pubpriv.gaussian.plan import check_feasible
from pubpriv.gaussian.preconditioner import precondition
from pubpriv.models import GaussianEstimate, MeanEstimate
from pubpriv.privacy.budgets import Budget, purse_of
from pubpriv.steps import Runner

WORDS = ("identity", "unknown")
"""What a covariance may be besides a file."""


@dataclass(frozen=True)
class MeanJob(jobs.Job):
    """A run of `estimate_mean` in names and numbers.

    Attributes:
        covariance: `identity`, a CSV file with the known (d, d) covariance, or `unknown`.
        method, rounds, force: see `estimate_mean`.
    """

    kind: ClassVar[str] = "mean"

    covariance: str = "identity"
    method: str = "two-step"
    rounds: int = 2
    force: bool = False

    def inputs(self) -> tuple[str, ...]:
        """Files that a model must not overwrite."""
        return (*super().inputs(), *([] if self.covariance in WORDS else [self.covariance]))

    def checked(self, public: PublicTable) -> PublicTable:
        """Public rows, covariance and options that fit each other."""
        if self.covariance == "unknown":
            check_two_step(self.method)
            return self._both().checked(public)
        covariance = self._covariance(public)
        return checked_mean(public, public.columns, covariance, self.method, self.rounds)[0]

    def check_size(self, public: PublicTable, n_private: int, budget: Budget) -> None:
        """Refuse a run that would tell little more than the public rows do, unless it is forced."""
        if self.covariance == "unknown":
            self._both().check_size(public, n_private, budget)
        elif self.method == "two-step" and not self.force:
            m, d = public.rows.shape
            check_mean_feasible(n_private, d, m, purse_of(budget))

    def estimate(self, public: PublicTable, curator: Curator, runner: Runner) -> MeanEstimate:
        """`estimate_mean` with the job's settings."""
        return estimate_mean(
            public,
            curator,
            covariance=self._covariance(public),
            method=self.method,
            rounds=self.rounds,
            force=self.force,
            runner=runner,
        )

    def _covariance(self, public: PublicTable) -> Any:
        word = self.covariance in WORDS
        return self.covariance if word else read_covariance(self.covariance, public.columns)

    def _both(self) -> "GaussianJob":
        """The run that learns the covariance too."""
        same = {each.name: getattr(self, each.name) for each in fields(jobs.Job)}
        return GaussianJob(**same, force=self.force)


@dataclass(frozen=True)
class GaussianJob(jobs.Job):
    """A run of `estimate_gaussian` in names and numbers.

    Attributes:
        target, method, scale, force: see `estimate_gaussian`.
    """

    kind: ClassVar[str] = "gaussian"

    target: str = "auto"
    method: str = "learner"
    scale: Mapping[str, float] = field(default_factory=dict)
    force: bool = False

    def checked(self, public: PublicTable) -> PublicTable:
        """Public rows, target, method and scales that fit each other."""
        if chosen_target(self.target, self.method, self.scale) == "gaussian":
            precondition(public)
        else:
            examine(public, self.scale)
        return public

    def check_size(self, public: PublicTable, n_private: int, budget: Budget) -> None:
        """Refuse a run below the line of feasibility, unless it is forced."""
        if self.method == "learner" and not self.force:
            check_feasible(n_private, len(public.columns), purse_of(budget), budget)

    def estimate(self, public: PublicTable, curator: Curator, runner: Runner) -> GaussianEstimate:
        """`estimate_gaussian` with the job's settings."""
        return estimate_gaussian(
            public,
            curator,
            target=self.target,
            method=self.method,
            scale=self.scale,
            force=self.force,
            runner=runner,
        )
