"""Rows drawn from released distributions of columns, each column by itself: nothing that is released ties them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.described import Described
from pubpriv.released.numbers import MISSING

_RANKS = 4096
"""Even ranks at which values are drawn: nothing is known of a smaller part of the rows."""


@dataclass(frozen=True, eq=False)
class Margins:
    """The distributions of d columns, from which cells are drawn independently.

    Attributes:
        values: of each column, at even ranks.
        missing: share of missing cells of each column.
    """

    values: tuple[np.ndarray, ...] = field(repr=False)
    missing: tuple[float, ...]

    @classmethod
    def of(cls, described: Described) -> "Margins":
        """Make them of what is known of all columns. Cells are missing where the released share is clearly not 0."""
        shares = {each.column: each.share for each in described.shares if each.level == MISSING}
        missing = (shares[name] for name in described.columns)
        values = tuple(described.of(name).values(_RANKS) for name in described.columns)
        return cls(values, tuple(share.value if share.low > 0 else 0.0 for share in missing))

    def given(self, columns: Sequence[int], values: Sequence[float]) -> "Margins":
        """Return the other columns, which the values of given ones do not change."""
        del values
        kept = [i for i in range(len(self.values)) if i not in columns]
        return Margins(tuple(self.values[i] for i in kept), tuple(self.missing[i] for i in kept))

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """Draw n rows (n, d); a missing cell is NaN."""
        generator = np.random.default_rng(seed)
        rows = np.column_stack([column[generator.integers(len(column), size=n)] for column in self.values])
        rows[generator.random(rows.shape) < np.array(self.missing)] = np.nan
        return rows


def check_count(n: int) -> int:
    """Return a number of rows to draw.

    Raises:
        InvalidInput: it is no positive whole number.
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise InvalidInput(f"give a positive number of rows to draw, not {n!r}")
    return int(n)
