"""Components whose columns all count something: no Gaussians, but of laws that a mean and a variance determine.

Rows of small counts reach further above their mean than Gaussian rows, and never below their least value. Taken for
Gaussian ones, what a clip takes from their tail is not put back, their variances vary more than is said, and their
counts contradict the model. So the law that both moments determine (`panjer`) replaces the Gaussian in all three.
Where public rows have two values only in each component, the mean alone determines the law, and the variance with it.
Columns depend on one another as Gaussian ones of the same covariance do. Public, or made of released numbers.
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
"""Columns count if so large a share of the public rows has the least value of its component: the least that half as
large a share of the component's own rows have, for a row of another's tail may be among them."""

_BELOW = 0.05
"""They are no counts if more than so large a share of all rows lie below that value, as those of rounded numbers do."""

_NEXT, _FEW = 0.2, 5
"""Nor if of the rows above that value, FEW or more, less than so large a share lie one step above it: what counts with
so many rows at its least value seldom leaves the next one out, and columns of a few values that are far apart do."""

_LEAST = 1e-3
"""Means and variances in steps are at least this."""

_CLEARLY, _ROOM = 4.0, 0.05
"""So many sds contradict that a column has two values: of noise, and of what a few rows of other components, or a third
value as rare as no public row has it, add to a variance, as a part of it."""

_CELLS, _FEWEST, _MOST = 100_000, 5_000, 10_000
"""Rows that stand for a component's: so many cells, within these bounds, ..."""

PASSES = 5
"""... as often as what they lose to the clip is put back, ..."""

_TINY = 1e-3
"""... with whitened variances of at least this."""

_LOUD = 0.15
"""At this noise sd of a whitened variance half of what the clip is said to have taken is put back: that hangs on the
variances, is about as large as this, and grows faster than they do."""

_POOLED = 0.5
"""No component is taken to have less than this part of the variance that all have together; up to a squared step."""

_SHIFTS, _RANGE = (0.5, 0.25, 0.75, 0.0, 1.0), 0.0005
"""Parts of the way from a component's mean to the middle of its range that are tried as where it lies, for the question
whose a row is: rows above it are further off than those below. The range leaves out so many at either end."""


