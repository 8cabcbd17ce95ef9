"""Counts and clipped sums per region."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pubpriv.data.checks import kind
from pubpriv.data.codec import public_value
from pubpriv.data.frames import GRID, Frame, grid_scale, quantise
from pubpriv.data.questions.base import (
    COUNT_FACTOR,
    PARTITIONS,
    SUM_FACTOR,
    Additive,
    Part,
    Totals,
    Values,
    check_columns,
    check_noise,
    check_regions,
    noise_for,
    squared_weight,
)
from pubpriv.data.regions import Partition, View


@public_value
@dataclass(frozen=True)
class Counts(Additive):
    """How many records each region holds.

    Sensitivity (replace-one): the record leaves at most one region and enters at most one other, so at most
    two counts change, each by one: squared distance 2. With a single region whose complement is not asked,
    one count changes by one: squared distance 1.
    """

    partition: Partition
    noise_scale: int

    def __post_init__(self) -> None:
        kind("the partition of Counts", self.partition, *PARTITIONS)
        check_noise("Counts", self.noise_scale)

    def check(self, columns: int) -> None:
        """The partition fits the columns."""
        check_columns(columns, self.partition)

    @classmethod
    def priced(cls, partition: Partition, squared_distance: Fraction) -> "Counts":
        """Counts whose price mu^2 is at most `squared_distance`."""
        kind("the partition of Counts", partition, *PARTITIONS)
        changed = min(partition.n_regions, 2)
        return cls(partition, noise_for(squared_distance / changed, COUNT_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """One coordinate per region."""
        return {"count": Part(self.partition.n_regions, COUNT_FACTOR, self.noise_scale, 1)}

    @property
    def squared_length(self) -> Fraction:
        """w^2: of what a record adds to its region, at most."""
        return squared_weight(self.parts["count"])

    @property
    def squared_distance(self) -> Fraction:
        """2 w^2, or w^2 for one region."""
        return min(self.partition.n_regions, 2) * self.squared_length

    def totals(self, view: View) -> Totals:
        """{"count": (n_regions,)}."""
        return {"count": _counts_of(self.partition.assign(view), self.partition.n_regions)}

    def values(self, noisy: Totals) -> Values:
        """Counts, (n_regions,)."""
        return {"count": noisy["count"] / COUNT_FACTOR}

    def noise(self) -> Values:
        """One sd for all counts."""
        return {"count": np.array([self.noise_scale / COUNT_FACTOR])}


@public_value
@dataclass(frozen=True)
class ClippedSums(Additive):
    """Sum over each region of q, the record's clipped and rounded image under the region's frame.

    Sensitivity (replace-one), all regions together: write q for the old vector in region i and q' for the new
    one in region j, both of norm at most R. If i = j one block changes by |q - q'| <= 2R; if not, two blocks
    change, by |q|^2 + |q'|^2 <= 2 R^2. So 4 R^2.
    """

    partition: Partition
    frames: tuple[Frame, ...]
    radii: tuple[float, ...]
    noise_scale: int

    def __post_init__(self) -> None:
        check_regions("ClippedSums", self.partition, self.frames, self.radii)
        check_noise("ClippedSums", self.noise_scale)

    def check(self, columns: int) -> None:
        """Partition and frames fit the columns."""
        check_columns(columns, self.partition, self.frames)

    @classmethod
    def priced(
        cls,
        partition: Partition,
        frames: tuple[Frame, ...],
        radii: tuple[float, ...],
        squared_distance: Fraction,
    ) -> "ClippedSums":
        """Sums whose price mu^2 is at most `squared_distance`."""
        return cls(partition, frames, radii, noise_for(squared_distance / (4 * GRID * GRID), SUM_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """One coordinate per region and direction."""
        return {"sum": Part(sum(f.dimension for f in self.frames), SUM_FACTOR, self.noise_scale, GRID)}

    @property
    def squared_length(self) -> Fraction:
        """R^2 w^2: of what a record adds to its region, at most."""
        return GRID * GRID * squared_weight(self.parts["sum"])

    @property
    def squared_distance(self) -> Fraction:
        """4 R^2 w^2."""
        return 4 * self.squared_length

    def totals(self, view: View) -> Totals:
        """{"sum": concatenated sums}."""
        labels = self.partition.assign(view)
        sums = []
        for region, (frame, radius) in enumerate(zip(self.frames, self.radii, strict=True)):
            q, _ = quantise(*view.picked(frame, labels == region), radius)
            sums.append(q.sum(axis=1))
        return {"sum": np.concatenate(sums).astype(np.int64)}

    def values(self, noisy: Totals) -> Values:
        """Sums of z, concatenated over regions."""
        return {"sum": noisy["sum"] / self._steps}

    def noise(self) -> Values:
        """sd of each coordinate."""
        return {"sum": self.noise_scale / self._steps}

    @property
    def _steps(self) -> np.ndarray:
        steps = [SUM_FACTOR * grid_scale(f.dimension, r) for f, r in zip(self.frames, self.radii, strict=True)]
        return np.repeat(steps, [f.dimension for f in self.frames])


def _counts_of(labels: np.ndarray, regions: int) -> np.ndarray:
    """Records per region, int64 (regions,); label -1 is nobody's."""
    return np.bincount(labels[labels >= 0], minlength=regions).astype(np.int64)
