"""What a run looks for: ranks of some columns, levels of others, and rows above thresholds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput, nearest
from pubpriv.released.numbers import with_rest

_MOST_LEVELS = 60
"""Most values of a column that are counted: each has a cell, and a noisy count."""


@public_value
@dataclass(frozen=True)
class Targets:
    """What a run looks for.

    Attributes:
        ranks: of the columns that are not counted, as shares of the rows that have the column.
        levels: of each column, values that are counted, rising; empty if it is ranked.
        above: of each column, values that have an edge.
    """

    ranks: tuple[float, ...]
    levels: tuple[tuple[float, ...], ...]
    above: tuple[tuple[float, ...], ...]

    @classmethod
    def of(
        cls, table: PublicTable, ranks: Sequence[float], counted: Sequence[str], above: Mapping[str, float]
    ) -> "Targets":
        """Find the levels of the columns that are counted: those of an expression `levels`, or of the public rows.

        Args:
            table: public rows.
            ranks: of the others.
            counted: columns that are counted, beside expressions `levels`: names, or sources of such expressions.
            above: by column, a value above which rows are counted.

        Raises:
            InvalidInput: no such column, or too many values.
        """
        columns = parse_columns(table.columns)
        names = {column.name for column in parse_columns(tuple(counted))} if counted else set[str]()
        own = {column.name for column in columns} | {column.source for column in columns if column.levels is not None}
        for name in (*sorted(names - own), *sorted({*above} - {column.name for column in columns})):
            near = nearest(name, list(table.columns))
            hint = f": did you mean {near}?" if near else f": there are {', '.join(table.columns)}"
            raise InvalidInput(f"no column {name} is read, so none of it can be counted{hint}")
        found = []
        for column, rows in zip(columns, table.rows.T, strict=True):
            values: tuple[float, ...] = ()
            if column.levels is not None:
                values = tuple(map(float, range(len(column.levels) + 1)))
            elif column.name in names:
                values = tuple(np.unique(rows).tolist())
            if len(values) > _MOST_LEVELS:
                raise InvalidInput(
                    f"column {column.name} has {len(values)} values, too many to count each of them: "
                    f"{_MOST_LEVELS} at most"
                )
            found.append(values)
        each = tuple((float(above[name]),) if name in above else () for name in table.columns)
        if not all(np.isfinite(value) for values in each for value in values):
            raise InvalidInput("rows are counted above a finite number of a column")
        return cls(tuple(ranks), tuple(found), each)

    @property
    def ranked(self) -> tuple[int, ...]:
        """Places of the columns that are not counted."""
        return tuple(i for i, levels in enumerate(self.levels) if not levels)


def level_names(column: str, levels: Sequence[float]) -> dict[float, str]:
    """Name the values of a column that are counted: by an expression `levels` its texts, and `other`."""
    texts = parse_columns((column,))[0].levels
    if texts is None:
        return {value: f"{value:.12g}" for value in levels}
    return dict(zip(levels, with_rest(texts), strict=True))
