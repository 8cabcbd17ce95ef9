"""Patterns of missing cells: which of the table's columns a record lacks.

Like every partition it is fixed by public values, and a record's region depends on that record alone, by comparisons of
its own cells. So a replaced record leaves at most one region and enters at most one other.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data._checks import flag, integer, kind
from pubpriv.data.codec import public_value
from pubpriv.data.completion import packed_columns
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

_MOST = 1 << 12
"""Most listed patterns."""


@public_value
@dataclass(frozen=True)
class MissingPatterns:
    """Records by which of some columns they lack.

    The first regions are the listed patterns. If `by_number`, all other records follow by how many of the columns they
    lack, from none to all of them; otherwise they are in no region. Nor is a record without any cell in the whole
    table, to which padding belongs, or with an infinite cell: questions about completed records leave these out.

    Attributes:
        columns: indices of the columns, rising.
        listed: patterns, each the rising indices of its missing columns.
        by_number: whether records of other patterns have regions.

    Raises:
        InvalidInput: columns or patterns that do not rise, patterns that are there twice or lack other columns, none,
            or more than 4,096.
    """

    columns: tuple[int, ...]
    listed: tuple[tuple[int, ...], ...]
    by_number: bool

    def __post_init__(self) -> None:
        kind("the columns of MissingPatterns", self.columns, tuple)
        kind("the listed patterns of MissingPatterns", self.listed, tuple)
        flag("by_number of MissingPatterns", self.by_number)
        for indices in (self.columns, *self.listed):
            kind("each pattern of MissingPatterns", indices, tuple)
            for index in indices:
                integer("each column of MissingPatterns", index, 0)
            if tuple(sorted(set(indices))) != indices:
                raise InvalidInput("the columns of MissingPatterns must rise")
        if not self.columns or not (self.listed or self.by_number):
            raise InvalidInput("MissingPatterns need columns, and a region")
        if len(self.listed) > _MOST or len(set(self.listed)) != len(self.listed):
            raise InvalidInput(f"MissingPatterns list at most {_MOST} patterns, each once")
        if not set(self.columns).issuperset(index for indices in self.listed for index in indices):
            raise InvalidInput("MissingPatterns list patterns of their own columns")

    def check(self, columns: int) -> None:
        """Check that there are such columns."""
        if self.columns[-1] >= columns:
            raise InvalidInput(f"MissingPatterns are about column {self.columns[-1] + 1} of {columns}")

    @property
    def n_regions(self) -> int:
        """As many as listed patterns; and if by number, one more than columns besides."""
        return len(self.listed) + (len(self.columns) + 1 if self.by_number else 0)

    @cached_property
    def _regions(self) -> dict[bytes, int]:
        """Regions of the listed patterns, by which columns are missing in packed bits."""
        place = {index: at for at, index in enumerate(self.columns)}
        lacking = np.zeros((len(self.listed), len(self.columns)), dtype=bool)
        for row, indices in zip(lacking, self.listed, strict=True):
            row[[place[index] for index in indices]] = True
        return {key.tobytes(): region for region, key in enumerate(packed_columns(lacking.T))}

    def assign(self, view: View) -> np.ndarray:
        """Return the region of each record's pattern."""
        everywhere = np.isnan(view.block)
        lacking = everywhere[list(self.columns)]
        distinct, which = np.unique(packed_columns(lacking), return_inverse=True)
        regions = np.array([self._regions.get(key.tobytes(), -1) for key in distinct])[which.reshape(-1)]
        if self.by_number:
            regions = np.where(regions < 0, len(self.listed) + lacking.sum(axis=0), regions)
        odd = everywhere.all(axis=0) | np.isinf(view.block).any(axis=0)
        return np.where(odd, -1, regions)