@public_value
@dataclass(frozen=True)
class CountLaws:
    """From which value on the columns of each component count, and in which steps: both in the table's own units.

    Attributes:
        origins: (k, d).
        steps: (d,).
        two_valued: (d,), columns whose mean determines their variance; (): none.
    """

    origins: tuple[tuple[float, ...], ...]
    steps: tuple[float, ...]
    two_valued: tuple[bool, ...] = ()

    @classmethod
    def of(cls, mixture: Mixture, public: np.ndarray) -> "CountLaws | None":
        """Read them from public rows (m, d), each of its likeliest component; None: not all columns count.

        Where others do not, they may have any tail.
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
        """Draw rows (count, d) of a mixture's components; the seed is fixed, so they are public."""
        weights, means, covariances = mixture.arrays
        ends = np.rint(np.cumsum(weights) / weights.sum() * count).astype(int)
        sizes = np.diff(ends, prepend=0)
        parts = zip(range(len(weights)), means, covariances, sizes, strict=True)
        return np.concatenate([self._rows(*part, seed) for part in parts])

    def rows_of_each(self, mixture: Mixture) -> np.ndarray:
        """Rows (k, count, d) that stand for those of each component."""
        return np.stack(
            [self._rows(j, *part, self._count) for j, part in enumerate(zip(*mixture.arrays[1:], strict=True))]
        )

    def held(self, scaling: Scaling, mixture: Mixture, m: int) -> Mixture:
        """A mixture, in standard coordinates, with variances that no row one step off contradicts.

        Public rows of one value, m in all, say little of how seldom a row has the next one. Where a component took that
        for never, such rows would be given to others, which would swell over all that are seldom.
        """
        if scaling.shape:
            return mixture
        weights, means, covariances = mixture.arrays
        pooled = weights @ np.einsum("kii->ki", covariances) / weights.sum()
        steps = np.array(self.steps) / np.array(scaling.scale)
        least = _POOLED * np.minimum(pooled, steps**2) + steps**2 / m
        return Mixture.of(weights, means, [floored(covariance, least) for covariance in covariances])

    def tied(self, scaling: Scaling, mixture: Mixture) -> Mixture:
        """A mixture, in standard coordinates, with the variances that means of two-valued columns determine."""
        if not self.two_valued:
            return mixture
        weights, means, covariances = mixture.arrays
        implied = self.implied_variances(scaling.undo(mixture).arrays[1]) / np.array(scaling.scale) ** 2
        factors = np.sqrt(np.where(self.two_valued, implied / np.einsum("kii->ki", covariances), 1.0))
        return Mixture.of(weights, means, covariances * factors[:, :, None] * factors[:, None, :])

    def upheld(self, scaling: Scaling, mixture: Mixture, mean_sds: np.ndarray, variance_sds: np.ndarray) -> "CountLaws":
        """Keep two values only in columns whose measured variances do not clearly contradict that they have two.

        Public rows may be too few to show a third value. Variances of rows of two values are those that the rows' own
        mean determines, to the last bit: both differ by noise only.

        Args:
            scaling: of the standard coordinates.
            mixture: in these, as measured by these laws.
            mean_sds: (k, d) of the noise in its means.
            variance_sds: (k, d) of the noise in its variances.
        """
        if not self.two_valued:
            return self
        measured, excess, noise = self._excess(scaling, mixture, mean_sds, variance_sds)
        surprise = excess / np.hypot(noise, _ROOM * measured)
        return self._of_two(surprise.sum(axis=0) < _CLEARLY * math.sqrt(len(surprise)))

    def hidden(
        self, scaling: Scaling, mixture: Mixture, mean_sds: np.ndarray, variance_sds: np.ndarray, radius: float
    ) -> np.ndarray:
        """Tell what a third value may add to the variances of two, for all that was measured: (k, d), one sd.

        In the table's own units. Of a row two steps up a clip to `radius` leaves a part only. For the other arguments
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
        """Give measured variances, what they exceed those of two values by, and the noise of that: (k, d) each."""
        _, means, covariances = scaling.undo(mixture).arrays
        scale, measured = np.array(scaling.scale), np.einsum("kii->ki", covariances)
        slope = (1 - 2 * self.chances(means)) * np.array(self.steps)
        noise = np.hypot(scale**2 * variance_sds, slope * scale * mean_sds)
        return measured, measured - self.implied_variances(means), noise

    def in_force(self, mixture: Mixture) -> "CountLaws":
        """Keep two values only in columns that have the variances of two in a mixture, in the table's own units."""
        _, means, covariances = mixture.arrays
        alike = np.isclose(np.einsum("kii->ki", covariances), self.implied_variances(means), rtol=1e-6)
        return self._of_two(alike.all(axis=0))

    def _of_two(self, two: np.ndarray) -> "CountLaws":
        """Keep two values only in columns (d,) of these."""
        kept = two & np.array(self.two_valued or False)
        return replace(self, two_valued=tuple(kept.tolist()) if kept.any() else ())

    def implied_variances(self, means: np.ndarray) -> np.ndarray:
        """Give the variances (k, d) of two-valued columns with these means (k, d), in the table's own units."""
        chances = self.chances(means)
        return np.asarray(chances * (1 - chances) * np.array(self.steps) ** 2)

    def chances(self, means: np.ndarray) -> np.ndarray:
        """Give the chances (k, d) of the larger of two values."""
        return np.asarray(np.clip((means - np.array(self.origins)) / np.array(self.steps), _LEAST, 1 - _LEAST))

    def given(self, scaling: Scaling, mixture: Mixture, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Rows (k, count, d) that stand for those of each component, and the cell (k * count,) of each.

        Mixture and rows are in standard coordinates.
        """
        model = scaling.undo(mixture)
        rows = self.in_force(model).rows_of_each(model)
        return scaling.apply(rows), cells.assign(View(rows.reshape(-1, rows.shape[-1]).T))

    def cells(self, scaling: Scaling, mixture: Mixture) -> Cells:
        """Give each record to a component, by cells that lose the fewest of the rows that stand for each.

        Covariances are those of all components together, or their own if fewer rows are lost with these.

        Args:
            scaling: of the standard coordinates.
            mixture: in these.
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
        """Mean (d,) and covariance (d, d) of mapped rows from those of the rows clipped to a radius.

        `sd` is the noise in a variance.
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
        """The same of every component, of variances alone: means and variances (k, d), with noise of `sds` (k,)."""
        parts = enumerate(zip(frames, shifts, variances, sds, strict=True))
        found = [self.unclipped(j, frame, radius, shift, np.diag(own), sd) for j, (frame, shift, own, sd) in parts]
        return np.array([mean for mean, _ in found]), np.array([np.diag(spread) for _, spread in found])

    def counts(self, component: int, rows: np.ndarray) -> np.ndarray:
        """Counts (m, d) of rows (m, d) of a component."""
        return np.asarray(np.rint((rows - np.array(self.origins[component])) / np.array(self.steps)).astype(int))

    @property
    def _count(self) -> int:
        """How many rows stand for a component's."""
        return min(max(_CELLS // len(self.steps), _FEWEST), _MOST)

    def shares(self, component: int, mean: np.ndarray, sds: np.ndarray) -> list[np.ndarray]:
        """Shares of the counts 0, 1, ... of each column, of a component with that mean (d,) and these `sds` (d,)."""
        steps = np.array(self.steps)
        means = np.maximum((mean - np.array(self.origins[component])) / steps, _LEAST)
        shares = [panjer(*each) for each in zip(means, np.maximum((sds / steps) ** 2, _LEAST), strict=True)]
        for column in np.flatnonzero(self.two_valued):
            chance = min(float(means[column]), 1 - _LEAST)
            shares[column] = np.array([1 - chance, chance])
        return shares

    def _rows(self, component: int, mean: np.ndarray, covariance: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
        """Rows (count, d) that stand for those of a component: evenly in each column."""
        from scipy.special import ndtr, ndtri

        sds = np.sqrt(np.diag(covariance))
        values, vectors = np.linalg.eigh(covariance / np.outer(sds, sds))
        even = shuffled_columns(ndtri(even_chances(count)), len(sds), [component, seed])
        ranks = ndtr(even @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
        shares = self.shares(component, mean, sds)
        return np.asarray(np.array(self.origins[component]) + np.array(self.steps) * counts_at(shares, ranks))


def part_put_back(sd: float) -> float:
    """Tell what part of what a clip took is put back, with noise `sd` in a whitened variance."""
    return 1 / (1 + (sd / _LOUD) ** 2)


def counting(above: np.ndarray) -> bool:
    """Tell whether columns count, where rows (m, d) are so many steps above the least value of their component."""
    heaped, below = (np.abs(above) < 0.5).mean(axis=0), (above < -0.5).mean(axis=0)
    higher, next_one = (above >= 0.5).sum(axis=0), (np.abs(above - 1) < 0.5).sum(axis=0)
    gapless = (higher < _FEW) | (next_one >= _NEXT * higher)
    return bool((heaped >= HEAPED).all() and (below <= _BELOW).all() and gapless.all())


def _heap(column: np.ndarray) -> float:
    """Find the least value that many rows (m,) share; the least of all, if there is none."""
    values, counts = np.unique(column, return_counts=True)
    return float(values[np.argmax(counts >= HEAPED / 2 * len(column))])
