"""Decide whether the separate components explain the private rows, or a ladder of models is worth its price.

One `JointCounts` release about the first round has two parts: shells of the distance from a record's component, which
show tails, and shells in the cells of a public model of several components, which show crowds and gaps inside a
component. Both are compared with the model's predictions, as in `_misfit`. The first shells also show whether mixtures
of scales would explain tails without further components. They are those of the measured covariances, in whose lengths
noise shows as tails: by as much as `_by_noise`, which is no reason for a ladder.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._fit_regions import shells_about, shells_inside
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._misfit import counted, divergence
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_WORTH = 0.01
"""Divergence of counts per row above which a ladder is worth its price; the limit of a good fit applies if larger."""

_SCALES = 0.15, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0, 12.0, 40.0
"""Scales in the scale mixtures of components."""

_NONE = 1e-4
"""Shares of a scale below this are left out."""

_WIDEST = 1.5
"""Most by which noise is taken to widen the variance of squared lengths: the formula ends at 2."""

_PASSES = 300
"""Number of EM passes for the shares of scales."""


@public_value
@dataclass(frozen=True)
class Explained:
    """A model, and released counts about its fit.

    Attributes:
        mixture: the components that lie apart, in standard coordinates.
        radii: outer edges of the shells, in standard deviations; the last shell is open.
        shells: released counts, over all components.
        divergence: sum (observed - predicted)^2 / predicted per row, minus the part from noise and sampling: of shells
            and of cells.
        limits: upper limits of each divergence if nothing but noise in its covariances keeps the model from fitting.
        rows: number of private rows without a missing value.
    """

    mixture: Mixture
    radii: tuple[float, ...]
    shells: tuple[float, ...]
    divergence: tuple[float, float]
    limits: tuple[float, float]
    rows: float

    @property
    def complete(self) -> bool:
        """Whether the model leaves nothing for further components to explain."""
        return all(found <= max(limit, _WORTH) for found, limit in zip(self.divergence, self.limits, strict=True))


@step(title="tails")
def with_tails(found: Explained) -> Mixture:
    """Make each component a mixture of the scales that the shells show; unchanged if they show none."""
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
    """Fit the shares (scales,) of the scales to the shells, by EM from equal shares."""
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
    curator: Curator, scaling: Scaling, public: PublicTable, first: Round, several: Mixture, ask: Ask
) -> Explained:
    """Compare counts of private rows with a model's predictions.

    Args:
        curator: the run.
        scaling: the standard coordinates.
        public: public rows, to whose steps the synthetic rows are rounded.
        first: the round whose estimate is the model.
        several: a public model of more components, whose cells are counted.
        ask: for shells around the model's components and in the cells of the other model.

    Privacy: one `JointCounts` over two partitions, mu^2 <= ask.price.
    """
    mixture = first.mixture
    partitions = shells_about(scaling.cells(mixture)), shells_inside(scaling.cells(several))
    shells, cells = counted(curator, partitions, scaling.undo(mixture), public.rows, ask)
    n = shells.rows
    judged = [divergence(each.seen, each.predicted, each.sd, n, each.clumped) for each in (shells, cells)]
    (of_shells, shells_limit), (of_cells, cells_limit) = judged
    by_shell = shells.by_shell(shells.seen)
    limits = shells_limit + _by_noise(first), cells_limit
    return Explained(mixture, shells.partition.edges, by_shell, (of_shells, of_cells), limits, n)


def _by_noise(first: Round) -> float:
    """Bound the divergence of shells that noise in the covariances of a round makes.

    Rows of a covariance C that was measured with noise N have squared lengths of mean tr(1 + N / C)^-1 and variance
    2 tr(1 + N / C)^-2: about d + e and 2 (d + 3 e), where e is the mean of tr(N / C)^2, for those of right lengths d
    and 2 d. Of Gaussians whose variances have the ratio v and whose means are z sds apart, the divergence is
    exp(z^2 / (2 - v)) / sqrt(v (2 - v)) - 1, and no regions show more of it. C has the noise in it, so e is found
    larger than it is.
    """
    weights, _, covariances = first.mixture.arrays
    d, bounds = covariances.shape[1], []
    for covariance, frame, count in zip(covariances, first.start.arrays[2], first.counts, strict=True):
        ratio = np.linalg.solve(covariance, frame)
        more = (first.moment_sd / count) ** 2 * float(np.trace(ratio) ** 2 + np.trace(ratio @ ratio)) / 2
        wider = min(1 + 3 * more / d, _WIDEST)
        bounds.append(math.exp(more**2 / (2 * d) / (2 - wider)) / math.sqrt(wider * (2 - wider)) - 1)
    return float(weights @ np.array(bounds))
