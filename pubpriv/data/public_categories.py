"""Categories of public rows, which become the groups of an estimate if nobody declares them."""

import os
import sys
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from pubpriv.common.column_names import quoted
from pubpriv.common.tables import canonical, is_in_memory
from pubpriv.data._public_columns import read_rows
from pubpriv.data._public_files import PublicFile, public_files_of, read_arrow
from pubpriv.data.categories import ByCategory, is_by_month, source_of_groups
from pubpriv.data.category_codes import check_kind, texts_of
from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.formats.memory_table import is_private
from pubpriv.data.formats.pandas_columns import column_of
from pubpriv.errors import InvalidInput


def groups_of(public: Any, column: str) -> ByCategory:
    """Return groups by the distinct categories of a column of public rows, sorted as texts. Reads no private row.

    Args:
        public: file, folder or glob, or a DataFrame.
        column: column of the public rows, or `month(column)`.

    Raises:
        InvalidInput: the public rows have no such column or no category in it, or they are a private table.
        Unavailable: the storage does not answer.
    """
    pandas = sys.modules.get("pandas")  # who has a DataFrame has loaded it
    if is_private(public) or (isinstance(public, str) and is_in_memory(public)):
        raise InvalidInput("the groups of a private table are private: say which there are, with --by-values")
    if pandas is not None and isinstance(public, pandas.DataFrame):
        found = _of_frame(public, column)
    elif isinstance(public, str | os.PathLike):
        found = _of_files(canonical(os.fspath(public)), column)
    else:
        raise InvalidInput(f"these public rows show no groups by {column}: say which there are, with --by-values")
    if not found:
        raise InvalidInput(f"the public rows have no category in {column}: say which there are, with --by-values")
    return ByCategory(column, tuple(sorted(found)))


def counted_columns(public: Any, columns: Sequence[str] | None, counted: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of an estimate, with those whose levels are counted.

    A column of numbers stays as it is; one of texts becomes `levels(column, ...)` of the texts in the public rows. An
    expression stays as it is. Reads no private row.

    Args:
        public: as in `groups_of`, and only columns that are there.
        columns: other columns of the estimate, or the same; None: all numeric columns of the public rows.
        counted: names, or expressions `levels(column, a, b)`.

    Raises:
        InvalidInput: as `groups_of` does.
    """
    numeric = _numeric(public)
    listed = parse_columns(tuple(numeric if columns is None else columns)) if columns or numeric else ()
    wanted = []
    for column in parse_columns(tuple(counted)):
        if column.function is not None or column.name in numeric:
            wanted.append(column)
            continue
        levels = groups_of(public, quoted(column.source)).values
        wanted.append(Column(column.source, "levels", levels=levels))
    counted_names = {each.source for each in wanted}
    kept = [column for column in listed if column.function is not None or column.source not in counted_names]
    return tuple(dict.fromkeys(column.name for column in (*kept, *wanted)))


def texts_of_columns(public: Any, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the distinct texts of each column, by its name, sorted; none of a column of numbers, or of none at all.

    Args:
        public: as in `groups_of`, and only columns that are there.
        columns: names.

    Raises:
        InvalidInput, Unavailable: as `groups_of` does.
    """
    numeric = _numeric(public)
    return tuple(() if name in numeric else groups_of(public, quoted(name)).values for name in columns)


def _numeric(public: Any) -> list[str]:
    """Names of the columns of numbers; none if there is no such column."""
    try:
        return list(
            read_rows(canonical(os.fspath(public)) if isinstance(public, str | os.PathLike) else public, None)[0]
        )
    except InvalidInput:
        return []


def _of_frame(frame: Any, column: str) -> set[str]:
    name = source_of_groups(column)
    _check_there(name, list(frame.columns))
    return _of_array(column_of(frame[name]), column)


def _of_files(where: str, column: str) -> set[str]:
    return set[str]().union(*(_of_file(file, column) for file in public_files_of(where)))


def _of_file(file: PublicFile, column: str) -> set[str]:
    if file.kind == "CSV":
        return _of_csv(file.content, column)
    table, name = read_arrow(file), source_of_groups(column)
    _check_there(name, table.column_names)
    return set[str]().union(*(_of_array(chunk, column) for chunk in table.column(name).chunks))


def _of_csv(content: bytes, column: str) -> set[str]:
    """Categories in a CSV file, as they are written: 05 is not 5."""
    import pandas as pd
    import pyarrow as pa

    frame = pd.read_csv(BytesIO(content), dtype=str)
    name = source_of_groups(column)
    _check_there(name, list(frame.columns))
    return _of_array(pa.array([text.encode() for text in frame[name].dropna()], pa.binary()), column)


def _of_array(array: Any, column: str) -> set[str]:
    check_kind(column, array.type, "the public table")
    return texts_of(array, is_by_month(column))


def _check_there(name: str, names: list[str]) -> None:
    if names.count(name) != 1:
        problem = "no column" if name not in names else "more than one column"
        raise InvalidInput(
            f"the public table has {problem} {name!r} that could tell which groups there are: say which, with "
            "--by-values"
        )
