"""Counts and clipped sums per region."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pubpriv.data._checks import kind, kinds
from pubpriv.data.codec import public_value
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.images import counts_of
from pubpriv.data.questions._region_sums import RegionSums
from pubpriv.data.questions.base import (
    COUNT_FACTOR,
    PARTITIONS,
    Additive,
    Part,
    Totals,
    Values,
    check_columns,
    check_noise,
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
        """Check that the partition fits the columns."""
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
        """w^2: squared length of what a record adds to its region, at most."""
        return squared_weight(self.parts["count"])

    @property
    def squared_distance(self) -> Fraction:
        """2 w^2, or w^2 for one region."""
        return min(self.partition.n_regions, 2) * self.squared_length

    def totals(self, view: View) -> Totals:
        """{"count": (n_regions,)}."""
        return {"count": counts_of(self.partition.assign(view.counting()), self.partition.n_regions, view.weights)}

    def values(self, noisy: Totals) -> Values:
        """Counts, (n_regions,)."""
        return {"count": noisy["count"] / COUNT_FACTOR}

    def noise(self) -> Values:
        """One sd for all counts."""
        return {"count": np.array([self.noise_scale / COUNT_FACTOR])}


@public_value
@dataclass(frozen=True)
class JointCounts(Additive):
    """How many records each region of several partitions has, from one scan for all of them.

    Sensitivity (replace-one): the counts of one partition are `Counts`, at most min(regions, 2) of which change, each
    by one. Squared distances of different partitions add: the sum over partitions of min(regions, 2).

    Attributes:
        partitions: partitions, in the order of their counts.
        noise_scale: integer sd of every count.
    """

    partitions: tuple[Partition, ...]
    noise_scale: int

    def __post_init__(self) -> None:
        kinds("the partitions of JointCounts", self.partitions, *PARTITIONS)
        check_noise("JointCounts", self.noise_scale)
        object.__setattr__(self, "partitions", _with_shared_cells(self.partitions))

    def check(self, columns: int) -> None:
        """Check that every partition fits the columns."""
        for partition in self.partitions:
            check_columns(columns, partition)

    @classmethod
    def priced(cls, partitions: tuple[Partition, ...], squared_distance: Fraction) -> "JointCounts":
        """Counts whose price mu^2, for all partitions together, is at most `squared_distance`."""
        kinds("the partitions of JointCounts", partitions, *PARTITIONS)
        return cls(partitions, noise_for(squared_distance / _changed(partitions), COUNT_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """One coordinate per region of each partition, one partition after the other."""
        regions = sum(partition.n_regions for partition in self.partitions)
        return {"count": Part(regions, COUNT_FACTOR, self.noise_scale, 1)}

    @property
    def squared_length(self) -> Fraction:
        """(p w)^2 for p partitions: a record adds w to a region of each, and these lengths add up."""
        return len(self.partitions) ** 2 * squared_weight(self.parts["count"])

    @property
    def squared_distance(self) -> Fraction:
        """w^2 times the sum over partitions of min(regions, 2)."""
        return _changed(self.partitions) * squared_weight(self.parts["count"])

    def totals(self, view: View) -> Totals:
        """{"count": concatenated counts}."""
        once = view.counting()
        counts = [counts_of(partition.assign(once), partition.n_regions, view.weights) for partition in self.partitions]
        return {"count": np.concatenate(counts)}

    def values(self, noisy: Totals) -> Values:
        """Counts, concatenated; `split` takes them apart."""
        return {"count": noisy["count"] / COUNT_FACTOR}

    def noise(self) -> Values:
        """One sd for all counts."""
        return {"count": np.array([self.noise_scale / COUNT_FACTOR])}

    def split(self, counts: np.ndarray) -> list[np.ndarray]:
        """Take concatenated counts apart, one array for each partition."""
        return np.split(counts, np.cumsum([partition.n_regions for partition in self.partitions[:-1]]))


@public_value
@dataclass(frozen=True)
class ClippedSums(RegionSums):
    """Sum over each region of q, the record's clipped and rounded image under the region's frame.

    Sensitivity (replace-one), all regions together: write q for the old vector in region i and q' for the new
    one in region j, both of norm at most R. If i = j one block changes by |q - q'| <= 2R; if not, two blocks
    change, by |q|^2 + |q'|^2 <= 2 R^2. So 4 R^2.
    """

    part = "sum"
    reach = 4


def _changed(partitions: tuple[Partition, ...]) -> int:
    """Largest number of counts that one replaced record changes."""
    return sum(min(partition.n_regions, 2) for partition in partitions)


def _with_shared_cells(partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
    """Let partitions with equal cells share one object for these, so that a block is mapped once for all of them."""
    cells = [partition.cells for partition in partitions if isinstance(partition, ComponentShells)]
    return tuple(
        replace(partition, cells=cells[cells.index(partition.cells)])
        if isinstance(partition, ComponentShells)
        else partition
        for partition in partitions
    )
