"""Columns of a public table, whatever holds them: an array, a DataFrame, a CSV file, or Parquet files.

pandas takes longer to load than a small fit takes to run, so nothing here needs it unless it is what was given.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.data.arrow import numbers_of
from pubpriv.data.columns import Column, meant, parse_columns
from pubpriv.data.stores import list_files, read_public
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable
from pubpriv.places import is_url, root_and_pattern


@dataclass(frozen=True, eq=False)
class _PublicColumn:
    """A column under its name.

    Attributes:
        name: as the source has it.
        kind: what its cells are, in the words of the source.
        rows: how many cells it has.
        numbers: makes its cells as float64, missing ones as NaN; None where they are no numbers.
        truths: they are true or false, numbers 1 and 0 where the column is named, and not taken where none is.
    """

    name: str
    kind: str
    rows: int
    numbers: Callable[[], np.ndarray] | None
    truths: bool = False


def read_rows(source: Any, columns: list[str] | tuple[str, ...] | None) -> tuple[tuple[str, ...], np.ndarray, int]:
    """Read columns of the table of a canonical name, or of rows in memory: those rows whose cells are all finite.

    Args:
        source: a canonical name, a DataFrame, or an (m, d) array.
        columns: names or expressions; None: all that are numeric, in their order.

    Returns:
        Names of the columns as written, rows (m, d), and how many rows were left out.

    Raises:
        InvalidInput: no such table, no row, no numeric column, no usable row, or a column that is missing, duplicated
            or not numeric.
        Unavailable: the storage does not answer.
    """
    return _chosen_rows(_columns_of(source, columns), columns)


def select_rows(
    rows: np.ndarray, names: Sequence[str], columns: Sequence[str]
) -> tuple[tuple[str, ...], np.ndarray, int]:
    """Choose `columns`, names or expressions, of the rows (m, d) of columns `names`; see `read_rows`."""
    return _chosen_rows(_of_array(rows, names), columns)


def _columns_of(source: Any, columns: list[str] | tuple[str, ...] | None) -> list[_PublicColumn]:
    """Find the columns of the table of a canonical name, or of rows in memory.

    Raises:
        InvalidInput: no such table, or no rows of numbers.
        Unavailable: the storage does not answer.
    """
    if isinstance(source, str):
        return _read_public_url(source) if is_url(source) else _read_public(source)
    pandas = sys.modules.get("pandas")  # who has a DataFrame has loaded it
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _of_frame(source)
    try:
        rows = np.asarray(source)
    except ValueError:  # lists of unequal length
        rows = np.empty(0)
    if rows.ndim != 2 or not np.issubdtype(rows.dtype, np.number):
        raise InvalidInput("public rows must be a numeric (m, d) array, a DataFrame, or a Parquet or CSV file")
    names = [f"x{i}" for i in range(rows.shape[1])] if columns is None else [c.source for c in parse_columns(columns)]
    if len(names) != rows.shape[1]:
        raise InvalidInput(f"the public array has {rows.shape[1]} columns, but {len(names)} are named")
    return _of_array(rows, names)


def _chosen_rows(
    found: Sequence[_PublicColumn], columns: Sequence[str] | None
) -> tuple[tuple[str, ...], np.ndarray, int]:
    """Choose columns, and the rows whose cells are all finite.

    Args:
        found: columns of the table.
        columns: names or expressions; None: all that are numeric, in their order.

    Returns:
        Names of the columns as written, rows (m, d), and how many rows were left out.

    Raises:
        InvalidInput: no row, no numeric column, no usable row, or a column that is missing, duplicated or not numeric.
    """
    if not any(column.rows for column in found):
        raise InvalidInput("the public table has no rows")
    if columns is None:
        numeric = [column.name for column in found if column.numbers is not None and not column.truths]
        if not numeric:
            raise InvalidInput("the public table has no numeric column")
        columns = list(dict.fromkeys(numeric))  # a name that appears twice is refused below
    chosen = parse_columns(tuple(columns))
    rows = np.column_stack([_cells_of(found, column) for column in chosen])
    whole = np.isfinite(rows).all(axis=1)
    if not whole.any():
        raise InvalidInput("the public table has no row in which every column has a finite value")
    return tuple(column.name for column in chosen), rows[whole], int((~whole).sum())


def _of_array(rows: np.ndarray, names: Sequence[str]) -> list[_PublicColumn]:
    """Columns of an (m, d) array."""
    real, kind = rows.dtype.kind in "iuf", str(rows.dtype)

    def column(i: int) -> _PublicColumn:
        numbers = (lambda: rows[:, i].astype(np.float64)) if real else None
        return _PublicColumn(names[i], kind, len(rows), numbers)

    return [column(i) for i in range(len(names))]


def _of_frame(frame: Any) -> list[_PublicColumn]:
    """Columns of a DataFrame."""

    def column(i: int) -> _PublicColumn:
        series = frame.iloc[:, i]

        def numbers() -> np.ndarray:
            return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))

        known = series.dropna() if series.dtype == object else ()
        real = series.dtype.kind in "iufb" or (len(known) and all(isinstance(cell, Decimal) for cell in known))
        truths = series.dtype.kind == "b"
        return _PublicColumn(str(frame.columns[i]), str(series.dtype), len(series), numbers if real else None, truths)

    return [column(i) for i in range(frame.shape[1])]


def _of_arrow_table(table: Any) -> list[_PublicColumn]:
    """Columns of an Arrow table, but those that pandas wrote as the index of its rows."""
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in index if isinstance(name, str)]
    return [_of_arrow_column(field, table.column(i)) for i, field in enumerate(table.schema) if field.name not in names]


def _of_arrow_column(field: Any, cells: Any) -> _PublicColumn:
    import pyarrow as pa

    def numbers() -> np.ndarray:
        return np.concatenate([numbers_of(chunk) for chunk in cells.chunks])

    def decimals() -> np.ndarray:
        return np.array([np.nan if cell is None else float(cell) for cell in cells.to_pylist()])

    def truths() -> np.ndarray:
        return np.concatenate([numbers_of(chunk.cast(pa.int8())) for chunk in cells.chunks])

    made, boolean = None, pa.types.is_boolean(field.type)
    if boolean:
        made = truths
    elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
        made = numbers
    elif pa.types.is_decimal(field.type) and cells.null_count < len(cells):
        made = decimals
    return _PublicColumn(field.name, str(field.type), len(cells), made, boolean)


def _cells_of(columns: Sequence[_PublicColumn], wanted: Column) -> np.ndarray:
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
            f"{'' if matches else meant(wanted.source, names)}"
        )
    found = matches[0]
    if found.numbers is None:
        raise InvalidInput(f"column {wanted.source!r} of the public table is {found.kind}, not a number")
    cells = found.numbers()
    with np.errstate(all="ignore"):
        wanted.apply(cells)
    return cells


def _read_public_url(uri: str) -> list[_PublicColumn]:
    """Columns of a CSV file, a Parquet file, or a folder or glob of them, in an object store."""
    import pyarrow as pa
    import pyarrow.parquet

    refused: PubPrivError
    try:
        if uri.lower().endswith(".csv"):
            return _read_csv(read_public(uri))
        tables = [pyarrow.parquet.read_table(pa.BufferReader(read_public(file))) for file in list_files(uri)]
        return _of_arrow_table(pa.concat_tables(tables, promote_options="default"))
    except InvalidInput:
        raise
    except FileNotFoundError:
        refused = InvalidInput(f"no public table at {uri}: check the URL")
    except OSError:
        refused = Unavailable(
            f"the storage of the public table {uri} does not answer, or not to the credentials of this environment; "
            "check them, or try again"
        )
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"the public table {uri} cannot be read as Parquet or CSV: {reason}") from error
    raise refused


def _read_public(name: str) -> list[_PublicColumn]:
    import pyarrow as pa
    import pyarrow.parquet

    root, pattern = root_and_pattern(name)
    path = Path(root)
    if not path.exists():
        raise InvalidInput(f"no public table at {path}: check the path")
    if not path.is_file() and not path.is_dir():
        raise InvalidInput(f"the public table {path} is neither a file nor a folder")
    try:
        if not pattern and path.is_file() and path.suffix.lower() == ".csv":
            return _read_csv(path.read_bytes())
        # listed as a private table is, and as it is held against them
        tables = [pyarrow.parquet.ParquetFile(file).read() for file in list_files(name)]
        return _of_arrow_table(pa.concat_tables(tables, promote_options="default") if len(tables) > 1 else tables[0])
    except InvalidInput:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"the public table {path} cannot be read as Parquet or CSV: {reason}") from error


def _read_csv(content: bytes) -> list[_PublicColumn]:
    """Columns, with their names as they are written: pandas would rename the second of two equal ones."""
    import pandas as pd

    frame = pd.read_csv(BytesIO(content))
    written = pd.read_csv(BytesIO(content), header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
    if len(set(written)) < len(written) == frame.shape[1]:
        frame.columns = pd.Index(written)
    return _of_frame(frame)
