"""Parquet files. From the footer only schema and row counts are used, not statistics or key-value metadata."""

from collections.abc import Iterator, Sequence
from typing import Any

from pubpriv.data.formats._layout import BATCH, Look, Piece
from pubpriv.data.stores import locate
from pubpriv.errors import InvalidInput

_READ = 1 << 20
"""Bytes of a column that are fetched at a time: a few pages on a disk, a request to an object store."""


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read the footer; its row groups are the pieces."""
    import pyarrow.parquet

    filesystem, inner = locate(path)
    with filesystem.open_input_file(inner) as handle:
        file = pyarrow.parquet.ParquetFile(handle)
        meta = file.metadata
        pieces = tuple(Piece(i, meta.row_group(i).num_rows) for i in range(meta.num_row_groups))
        return Look(file.schema_arrow, pieces)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: the row group has another number of rows now.
    """
    import pyarrow.parquet

    filesystem, inner = locate(path)
    with filesystem.open_input_file(inner) as handle:
        # read while decoding: otherwise Arrow fetches a whole row group first, however long it is
        file = pyarrow.parquet.ParquetFile(handle, memory_map=False, pre_buffer=False, buffer_size=_READ)
        if file.metadata.row_group(piece.number).num_rows != piece.rows:
            raise InvalidInput("the private table was replaced while it was read")
        yield from file.iter_batches(BATCH, row_groups=[piece.number], columns=list(columns), use_threads=False)
