"""Formats of private tables: Parquet, Feather and CSV files, and tables in the memory of this process.

A format reports a table's schema and how its rows are cut into pieces, and yields rows. It reads nothing else, and
never fails on a value.
"""

from pubpriv.common.tables import is_in_memory, kind_of
from pubpriv.data.formats import _delimited, _feather, memory_table, parquet
from pubpriv.data.formats._layout import BATCH, Format, Look, Piece

_FORMATS: dict[str, Format] = {"Parquet": parquet, "Feather": _feather, "CSV": _delimited}


def format_of(path: str) -> Format:
    """Return the format of the file, or table in memory, with this canonical name."""
    return memory_table if is_in_memory(path) else _FORMATS[kind_of(path)]


__all__ = ["BATCH", "Format", "Look", "Piece", "format_of"]
