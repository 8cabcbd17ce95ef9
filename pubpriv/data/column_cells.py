"""Cells of one column, for quantiles: which of some public edges a cell lies between.

Like every partition it is fixed by public values and released answers, and a record's region depends on one cell of
that record alone, by comparisons of floats without arithmetic: no place in a block and no neighbour can move it. So a
replaced record leaves at most one region and enters at most one other.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pubpriv.data._checks import integer, numbers
from pubpriv.data.codec import public_value
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

_MOST = 1 << 12
"""Most edges: as many as a block has records."""


@public_value
@dataclass(frozen=True)
class ColumnCells:
    """Cells of a column: region k has edge_(k-1) < x <= edge_k, the one after the last edge has no upper one.

    The last region has the records whose cell is missing or infinite. So each record is in exactly one region, whatever
    its other cells are, and the counts of a column add up to the number of records. A value a of which there are many
    rows has a region of its own between the largest float below a and a itself.

    Attributes:
        column: index of the column among those of the estimate.
        edges: finite and rising; there are two regions more than edges.

    Raises:
        InvalidInput: other edges, or more than 4,096.
    """

    column: int
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        integer("the column of ColumnCells", self.column, 0)
        numbers("the edges of ColumnCells", self.edges)
        if len(self.edges) > _MOST:
            raise InvalidInput(f"ColumnCells have at most {_MOST} edges, not {len(self.edges)}")
        if any(low >= high for low, high in pairwise(map(float, self.edges))):
            raise InvalidInput("the edges of ColumnCells must rise")

    def check(self, columns: int) -> None:
        """Check that there is such a column."""
        if self.column >= columns:
            raise InvalidInput(f"ColumnCells are about column {self.column + 1} of {columns}")

    @property
    def n_regions(self) -> int:
        """Two more than edges."""
        return len(self.edges) + 2

    @cached_property
    def _sorted(self) -> np.ndarray:
        return np.array(self.edges, dtype=np.float64)

    def assign(self, view: View) -> np.ndarray:
        """Return the cell of each record, -1 for what pads the block."""
        cells = view.block[self.column]
        labels = np.where(np.isfinite(cells), np.searchsorted(self._sorted, cells, side="left"), self.n_regions - 1)
        labels[view.records :] = -1
        return labels
