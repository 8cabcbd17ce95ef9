"""A mixture from files to model: what a command or a scheduled flow does, with or without an orchestrator."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import ClassVar

from pubpriv import jobs
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.mixture.pipeline import checked_public, estimate_mixture
from pubpriv.mixture.settings import MixtureSettings
from pubpriv.mixture.steps import PLAIN, MixtureSteps
from pubpriv.models import MixtureEstimate


@dataclass(frozen=True)
class MixtureJob(jobs.Job, MixtureSettings):
    """A run of `estimate_mixture` in names and numbers, with its settings."""

    kind: ClassVar[str] = "mixture"

    def checked(self, public: PublicTable) -> PublicTable:
        """Public rows that can seed the components."""
        return checked_public(public, public.columns, self)

    def estimate(self, public: PublicTable, curator: Curator, steps: MixtureSteps) -> MixtureEstimate:
        """`estimate_mixture` with the job's settings."""
        return estimate_mixture(public, curator, **self.chosen(), steps=steps)


def run_job(job: MixtureJob, steps: MixtureSteps = PLAIN, executor: Executor | None = None) -> MixtureEstimate:
    """Ingest, check, hold, estimate, close; see `pubpriv.jobs`."""
    estimate: MixtureEstimate = jobs.run_job(job, steps, executor)
    return estimate


def check_job(job: MixtureJob, steps: MixtureSteps = PLAIN) -> None:
    """All that can be wrong with the input, found without opening the run. Raises as `run_job` does."""
    jobs.check_job(job, steps)
