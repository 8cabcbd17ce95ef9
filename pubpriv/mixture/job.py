"""A mixture from files to model: what a command or a scheduled flow does, with or without an orchestrator."""

from dataclasses import dataclass
from typing import ClassVar

from pubpriv import jobs
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.mixture.pipeline import checked_public, estimate_mixture
from pubpriv.mixture.regimes import advice
from pubpriv.mixture.settings import MixtureSettings
from pubpriv.models import MixtureEstimate
from pubpriv.steps import Runner


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

    def estimate(self, public: PublicTable, curator: Curator, runner: Runner) -> MixtureEstimate:
        """`estimate_mixture` with the job's settings."""
        return estimate_mixture(public, curator, **self.chosen(), runner=runner)
