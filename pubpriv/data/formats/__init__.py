"""How private rows are kept: Parquet, Feather and CSV files, and tables in the memory of this process.

A format says of a table what its schema is and how its rows are cut, and yields rows. It looks at nothing else, and
fails on no value.
"""

from pubpriv.common.tables import is_in_memory, kind_of
from pubpriv.data.formats import _delimited, _feather, _parquet, memory_table
from pubpriv.data.formats._layout import BATCH, Format, Look, Piece

_FORMATS: dict[str, Format] = {"Parquet": _parquet, "Feather": _feather, "CSV": _delimited}


def format_of(path: str) -> Format:
    """Say what reads the file, or the table in memory, of this canonical name."""
    return memory_table if is_in_memory(path) else _FORMATS[kind_of(path)]


__all__ = ["BATCH", "Format", "Look", "Piece", "format_of"]
