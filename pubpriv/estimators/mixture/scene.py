"""What most steps of one run of the default method need."""

from dataclasses import dataclass
from functools import cached_property

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.lattice import lattice
from pubpriv.estimators.mixture.counts import CountLaws
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.mixture.settings import MixtureSettings
from pubpriv.estimators.mixture.shapes import shaped
from pubpriv.estimators.steps import Execution
from pubpriv.released.law import Mixture


@dataclass(frozen=True)
class Scene:
    """What most steps of one run need, and the run itself."""

    run: Execution
    rows: PublicTable
    scaling: Scaling
    settings: MixtureSettings
    starts: PublicTable

    @property
    def covariance_type(self) -> str:
        """Give the type that was asked for."""
        return self.settings.covariance_type

    def counts(self, mixture: Mixture) -> CountLaws | None:
        """Tell from the public rows how the columns of a mixture's components count, if all do."""
        return CountLaws.of(self.scaling.undo(mixture), self.rows.rows) if self._on_lattices else None

    @cached_property
    def _on_lattices(self) -> bool:
        """Every column of the public rows is on one; else none counts, whatever the mixture."""
        return all(lattice(column) for column in self.rows.rows.T)

    def held(self, mixture: Mixture) -> Mixture:
        """Hold components that count to variances that a rare row does not contradict; others stay as they are."""
        laws = self.counts(mixture)
        return mixture if laws is None else laws.held(self.scaling, mixture, len(self.rows.rows))

    def start(self, mixture: Mixture) -> Mixture:
        """Give a start covariances of the wanted type."""
        return shaped(mixture, self.covariance_type, self.scaling)
