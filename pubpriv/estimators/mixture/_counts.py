"""Components whose columns are all counts: instead of Gaussians, laws that a mean and a variance determine.

Small counts reach further above their mean than Gaussian rows, and never below their least value. If they were treated
as Gaussian, the tail that clipping removes would not be restored, their variances would have larger errors than stated,
and they would contradict the model. The law with the same two moments (`panjer`) replaces the Gaussian in all three
places. If the public rows of each component have two values only, the mean alone determines the law, and so the
variance. Columns depend on each other as Gaussian ones with the same covariance do. Uses public or released numbers
only.
"""

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells, View
from pubpriv.estimators._even_rows import even_chances, shuffled_columns
from pubpriv.estimators._lattice import count_steps
from pubpriv.estimators.gaussian.count_laws import counts_at, panjer
from pubpriv.estimators.mixture._linear import floored
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture, log_density

HEAPED = 0.3
"""Columns are counts if this share of the public rows has the least value of its component. That is the least value
that half this share of the component's own rows have, because a row of another component's tail may be among them."""

_BELOW = 0.05
"""They are no counts if more than this share of all rows is below that value, as with rounded numbers."""

_NEXT, _FEW = 0.2, 5
"""Nor are they if at least FEW rows are above that value and a smaller share of these than NEXT is one step above it:
counts with so many rows at their least value seldom skip the next one, columns of a few distant values do."""

_LEAST = 1e-3
"""Least mean and variance, in steps."""

_CLEARLY, _ROOM = 4.0, 0.05
"""Columns do not have two values if they contradict it by CLEARLY sds. The sd consists of noise, and of the part ROOM
of a variance that a few rows of other components may add, or a third value so rare that no public row has it."""

_CELLS, _FEWEST, _MOST = 100_000, 5_000, 10_000
"""Number of cells of the synthetic rows that represent a component, and bounds on their number of rows."""

PASSES = 5
"""Number of passes that restore what these rows lose to the clip."""

_TINY = 1e-3
"""Least whitened variance of these rows."""

_LOUD = 0.15
"""At this noise sd of a whitened variance, half of the computed loss to the clip is restored: the loss depends on the
variances, is about as large as this, and grows faster than they do."""

_POOLED = 0.5
"""Least variance of a component, as a part of the variance of all components together or of a squared step."""

_SHIFTS, _RANGE = (0.5, 0.25, 0.75, 0.0, 1.0), 0.0005
"""Candidate shifts of a component's centre, as parts of the way from its mean to the middle of its range, for assigning
rows: rows above the mean are further away than those below. The range leaves out this share of rows at either end."""


