"""Cells of a grid, listed one by one, in each region of another partition.

Like every partition it is fixed by public values and released answers, and a record's region depends on that record
alone: it is in at most one region of `groups`, there in one cell of the grid, and a cell is listed at most once.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from pubpriv.data._checks import integer, kind, kinds
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, NearestPoint, View
from pubpriv.errors import InvalidInput

_FURTHEST = 1 << 30
"""Largest magnitude of a cell's numbers."""


@public_value
@dataclass(frozen=True)
class GridCells:
    """The listed cells of a grid of side 1 over z = frame(x), with a frame and a list for each region of `groups`.

    Cell c contains the records with floor(z_j) = c_j for every direction j. Regions are numbered consecutively, group
    by group, in the order of the lists. A record in a cell that is not listed is in no region; a list may be empty.

    Raises:
        InvalidInput: lists that do not match the groups or the frames, a cell that is listed twice or too far out, or
            a list so wide that its cells cannot be numbered.
    """

    groups: Everything | NearestPoint | Cells | Refined
    frames: tuple[Frame, ...]
    cells: tuple[tuple[tuple[int, ...], ...], ...]

    def __post_init__(self) -> None:
        kind("the groups of GridCells", self.groups, Everything, NearestPoint, Cells, Refined)
        kinds("the frames of GridCells", self.frames, Frame)
        kinds("the cells of GridCells", self.cells, tuple)
        if not len(self.frames) == len(self.cells) == self.groups.n_regions:
            raise InvalidInput(f"GridCells need a frame and a list of cells for each of {self.groups.n_regions} groups")
        if not any(self.cells):
            raise InvalidInput("GridCells need a cell")
        for frame, listed in zip(self.frames, self.cells, strict=True):
            _check_cells(listed, frame.dimension)

    def check(self, columns: int) -> None:
        """Check that groups and frames fit the columns."""
        for part in (self.groups, *self.frames):
            part.check(columns)

    @property
    def n_regions(self) -> int:
        """Number of listed cells in all groups."""
        return sum(map(len, self.cells))

    @cached_property
    def _tables(self) -> list["_Table"]:
        first, found = 0, []
        for listed in self.cells:
            found.append(_Table.of(listed, first))
            first += len(listed)
        return found

    def assign(self, view: View) -> np.ndarray:
        """Return the number of each record's cell, -1 if its image is not finite or its cell is not listed."""
        group = self.groups.assign(view)
        labels = np.full(group.shape, -1)
        for number, (frame, table) in enumerate(zip(self.frames, self._tables, strict=True)):
            if len(table.keys):
                labels = np.where(group == number, table.find(view.mapped(frame)[0]), labels)
        return labels


@dataclass(frozen=True)
class _Table:
    """Listed cells of one group, sorted by a key that is linear in a cell's numbers.

    Attributes:
        low, high: (ell, 1), smallest and largest number in each direction.
        strides: (ell, 1), coefficients of the key.
        keys: keys of the listed cells.
        regions: their regions.
    """

    low: np.ndarray
    high: np.ndarray
    strides: np.ndarray
    keys: np.ndarray
    regions: np.ndarray

    @classmethod
    def of(cls, listed: tuple[tuple[int, ...], ...], first: int) -> "_Table":
        if not listed:
            none = np.empty((0, 1), dtype=np.int64)
            return cls(none, none, none, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        cells = np.array(listed, dtype=np.int64).T
        low, high = cells.min(axis=1, keepdims=True), cells.max(axis=1, keepdims=True)
        strides = np.cumprod(np.r_[1, (high - low + 1)[:-1, 0]])[:, None]
        keys = ((cells - low) * strides).sum(axis=0)
        order = np.argsort(keys)
        return cls(low, high, strides, keys[order], first + order)

    def find(self, z: np.ndarray) -> np.ndarray:
        """Return region of each column of z (ell, length), -1 for none."""
        inside = ((z >= self.low) & (z < self.high + 1)).all(axis=0)
        cell = np.floor(np.where(inside, z, self.low)).astype(np.int64)
        keys = ((cell - self.low) * self.strides).sum(axis=0)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(inside & (self.keys[place] == keys), self.regions[place], -1)


def _check_cells(listed: tuple[tuple[int, ...], ...], dimension: int) -> None:
    """Check that each cell is a tuple of integers, one for each direction of the frame, and is listed once."""
    for cell in listed:
        kind("each of the cells of GridCells", cell, tuple)
        if len(cell) != dimension:
            raise InvalidInput(f"a cell of GridCells has {len(cell)} numbers, but its frame {dimension} directions")
        for number in cell:
            integer("each number of a cell", number, -_FURTHEST)
            if number > _FURTHEST:
                raise InvalidInput("a cell of GridCells lies too far out")
    if len(set(listed)) != len(listed):
        raise InvalidInput("a cell of GridCells is listed twice")
    if listed and prod(max(along) - min(along) + 1 for along in zip(*listed, strict=True)) >= 1 << 62:
        raise InvalidInput("the cells of GridCells lie too far apart to be numbered")
