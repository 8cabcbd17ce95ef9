"""How private rows are kept: Parquet, Feather and CSV files, and tables in the memory of this process.

A format says of a table what its schema is and how its rows are cut, and yields rows. It looks at nothing else, and
fails on no value.
"""

from pubpriv.data.formats import delimited, feather, memory_table, parquet
from pubpriv.data.formats.layout import BATCH, Format, Look, Piece
from pubpriv.names.tables import is_in_memory, kind_of

_FORMATS: dict[str, Format] = {"Parquet": parquet, "Feather": feather, "CSV": delimited}


def format_of(path: str) -> Format:
    """Say what reads the file, or the table in memory, of this canonical name."""
    return memory_table if is_in_memory(path) else _FORMATS[kind_of(path)]


__all__ = ["BATCH", "Format", "Look", "Piece", "format_of"]