@public_value
@dataclass(frozen=True)
class CountLaws:
    """Least values and steps of the counts in each component's columns, in the table's own units.

    Attributes:
        origins: (k, d), least values.
        steps: (d,), step of each column.
        two_valued: (d,), columns whose mean determines their variance; (): none.
    """

    origins: tuple[tuple[float, ...], ...]
    steps: tuple[float, ...]
    two_valued: tuple[bool, ...] = ()

    @classmethod
    def of(cls, mixture: Mixture, public: np.ndarray) -> "CountLaws | None":
        """Find the laws from public rows (m, d), each in its likeliest component; None: not all columns are counts.

        If one column is not a count, its tail is unknown.
        """
        if len(public) < len(mixture.weights):
            return None
        steps = count_steps(public)
        if not steps.all():
            return None
        weights, means, covariances = mixture.arrays
        k = len(weights)
        each = [log_density(weights[[j]], means[[j]], covariances[[j]], public) for j in range(k)]
        owners = np.argmax(each, axis=0)
        if len(np.unique(owners)) < k:
            return None
        origins = np.array([[_heap(column) for column in public[owners == j].T] for j in range(k)])
        above = (public - origins[owners]) / steps
        if not counting(above):
            return None
        two = (above < 1.5).all(axis=0)
        return cls(row_tuples(origins), tuple(steps.tolist()), tuple(two.tolist()) if two.any() else ())

    def sample(self, mixture: Mixture, count: int, seed: int = 0) -> np.ndarray:
        """Draw rows (count, d) from a mixture of such components; the seed is fixed, so they are public."""
        weights, means, covariances = mixture.arrays
        ends = np.rint(np.cumsum(weights) / weights.sum() * count).astype(int)
        sizes = np.diff(ends, prepend=0)
        parts = zip(range(len(weights)), means, covariances, sizes, strict=True)
        return np.concatenate([self._rows(*part, seed) for part in parts])

    def rows_of_each(self, mixture: Mixture) -> np.ndarray:
        """Make synthetic rows (k, count, d) that represent each component."""
        return np.stack(
            [self._rows(j, *part, self._count) for j, part in enumerate(zip(*mixture.arrays[1:], strict=True))]
        )

    def held(self, scaling: Scaling, mixture: Mixture, m: int) -> Mixture:
        """Raise variances of a mixture, in standard coordinates, so that rows one step away remain possible.

        Public rows of a single value, m in all, say little about how rare the next value is. If a component excluded
        it, such rows would go to other components, which would grow over everything that is rare.
        """
        if scaling.shape:
            return mixture
        weights, means, covariances = mixture.arrays
        pooled = weights @ np.einsum("kii->ki", covariances) / weights.sum()
        steps = np.array(self.steps) / np.array(scaling.scale)
        least = _POOLED * np.minimum(pooled, steps**2) + steps**2 / m
        return Mixture.of(weights, means, [floored(covariance, least) for covariance in covariances])

    def tied(self, scaling: Scaling, mixture: Mixture) -> Mixture:
        """Replace the variances of two-valued columns by those that their means determine, in standard coordinates."""
        if not self.two_valued:
            return mixture
        weights, means, covariances = mixture.arrays
        implied = self.implied_variances(scaling.undo(mixture).arrays[1]) / np.array(scaling.scale) ** 2
        factors = np.sqrt(np.where(self.two_valued, implied / np.einsum("kii->ki", covariances), 1.0))
        return Mixture.of(weights, means, covariances * factors[:, :, None] * factors[:, None, :])

    def upheld(self, scaling: Scaling, mixture: Mixture, mean_sds: np.ndarray, variance_sds: np.ndarray) -> "CountLaws":
        """Treat columns as two-valued only if their measured variances do not clearly contradict it.

        The public rows may be too few to show a third value. If rows have two values, their variance is determined
        exactly by their own mean, so measured and implied variance differ by noise only.

        Args:
            scaling: the standard coordinates.
            mixture: as measured with these laws, in standard coordinates.
            mean_sds: (k, d) noise sds of its means.
            variance_sds: (k, d) noise sds of its variances.
        """
        if not self.two_valued:
            return self
        measured, excess, noise = self._excess(scaling, mixture, mean_sds, variance_sds)
        surprise = excess / np.hypot(noise, _ROOM * measured)
        return self._of_two(surprise.sum(axis=0) < _CLEARLY * math.sqrt(len(surprise)))

    def hidden(
        self, scaling: Scaling, mixture: Mixture, mean_sds: np.ndarray, variance_sds: np.ndarray, radius: float
    ) -> np.ndarray:
        """Bound what a third value may add to variances of two-valued columns, by what was measured: (k, d), one sd.

        In the table's own units. Clipping to `radius` leaves only a part of a row two steps up. For the other arguments
        see `upheld`.
        """
        _, excess, noise = self._excess(scaling, mixture, mean_sds, variance_sds)
        model, d = scaling.undo(mixture), len(self.steps)
        far = (2 - self.chances(model.arrays[1])) ** 2 * np.array(self.steps) ** 2
        lengths = far / np.einsum("kii->ki", model.arrays[2]) + d - 1
        return np.asarray(np.hypot(noise, np.maximum(excess, 0.0)) / np.minimum(1.0, radius**2 / lengths))

    def _excess(
        self, scaling: Scaling, mixture: Mixture, mean_sds: np.ndarray, variance_sds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give the measured variances, their excess over those of two values, and the excess's noise: (k, d) each."""
        _, means, covariances = scaling.undo(mixture).arrays
        scale, measured = np.array(scaling.scale), np.einsum("kii->ki", covariances)
        slope = (1 - 2 * self.chances(means)) * np.array(self.steps)
        noise = np.hypot(scale**2 * variance_sds, slope * scale * mean_sds)
        return measured, measured - self.implied_variances(means), noise

    def in_force(self, mixture: Mixture) -> "CountLaws":
        """Treat columns as two-valued only if they have such variances in a mixture, in the table's own units."""
        _, means, covariances = mixture.arrays
        alike = np.isclose(np.einsum("kii->ki", covariances), self.implied_variances(means), rtol=1e-6)
        return self._of_two(alike.all(axis=0))

    def _of_two(self, two: np.ndarray) -> "CountLaws":
        """Treat as two-valued only those columns that are among `two` (d,)."""
        kept = two & np.array(self.two_valued or False)
        return replace(self, two_valued=tuple(kept.tolist()) if kept.any() else ())

    def implied_variances(self, means: np.ndarray) -> np.ndarray:
        """Compute the variances (k, d) of two-valued columns with these means (k, d), in the table's own units."""
        chances = self.chances(means)
        return np.asarray(chances * (1 - chances) * np.array(self.steps) ** 2)

    def chances(self, means: np.ndarray) -> np.ndarray:
        """Compute the probabilities (k, d) of the larger of two values."""
        return np.asarray(np.clip((means - np.array(self.origins)) / np.array(self.steps), _LEAST, 1 - _LEAST))

    def given(self, scaling: Scaling, mixture: Mixture, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Give synthetic rows (k, count, d) that represent each component, and the cell (k * count,) of each.

        `mixture` and the rows are in standard coordinates.
        """
        model = scaling.undo(mixture)
        rows = self.in_force(model).rows_of_each(model)
        return scaling.apply(rows), cells.assign(View(rows.reshape(-1, rows.shape[-1]).T))

    def cells(self, scaling: Scaling, mixture: Mixture) -> Cells:
        """Make the cells that assign records to components with the fewest misassigned synthetic rows.

        Covariances are those of all components together, or each component's own if that misassigns fewer.

        Args:
            scaling: the standard coordinates.
            mixture: the model, in standard coordinates.
        """
        weights, _, covariances = mixture.arrays
        model = scaling.undo(mixture)
        rows = self.rows_of_each(model)
        view, owners = View(rows.reshape(-1, rows.shape[-1]).T), np.repeat(np.arange(len(rows)), rows.shape[1])
        low, high = np.quantile(rows, (_RANGE, 1 - _RANGE), axis=1)
        means = np.array(model.means)
        lying = [means + shift * ((low + high) / 2 - means) for shift in _SHIFTS]
        alike = np.broadcast_to(np.tensordot(weights, covariances, 1) / weights.sum(), covariances.shape)
        pairs = product((alike, covariances), map(scaling.apply, lying))
        tried = [scaling.cells(Mixture.of(weights, places, widths)) for widths, places in pairs]
        return min(tried, key=lambda cells: float((weights[owners] * (cells.assign(view) != owners)).sum()))

    def unclipped(
        self, component: int, frame: Frame, radius: float, shift: np.ndarray, spread: np.ndarray, sd: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute mean (d,) and covariance (d, d) of mapped rows from those of the rows clipped to a radius.

        `sd` is the noise sd of a variance.
        """
        origin, matrix = frame.dense()
        colour = np.linalg.inv(matrix)
        mean, covariance, put_back = shift, spread, part_put_back(sd)
        for _ in range(PASSES):
            held = floored(covariance, _TINY)
            rows = self._rows(component, origin + colour @ mean, colour @ held @ colour.T, self._count)
            z = (rows - origin) @ matrix.T
            lengths = np.linalg.norm(z, axis=1, keepdims=True)
            kept = z * np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
            mean = shift + put_back * (z - kept).mean(axis=0)
            covariance = spread + put_back * np.atleast_2d(np.cov(z.T) - np.cov(kept.T))
        return mean, covariance

    def unclipped_columns(
        self, frames: tuple[Frame, ...], radius: float, shifts: np.ndarray, variances: np.ndarray, sds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Do so for every component with diagonal covariances: means and variances (k, d), noise sds `sds` (k,)."""
        parts = enumerate(zip(frames, shifts, variances, sds, strict=True))
        found = [self.unclipped(j, frame, radius, shift, np.diag(own), sd) for j, (frame, shift, own, sd) in parts]
        return np.array([mean for mean, _ in found]), np.array([np.diag(spread) for _, spread in found])

    def counts(self, component: int, rows: np.ndarray) -> np.ndarray:
        """Convert rows (m, d) of a component into counts (m, d)."""
        return np.asarray(np.rint((rows - np.array(self.origins[component])) / np.array(self.steps)).astype(int))

    @property
    def _count(self) -> int:
        """Number of synthetic rows that represent a component."""
        return min(max(_CELLS // len(self.steps), _FEWEST), _MOST)

    def shares(self, component: int, mean: np.ndarray, sds: np.ndarray) -> list[np.ndarray]:
        """Give probabilities of the counts 0, 1, ... of each column, for a component with mean (d,) and `sds` (d,)."""
        steps = np.array(self.steps)
        means = np.maximum((mean - np.array(self.origins[component])) / steps, _LEAST)
        shares = [panjer(*each) for each in zip(means, np.maximum((sds / steps) ** 2, _LEAST), strict=True)]
        for column in np.flatnonzero(self.two_valued):
            chance = min(float(means[column]), 1 - _LEAST)
            shares[column] = np.array([1 - chance, chance])
        return shares

    def _rows(self, component: int, mean: np.ndarray, covariance: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
        """Make synthetic rows (count, d) that represent a component, evenly spread in each column."""
        from scipy.special import ndtr, ndtri

        sds = np.sqrt(np.diag(covariance))
        values, vectors = np.linalg.eigh(covariance / np.outer(sds, sds))
        even = shuffled_columns(ndtri(even_chances(count)), len(sds), [component, seed])
        ranks = ndtr(even @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
        shares = self.shares(component, mean, sds)
        return np.asarray(np.array(self.origins[component]) + np.array(self.steps) * counts_at(shares, ranks))


def part_put_back(sd: float) -> float:
    """Give the part of the clipping loss that is restored, for noise `sd` in a whitened variance."""
    return 1 / (1 + (sd / _LOUD) ** 2)


def counting(above: np.ndarray) -> bool:
    """Decide whether columns are counts, from the steps (m, d) by which rows exceed their component's least value."""
    heaped, below = (np.abs(above) < 0.5).mean(axis=0), (above < -0.5).mean(axis=0)
    higher, next_one = (above >= 0.5).sum(axis=0), (np.abs(above - 1) < 0.5).sum(axis=0)
    gapless = (higher < _FEW) | (next_one >= _NEXT * higher)
    return bool((heaped >= HEAPED).all() and (below <= _BELOW).all() and gapless.all())


def _heap(column: np.ndarray) -> float:
    """Find the least value that many rows (m,) share; the smallest value if there is none."""
    values, counts = np.unique(column, return_counts=True)
    return float(values[np.argmax(counts >= HEAPED / 2 * len(column))])
