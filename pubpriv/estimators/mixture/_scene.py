"""The objects that most steps of one run of the default method need."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import count_steps
from pubpriv.estimators._whole_rows import WholeRows
from pubpriv.estimators.mixture._count_clusters import count_clusters
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._shapes import shaped
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import Execution
from pubpriv.released.law import Mixture


@dataclass(frozen=True)
class Scene:
    """A run, with the objects that most of its steps need, and the number of whole rows."""

    run: Execution
    rows: PublicTable
    scaling: Scaling
    settings: MixtureSettings
    starts: PublicTable
    whole: WholeRows

    @property
    def covariance_type(self) -> str:
        """Covariance type in the settings."""
        return self.settings.covariance_type

    def counts(self, mixture: Mixture) -> CountLaws | None:
        """Find the laws of counts of a mixture's components from the public rows; None: not all columns are counts."""
        return CountLaws.of(self.scaling.undo(mixture), self.rows.rows) if self._on_lattices else None

    @cached_property
    def _on_lattices(self) -> bool:
        """Whether every column of the public rows is on a lattice; otherwise they are no counts for any mixture."""
        return bool(self._steps.all())

    def _known_by_values(self, mixture: Mixture) -> bool:
        """Decide whether columns are counts whose values identify the components, or count in a single component."""
        k = len(mixture.weights)
        return self.counts(mixture) is not None and (k == 1 or count_clusters(self.rows.rows, k) is not None)

    @cached_property
    def _steps(self) -> np.ndarray:
        """Steps (d,) of the columns; see `count_steps`."""
        return count_steps(self.rows.rows)

    def held(self, mixture: Mixture) -> Mixture:
        """Raise variances of components of counts so that a rare row does not contradict them; others are unchanged."""
        laws = self.counts(mixture)
        return mixture if laws is None else laws.held(self.scaling, mixture, len(self.rows.rows))

    def rugged(self, mixture: Mixture) -> bool:
        """Decide whether a component is so narrow compared to a column's step that it excludes rows one step away.

        If all columns are counts, and their values identify the components, `held` prevents this.
        """
        if not self._on_lattices or self._known_by_values(mixture):
            return False
        variances = np.einsum("kii->ki", self.scaling.undo(mixture).arrays[2])
        return bool((variances < self._steps**2 / len(self.rows.rows)).any())

    def start(self, mixture: Mixture) -> Mixture:
        """Convert a start to the covariance type in the settings."""
        return shaped(mixture, self.covariance_type, self.scaling)
