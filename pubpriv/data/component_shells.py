"""How far a record lies from the component that it belongs to: a partition that shows whether components fit.

Like every partition it is fixed by public values and released answers, so a replaced record leaves at most one region
and enters at most one other.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pubpriv.data.checks import kind, kinds, numbers, size
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells, View
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class ComponentShells:
    """A record's cell, and how far out it lies there: shell s has edge_(s-1) < |z| <= edge_s, and the last is open.

    z is the record's image under its cell's frame, or under another frame for each cell. Both the cell and the shell
    depend on that record alone, and a record has one of each, so it is in one region at most.

    Attributes:
        cells: components.
        edges: radii, positive and rising, the same in all cells.
        frames: in which lengths are meant, one for each cell; (): those of the cells.

    Raises:
        InvalidInput: edges that do not rise, or another number of frames than of cells.
    """

    cells: Cells
    edges: tuple[float, ...]
    frames: tuple[Frame, ...] = ()

    def __post_init__(self) -> None:
        kind("the cells of ComponentShells", self.cells, Cells)
        numbers("the edges of ComponentShells", self.edges)
        for edge in self.edges:
            size("each of the edges of ComponentShells", edge)
        if any(near >= far for near, far in pairwise(self.edges)):
            raise InvalidInput("the edges of ComponentShells must rise")
        if self.frames != ():
            kinds("the frames of ComponentShells", self.frames, Frame)
            if len(self.frames) != self.cells.n_regions:
                raise InvalidInput(f"ComponentShells have {len(self.frames)} frames, but {self.cells.n_regions} cells")

    def check(self, columns: int) -> None:
        """Every frame fits the columns."""
        self.cells.check(columns)
        for frame in self.frames:
            frame.check(columns)

    @property
    def shells(self) -> int:
        """One more than edges."""
        return len(self.edges) + 1

    @property
    def n_regions(self) -> int:
        """All shells of the first cell, then those of the second, and so on."""
        return self.cells.n_regions * self.shells

    @cached_property
    def _squares(self) -> np.ndarray:
        return np.square(np.array(self.edges, dtype=np.float64))

    def assign(self, view: View) -> np.ndarray:
        """Shell of each record in its cell; none where the record has no cell, or its squared length is not finite."""
        owner = self.cells.assign(view)
        norms = np.stack([view.mapped(frame)[1] for frame in self.frames or self.cells.frames])
        own = norms[np.maximum(owner, 0), np.arange(len(owner))]
        sound = (owner >= 0) & np.isfinite(own)
        return np.where(sound, owner * self.shells + np.searchsorted(self._squares, own, side="left"), -1)
