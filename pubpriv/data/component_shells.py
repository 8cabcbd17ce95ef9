"""Partition by a record's distance from its component, which shows whether components fit.

Like every partition it is fixed by public values and released answers, so a replaced record leaves at most one region
and enters at most one other.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pubpriv.data._checks import integer, kind, kinds, numbers, size
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells, View
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class ComponentShells:
    """Shells around each cell: shell s has edge_(s-1) < |z| <= edge_s, and the last is open.

    z is the record's image under its cell's frame, or under another frame for each cell. Both the cell and the shell
    depend on that record alone, and a record has one of each, so it is in one region at most.

    Attributes:
        cells: components.
        edges: radii, positive and rising, the same in all cells.
        frames: frames in which lengths are measured, one for each cell; (): those of the cells.
        shared: number of outermost shells that are one region for all cells together.

    Raises:
        InvalidInput: edges that do not rise, another number of frames than of cells, more shared shells than edges.
    """

    cells: Cells
    edges: tuple[float, ...]
    frames: tuple[Frame, ...] = ()
    shared: int = 0

    def __post_init__(self) -> None:
        kind("the cells of ComponentShells", self.cells, Cells)
        numbers("the edges of ComponentShells", self.edges)
        for edge in self.edges:
            size("each of the edges of ComponentShells", edge)
        if any(near >= far for near, far in pairwise(self.edges)):
            raise InvalidInput("the edges of ComponentShells must rise")
        if type(self.frames) is not tuple or self.frames:
            kinds("the frames of ComponentShells", self.frames, Frame)
            if len(self.frames) != self.cells.n_regions:
                raise InvalidInput(f"ComponentShells have {len(self.frames)} frames, but {self.cells.n_regions} cells")

        integer("the shared shells of ComponentShells", self.shared, 0)
        if self.shared > len(self.edges):
            raise InvalidInput("ComponentShells share at most as many shells as they have edges")

    def check(self, columns: int) -> None:
        """Check that every frame fits the columns."""
        self.cells.check(columns)
        for frame in self.frames:
            frame.check(columns)

    @property
    def own(self) -> int:
        """Shells that each cell has of its own."""
        return len(self.edges) + 1 - self.shared

    @property
    def n_regions(self) -> int:
        """All shells of the first cell, then those of the second, and so on; last the shared ones."""
        return self.cells.n_regions * self.own + self.shared

    @cached_property
    def _squares(self) -> np.ndarray:
        return np.square(np.array(self.edges, dtype=np.float64))

    def assign(self, view: View) -> np.ndarray:
        """Return the shell of each record in its cell, none if it has no cell or its squared length is not finite."""
        owner = self.cells.assign(view)
        norms = np.stack([view.norms(frame) for frame in self.frames or self.cells.frames])
        own = norms[np.maximum(owner, 0), np.arange(len(owner))]
        sound = (owner >= 0) & np.isfinite(own)
        shell = np.searchsorted(self._squares, own, side="left")
        inner = shell < self.own
        return np.where(sound, np.where(inner, owner, self.cells.n_regions - 1) * self.own + shell, -1)
