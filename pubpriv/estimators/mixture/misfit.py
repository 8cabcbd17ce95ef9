"""Whether a released mixture fits the private rows: their counts against those that the model predicts.

Two `Counts` releases, over regions that were fixed before the last round: shells of the distance from a record's
component, which show tails, odd rows and covariances that are too wide, and shells of its distance along that
component's longest axis, where two components that were taken for one leave a gap. Lengths are those of the round's
own frames, which the noise of the model itself did not shape. The model predicts each count by rows drawn from it,
rounded where the public rows are rounded. Distances have no sign, so a slight skew, as that of large counts, is none.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.questions import Counts
from pubpriv.data.regions import View
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.components import Round
from pubpriv.estimators.mixture.fit_regions import FURTHER, longest_axes, shells_about, shells_along
from pubpriv.estimators.mixture.lattice import drawn_rows
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_LIMIT = 0.005
"""Largest divergence of counts, per row, of a model that fits; t with 5 degrees of freedom has some .1."""

_SURE = 3.0
"""... as far as it is sure, by so many standard deviations of what noise and sampling make of it."""

_TELLING = 0.5
"""Spectral noise in a component's covariance from which on its counts are no test: the noise is what does not fit."""

DRAWN = 40_000
"""Rows that are drawn from the model."""


@public_value
@dataclass(frozen=True)
class Fit:
    """Released counts against those that the model predicts.

    Attributes:
        divergence: sum (observed - predicted)^2 / predicted over regions, per row, less what noise and sampling make
            of it: of shells, and along axes.
        limits: what each may be where the model fits.
        noise: spectral noise in the whitened covariance of each component.
        unexplained: share of rows further out than twice the 99% radius, above what the model predicts.
        unexplained_sd: its noise.
        radii: ends of the shells.
        shells: (components, shells) released counts.
        predicted: (components, shells) counts that the model predicts.
    """

    divergence: tuple[float, float]
    limits: tuple[float, float]
    noise: tuple[float, ...]
    unexplained: float
    unexplained_sd: float
    radii: tuple[float, ...]
    shells: tuple[tuple[float, ...], ...]
    predicted: tuple[tuple[float, ...], ...]

    @property
    def told(self) -> bool:
        """Whether the noise of some component is small enough for its counts to say anything."""
        return min(self.noise) < _TELLING

    @property
    def fits(self) -> bool:
        """No count contradicts the model."""
        return all(found <= limit for found, limit in zip(self.divergence, self.limits, strict=True))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        if not self.told:
            return ("whether the model fits could not be tested: the noise in its covariances is too large",)
        if self.fits:
            return ()
        shells, axes = (found > limit for found, limit in zip(self.divergence, self.limits, strict=True))
        said = []
        if self.unexplained > max(_SURE * self.unexplained_sd, 0.001):
            said.append(f"{self.unexplained:.1%} of the rows lie further out than any component explains")
        elif shells:
            said.append("rows are not spread about their components as Gaussians are")
        if axes:
            said.append("a component may stand for several, or lie where none is")
        return (f"the model does not fit the private rows: {'; '.join(said)}. Do not rely on its intervals",)

    def told_as(self) -> dict[str, Any]:
        """As diagnostics."""
        return {
            "divergence": list(self.divergence),
            "limit": list(self.limits),
            "noise": max(self.noise),
            "unexplained": self.unexplained,
            "tested": self.told,
            "fits": self.fits,
        }


@step(title="fit of the model", private=True)
@one_thread
def check_fit(
    curator: Curator,
    scaling: Scaling,
    public: PublicTable,
    last: Round,
    mixture: Mixture,
    noise: tuple[float, ...],
    asks: tuple[Ask, Ask],
) -> Fit:
    """Tell whether counts of private rows are those that the model predicts.

    Args:
        curator: the run.
        scaling: of the standard coordinates.
        public: rows, whose lattices the drawn rows are put on.
        last: the round that was measured last; its frames fix the regions.
        mixture: the model that is released, in standard coordinates.
        noise: spectral noise in the covariance of each component.
        asks: for shells, and for shells along axes.

    Privacy: two `Counts` over partitions, mu^2 <= the two asks' prices.
    """
    weights, means, _ = last.mixture.arrays
    before = Mixture.of(weights, means, last.frames)
    cells = scaling.cells(before)
    partitions = shells_about(cells), shells_along(cells, longest_axes(scaling, before))
    drawn = drawn_rows(scaling.undo(mixture), public.rows, DRAWN)
    found = []
    for partition, ask in zip(partitions, asks, strict=True):
        answer = curator.release(Counts.priced(partition, ask.price), ask.label)
        asked = answer.question.partition
        labels = asked.assign(View(np.ascontiguousarray(drawn.T)))
        share = np.bincount(labels[labels >= 0], minlength=asked.n_regions) / DRAWN
        sd = float(answer.question.noise()["count"][0])
        found.append((answer.values["count"], curator.n_rows * share, sd, asked))
    (shells, predicted, sd, partition), _ = found
    told = np.array(noise) < _TELLING
    judged = [
        divergence(_table(seen, asked)[told], _table(expected, asked)[told], noisy, curator.n_rows)
        for seen, expected, noisy, asked in found
    ]
    outside = _table(shells - predicted, partition)[:, -len(FURTHER) :]
    return Fit(
        (judged[0][0], judged[1][0]),
        (judged[0][1], judged[1][1]),
        noise,
        float(outside.sum()) / curator.n_rows,
        sd * math.sqrt(outside.size) / curator.n_rows,
        partition.edges,
        tuple(map(tuple, _table(shells, partition).tolist())),
        tuple(map(tuple, _table(predicted, partition).tolist())),
    )


def divergence(seen: np.ndarray, predicted: np.ndarray, sd: float, n: int) -> tuple[float, float]:
    """Divergence of released counts from predicted ones, and its limit where the model fits.

    Released counts vary by the noise of sd `sd` and by sampling, the predicted ones because so many rows were drawn.
    The sum of squares less these variances is zero in the mean for the right model. Counts below four sds of the noise
    are weighed as if they were that large.
    """
    variance = sd**2 + predicted * (1 + n / DRAWN)
    least = np.maximum(predicted, 4 * sd)
    found = float((((seen - predicted) ** 2 - variance) / least).sum()) / n
    spread = math.sqrt(float((2 * (variance / least) ** 2).sum())) / n
    return found, _LIMIT + _SURE * spread


def _table(counts: np.ndarray, partition: ComponentShells) -> np.ndarray:
    """Counts by component and shell."""
    return counts.reshape(-1, partition.shells)
