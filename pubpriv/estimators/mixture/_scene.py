"""What most steps of one run of the default method need."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import count_steps
from pubpriv.estimators.mixture._count_clusters import count_clusters
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._shapes import shaped
from pubpriv.estimators.mixture.scaling import Scaling
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
        return bool(self._steps.all())

    def _known_by_values(self, mixture: Mixture) -> bool:
        """Tell whether columns count about components that the values of public rows tell, or there is but one."""
        k = len(mixture.weights)
        return self.counts(mixture) is not None and (k == 1 or count_clusters(self.rows.rows, k) is not None)

    @cached_property
    def _steps(self) -> np.ndarray:
        """Steps (d,) of the columns; see `count_steps`."""
        return count_steps(self.rows.rows)

    def held(self, mixture: Mixture) -> Mixture:
        """Hold components that count to variances that a rare row does not contradict; others stay as they are."""
        laws = self.counts(mixture)
        return mixture if laws is None else laws.held(self.scaling, mixture, len(self.rows.rows))

    def rugged(self, mixture: Mixture) -> bool:
        """Tell whether a component is so narrow beside the step of a column that it denies rows that are a step off.

        Where all columns count, and their values tell the components, `held` sees to it that none does.
        """
        if not self._on_lattices or self._known_by_values(mixture):
            return False
        variances = np.einsum("kii->ki", self.scaling.undo(mixture).arrays[2])
        return bool((variances < self._steps**2 / len(self.rows.rows)).any())

    def start(self, mixture: Mixture) -> Mixture:
        """Give a start covariances of the wanted type."""
        return shaped(mixture, self.covariance_type, self.scaling)
