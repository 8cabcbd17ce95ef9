"""Which categories public rows have: where nobody declares the groups of an estimate, they are these."""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from pubpriv.data.categories import ByCategory
from pubpriv.data.category_codes import check_kind, months_in, texts_of
from pubpriv.data.stores import list_files, read_public
from pubpriv.errors import InvalidInput
from pubpriv.places import canonical, is_url


def groups_of(public: Any, column: str) -> ByCategory:
    """Groups by the distinct categories of a column of public rows, in the order of texts. No private row is looked at.

    Args:
        public: Parquet or CSV file, folder or glob, or a DataFrame.
        column: of it, or `month(column)`.

    Raises:
        InvalidInput: the public rows have no such column, or no category in it.
    """
    blank = ByCategory(column, ("1970-01",))  # a month, so that any column takes it
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(public, pandas.DataFrame):
        found = _of_arrays([_of_series(public, blank.source)], blank)
    elif isinstance(public, str | Path):
        where = canonical(str(public))
        found = _of_csv(where, blank) if where.lower().endswith(".csv") else _of_arrays(_read(where, blank), blank)
    else:
        raise InvalidInput(f"these public rows tell no groups by {column}: say which there are, with --by-values")
    if not found:
        raise InvalidInput(f"the public rows have no category in {column}: say which there are, with --by-values")
    return ByCategory(column, tuple(sorted(found)))


def _of_arrays(arrays: list[Any], by: ByCategory) -> set[str]:
    for array in arrays:
        check_kind(by, array.type, "the public table")
    return {text for array in arrays for text in texts_of(array, by.by_month)}


def _of_series(frame: Any, name: str) -> Any:
    import pyarrow as pa

    if name not in frame.columns:
        raise _missing(name)
    return pa.array(frame[name], from_pandas=True)


def _of_csv(where: str, by: ByCategory) -> set[str]:
    """Categories as they are written: 05 is not 5."""
    import pandas as pd

    content = read_public(where) if is_url(where) else Path(where.removeprefix("file://")).read_bytes()
    frame = pd.read_csv(BytesIO(content), dtype=str)
    if by.source not in frame.columns:
        raise _missing(by.source)
    texts = set(frame[by.source].dropna())
    return months_in(texts) if by.by_month else texts


def _read(where: str, by: ByCategory) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = []
    for file in list_files(where):
        source = pa.BufferReader(read_public(file)) if is_url(file) else file
        table = pq.ParquetFile(source).read()
        if by.source not in table.column_names:
            raise _missing(by.source)
        found += table.column(by.source).chunks
    return found


def _missing(name: str) -> InvalidInput:
    return InvalidInput(
        f"the public table has no column {name!r} that could tell which groups there are: say which, with --by-values"
    )
