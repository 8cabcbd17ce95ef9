"""Formats of private tables: files, tables in databases, and tables in memory.

A format reports a table's schema and how its rows are cut into pieces, and yields rows. It reads nothing else, and
never fails on a value.
"""

from pubpriv.common.inner_names import DUCKDB, EXCEL, POSTGRES
from pubpriv.common.tables import is_in_memory, kind_of
from pubpriv.data.formats import _delimited, _duckdb, _excel, _feather, _postgresql, _statistics, memory_table, parquet
from pubpriv.data.formats._excel import read_whole as read_workbook
from pubpriv.data.formats._layout import BATCH, Format, Look, Piece
from pubpriv.data.formats._statistics import read_whole

OF_STATISTICS = ("SPSS", "Stata", "SAS")
"""Kinds of files of statistics software."""

_FORMATS: dict[str, Format] = {
    "Parquet": parquet,
    "Feather": _feather,
    "CSV": _delimited,
    **dict.fromkeys(OF_STATISTICS, _statistics),
    EXCEL: _excel,
    DUCKDB: _duckdb,
    POSTGRES: _postgresql,
}


def format_of(path: str) -> Format:
    """Return the format of the file, or table in memory, with this canonical name."""
    return memory_table if is_in_memory(path) else _FORMATS[kind_of(path)]


__all__ = ["BATCH", "OF_STATISTICS", "Format", "Look", "Piece", "format_of", "read_whole", "read_workbook"]
