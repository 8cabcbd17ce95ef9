"""Regions that are divided again, each by a partition of its own."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data._checks import kind, kinds
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import public_value
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.regions import Cells, Everything, NearestPoint, Shells, View
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class Refined:
    """Each region of `groups`, divided by a partition of its own; regions are numbered consecutively.

    A record is in at most one region of `groups`, and in at most one region of that group's inner partition; this also
    holds if the groups are themselves `Refined`. Each inner partition may be cells of another column, or have other
    edges: which one is asked of a record depends on its own group alone.
    """

    groups: "NearestPoint | Everything | Cells | Refined | ByCategory"
    inner: tuple[Cells | Shells | ColumnCells, ...]

    def __post_init__(self) -> None:
        kind("the groups of Refined", self.groups, NearestPoint, Everything, Cells, Refined, ByCategory)
        kinds("the inner partitions of Refined", self.inner, Cells, Shells, ColumnCells)
        known: dict[
            Cells | Shells | ColumnCells, Cells | Shells | ColumnCells
        ] = {}  # groups with the same cells map a block once
        object.__setattr__(self, "inner", tuple(known.setdefault(cells, cells) for cells in self.inner))
        if self.groups.n_regions != len(self.inner):
            raise InvalidInput(
                f"Refined has {self.groups.n_regions} groups, but inner partitions for {len(self.inner)}"
            )

    def check(self, columns: int) -> None:
        """Check that every part fits the columns."""
        for part in (self.groups, *self.inner):
            part.check(columns)

    @property
    def n_regions(self) -> int:
        """Number of regions in all inner partitions."""
        return sum(cells.n_regions for cells in self.inner)

    def assign(self, view: View) -> np.ndarray:
        """Return each record's region in the inner partition of its group, plus the regions of earlier groups."""
        group = self.groups.assign(view)
        labels = np.full(group.shape, -1)
        first, assigned = 0, {id(cells): cells.assign(view) for cells in {id(c): c for c in self.inner}.values()}
        for number, cells in enumerate(self.inner):
            inner = assigned[id(cells)]
            labels = np.where((group == number) & (inner >= 0), first + inner, labels)
            first += cells.n_regions
        return labels
