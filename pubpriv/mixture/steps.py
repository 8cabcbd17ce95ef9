"""The frozen bundle of steps: the one seam between the driver and whoever runs its steps.

The defaults are the plain functions. An orchestrator passes the same names with its own wrapping; the driver
cannot tell the difference, and the bits are the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

from pubpriv.ingest import Step, ingest_private, ingest_public, watcher
from pubpriv.mixture.bks.ample import easy_clusters
from pubpriv.mixture.bks.estimate import start_clusters
from pubpriv.mixture.bks.private import level_pca, private_query
from pubpriv.mixture.bks.queries import public_query
from pubpriv.mixture.bks.tree import open_level
from pubpriv.mixture.choice import prefer
from pubpriv.mixture.components import count_weights, estimate_components
from pubpriv.mixture.partition import locate, seed
from pubpriv.mixture.pca import private_pca
from pubpriv.mixture.public_model import public_model, public_starts
from pubpriv.mixture.scaling import precondition
from pubpriv.mixture.shapes import choose_shape, estimate_diagonal, estimate_spherical
from pubpriv.mixture.supercluster import supercluster, tighten
from pubpriv.mixture.unknown import probe

__all__ = ["PLAIN", "MixtureSteps", "Step", "watcher"]


@dataclass(frozen=True)
class MixtureSteps:
    """Steps of `estimate_mixture`, in the order in which they run.

    Private steps take a `Curator` first; the others see public values and released answers only.
    """

    ingest_public: Step = ingest_public
    ingest_private: Step = ingest_private
    precondition: Step = precondition
    supercluster: Step = supercluster
    tighten: Step = tighten
    public_model: Step = public_model
    public_starts: Step = public_starts
    private_pca: Step = private_pca
    seed: Step = seed
    probe: Step = probe
    locate: Step = locate
    estimate_components: Step = estimate_components
    estimate_diagonal: Step = estimate_diagonal
    estimate_spherical: Step = estimate_spherical
    choose_shape: Step = choose_shape
    count_weights: Step = count_weights
    prefer: Step = prefer
    open_level: Step = open_level
    level_pca: Step = level_pca
    public_query: Step = public_query
    private_query: Step = private_query
    easy_clusters: Step = easy_clusters
    start_clusters: Step = start_clusters

    def wrapped(self, around: Callable[[str, Step], Step]) -> "MixtureSteps":
        """The same bundle with `around(name, step)` in the place of every step."""
        return MixtureSteps(**{field.name: around(field.name, getattr(self, field.name)) for field in fields(self)})


PLAIN = MixtureSteps()
