"""Formats of private tables: Parquet, Feather and CSV files, those of statistics software, and tables in memory.

A format reports a table's schema and how its rows are cut into pieces, and yields rows. It reads nothing else, and
never fails on a value.
"""

from pubpriv.common.tables import is_in_memory, kind_of
from pubpriv.data.formats import _delimited, _feather, _statistics, memory_table, parquet
from pubpriv.data.formats._layout import BATCH, Format, Look, Piece
from pubpriv.data.formats._statistics import read_whole

OF_STATISTICS = ("SPSS", "Stata", "SAS")
"""Kinds of files of statistics software."""

_FORMATS: dict[str, Format] = {
    "Parquet": parquet,
    "Feather": _feather,
    "CSV": _delimited,
    **dict.fromkeys(OF_STATISTICS, _statistics),
}


def format_of(path: str) -> Format:
    """Return the format of the file, or table in memory, with this canonical name."""
    return memory_table if is_in_memory(path) else _FORMATS[kind_of(path)]


__all__ = ["BATCH", "OF_STATISTICS", "Format", "Look", "Piece", "format_of", "read_whole"]
