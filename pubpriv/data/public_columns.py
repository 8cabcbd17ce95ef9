"""Columns of a public table as they were found, whatever holds them: an array, Arrow's table, or a DataFrame.

pandas takes longer to load than a small fit takes to run, so nothing here needs it unless it is what was given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from pubpriv.data.arrow import numbers_of
from pubpriv.data.columns import Column
from pubpriv.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class PublicColumn:
    """A column under its name.

    Attributes:
        name: as the source has it.
        kind: what its cells are, in the words of the source.
        rows: how many cells it has.
        numbers: makes its cells as float64, missing ones as NaN; None where they are no numbers.
    """

    name: str
    kind: str
    rows: int
    numbers: Callable[[], np.ndarray] | None


def of_array(rows: np.ndarray, names: Sequence[str]) -> list[PublicColumn]:
    """Columns of an (m, d) array."""
    real, kind = rows.dtype.kind in "iuf", str(rows.dtype)

    def column(i: int) -> PublicColumn:
        return PublicColumn(names[i], kind, len(rows), (lambda: rows[:, i].astype(np.float64)) if real else None)

    return [column(i) for i in range(len(names))]


def of_frame(frame: Any) -> list[PublicColumn]:
    """Columns of a DataFrame."""

    def column(i: int) -> PublicColumn:
        series = frame.iloc[:, i]

        def numbers() -> np.ndarray:
            return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))

        known = series.dropna() if series.dtype == object else ()
        real = series.dtype.kind in "iuf" or (len(known) and all(isinstance(cell, Decimal) for cell in known))
        return PublicColumn(str(frame.columns[i]), str(series.dtype), len(series), numbers if real else None)

    return [column(i) for i in range(frame.shape[1])]


def of_arrow(table: Any) -> list[PublicColumn]:
    """Columns of an Arrow table, but those that pandas wrote as the index of its rows."""
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in index if isinstance(name, str)]
    return [_of_arrow(field, table.column(i)) for i, field in enumerate(table.schema) if field.name not in names]


def _of_arrow(field: Any, cells: Any) -> PublicColumn:
    import pyarrow as pa

    def numbers() -> np.ndarray:
        return np.concatenate([numbers_of(chunk) for chunk in cells.chunks])

    def decimals() -> np.ndarray:
        return np.array([np.nan if cell is None else float(cell) for cell in cells.to_pylist()])

    made = None
    if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
        made = numbers
    elif pa.types.is_decimal(field.type) and cells.null_count < len(cells):
        made = decimals
    return PublicColumn(field.name, str(field.type), len(cells), made)


def chosen_cells(columns: Sequence[PublicColumn], wanted: Column) -> np.ndarray:
    """One column as float64, mapped; where the table has a column called `log(x)`, it is that, and not mapped again.

    Raises:
        InvalidInput: no such column, two of them, or one that is not numeric.
    """
    names = [column.name for column in columns]
    if wanted.name in names:
        wanted = Column(wanted.name)
    matches = [column for column in columns if column.name == wanted.source]
    if len(matches) != 1:
        problem = "is missing from" if not matches else "appears more than once in"
        raise InvalidInput(
            f"column {wanted.source!r} {problem} the public table, whose columns are: {', '.join(names)}"
        )
    found = matches[0]
    if found.numbers is None:
        raise InvalidInput(f"column {wanted.source!r} of the public table is {found.kind}, not a number")
    cells = found.numbers()
    with np.errstate(all="ignore"):
        wanted.apply(cells)
    return cells
