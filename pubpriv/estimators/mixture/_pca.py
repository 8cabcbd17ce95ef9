"""Private principal components of each group (Bie, Kamath and Singhal 2022, algorithm 4; lemma C.19 mended)."""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.questions import LiftedGram
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._supercluster import Groups
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import Execution, step


@public_value
@dataclass(frozen=True)
class Subspaces:
    """An orthonormal basis (ell, d) for each group, in the group's own units about its public mean."""

    bases: tuple[tuple[tuple[float, ...], ...], ...]

    @classmethod
    def whole(cls, groups: Groups) -> "Subspaces":
        """All of R^d, for when there is nothing to reduce."""
        identity = row_tuples(np.eye(len(groups.points[0])))
        return cls((identity,) * groups.count)

    def leading(self, count: int) -> "Subspaces":
        """The first `count` directions, which have the largest moments; all of R^d if nothing was reduced."""
        if len(self.bases[0]) == len(self.bases[0][0]):
            return self
        return Subspaces(tuple(basis[:count] for basis in self.bases))


@step(title="private PCA", private=True)
@one_thread
def _private_pca(curator: Curator, scaling: Scaling, groups: Groups, n_components: int, ask: Ask) -> Subspaces:
    """Find the top k directions of each group's second moment about its public mean: one joint release.

    Privacy: `LiftedGram.second_moment` over a partition, mu^2 <= ask.price for all groups together.
    """
    moments = curator.release(pca_question(scaling, groups, ask), ask.label).values["moment"]
    bases = [np.linalg.eigh(moment)[1][:, ::-1][:, :n_components].T for moment in moments]
    return Subspaces(tuple(map(row_tuples, bases)))


@one_thread
def pca_question(scaling: Scaling, groups: Groups, ask: Ask) -> LiftedGram:
    """Ask for the second moment of each group about its public mean.

    The radius is public: the largest norm among the group's public points, a tenth wider, so that clipping
    touches outliers only.
    """
    frames, radii = [], []
    for group, unit in enumerate(np.array(groups.units)):
        points = groups.of(group)
        center = points.mean(axis=0)
        frames.append(scaling.frame(center, np.diag(1 / unit)))
        reach = np.linalg.norm((points - center) / unit, axis=1).max()
        radii.append(1.1 * max(float(reach), 1e-6) * (1 + 1 / len(points)) ** 0.5)
    return LiftedGram.second_moment(groups.partition(scaling), tuple(frames), tuple(radii), ask.price)


def find_subspaces(run: Execution, scaling: Scaling, groups: Groups, dimension: int, ask: Ask | None) -> Subspaces:
    """Find private directions if the plan has a question for them, else give all of R^d."""
    return Subspaces.whole(groups) if ask is None else run(_private_pca, scaling, groups, dimension, ask)
