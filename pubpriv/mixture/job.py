"""A mixture from files to model: what a command or a scheduled flow does, with or without an orchestrator."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import ClassVar

from pubpriv import jobs
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.mixture.pipeline import checked_public, estimate_mixture
from pubpriv.mixture.regimes import advice
from pubpriv.mixture.settings import MixtureSettings
from pubpriv.mixture.steps import PLAIN, MixtureSteps
from pubpriv.released.kinds import MixtureEstimate


@dataclass(frozen=True)
class MixtureJob(jobs.Job, MixtureSettings):
    """A run of `estimate_mixture` in names and numbers, with its settings."""

    kind: ClassVar[str] = "mixture"

    def checked(self, public: PublicTable) -> PublicTable:
        """Public rows that can seed the components."""
        return checked_public(public, public.columns, self)

    def advice(self, public: PublicTable) -> tuple[str, ...]:
        """Public rows that may have missed a component; of a number that is looked for nothing can be said yet."""
        if self.n_components is None and self.min_weight is None:
            return ()
        return advice(len(public.rows), self.most, self.smallest_weight)

    def estimate(self, public: PublicTable, curator: Curator, steps: MixtureSteps) -> MixtureEstimate:
        """`estimate_mixture` with the job's settings."""
        return estimate_mixture(public, curator, **self.chosen(), steps=steps)


def run_job(job: MixtureJob, steps: MixtureSteps = PLAIN, executor: Executor | None = None) -> MixtureEstimate:
    """Ingest, check, hold, estimate, close; see `pubpriv.jobs`."""
    estimate: MixtureEstimate = jobs.run_job(job, steps, executor)
    return estimate


def check_job(job: MixtureJob, steps: MixtureSteps = PLAIN) -> tuple[str, ...]:
    """All that can be wrong with the input, found without opening the run; what to warn of. See `pubpriv.jobs`."""
    return jobs.check_job(job, steps)
