"""Whether the components that lie apart explain the private rows, or a ladder of models is worth its price.

One `JointCounts` release about the first round: shells of the distance from a record's component, which show tails, and
shells in the cells of a public model of several components, which show crowds and gaps inside a component. Each is
held against what the model predicts, as in `misfit`. The first shells also tell how tails would be explained without
further components: by mixtures of scales.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._fit_regions import shells_about, shells_inside
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._misfit import counted, divergence
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_WORTH = 0.01
"""Divergence of counts, per row, from which on a ladder is worth its price, if a model that fits has less."""

_SCALES = 0.15, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0, 12.0, 40.0
"""Scales of which components may be mixtures."""

_NONE = 1e-4
"""A share of a scale below this is left out."""

_PASSES = 300
"""Passes of EM for the shares of scales."""


@public_value
@dataclass(frozen=True)
class Explained:
    """A model, and released counts about it.

    Attributes:
        mixture: of the components that lie apart, in standard coordinates.
        radii: ends of the shells, in standard deviations; the last shell is open.
        shells: released counts, of all components together.
        divergence: sum (observed - predicted)^2 / predicted per row, less what noise and sampling make of it: of shells
            and of cells.
        limits: what each may be where there is nothing to explain.
        rows: private rows that lack no value.
    """

    mixture: Mixture
    radii: tuple[float, ...]
    shells: tuple[float, ...]
    divergence: tuple[float, float]
    limits: tuple[float, float]
    rows: float

    @property
    def complete(self) -> bool:
        """Nothing is left for further components."""
        return all(found <= max(limit, _WORTH) for found, limit in zip(self.divergence, self.limits, strict=True))


@step(title="tails")
def with_tails(found: Explained) -> Mixture:
    """Make each component a mixture of the scales that the shells show; give it as it is where they show none."""
    if found.divergence[0] <= max(found.limits[0], _WORTH):
        return found.mixture
    weights, means, covariances = found.mixture.arrays
    shares = _scale_shares(found.radii, found.shells, means.shape[1])
    used = shares > _NONE
    scales, shares = np.array(_SCALES)[used], shares[used] / shares[used].sum()
    return Mixture.of(
        np.kron(weights, shares),
        np.repeat(means, len(scales), axis=0),
        (covariances[:, None] * (scales**2)[:, None, None]).reshape(-1, *covariances.shape[1:]),
    )


def _scale_shares(radii: tuple[float, ...], shells: tuple[float, ...], d: int) -> np.ndarray:
    """Shares of the scales that fit the shells best, by EM from equal ones: (scales,)."""
    inside = gaussian_shares(np.array(radii), d, np.array(_SCALES))
    seen = np.maximum(shells, 0.0) / max(np.maximum(shells, 0.0).sum(), 1.0)
    shares = np.ones(len(_SCALES)) / len(_SCALES)
    for _ in range(_PASSES):
        shares = shares * (inside @ (seen / np.maximum(shares @ inside, 1e-12)))
        shares = shares / shares.sum()
    return np.asarray(shares)


@step(title="what is explained", private=True)
@one_thread
def explained(
    curator: Curator, scaling: Scaling, public: PublicTable, mixture: Mixture, several: Mixture, ask: Ask
) -> Explained:
    """Hold counts of private rows against those that a model predicts.

    Args:
        curator: the run.
        scaling: of the standard coordinates.
        public: rows, whose steps the drawn rows are rounded to.
        mixture: the model, released.
        several: a public model of more components, whose cells are counted.
        ask: for shells about the model's components, and in the cells of the other.

    Privacy: one `JointCounts` over two partitions, mu^2 <= ask.price.
    """
    partitions = shells_about(scaling.cells(mixture)), shells_inside(scaling.cells(several))
    shells, cells = counted(curator, partitions, scaling.undo(mixture), public.rows, ask)
    n = shells.rows
    judged = [divergence(each.seen, each.predicted, each.sd, n, each.clumped) for each in (shells, cells)]
    (of_shells, shells_limit), (of_cells, cells_limit) = judged
    by_shell = shells.by_shell(shells.seen)
    return Explained(mixture, shells.partition.edges, by_shell, (of_shells, of_cells), (shells_limit, cells_limit), n)
