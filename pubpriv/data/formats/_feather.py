"""Feather files, Arrow's own file format (IPC). Their record batches are the pieces."""

from collections.abc import Iterator, Sequence
from typing import Any

from pubpriv.data.formats._layout import Look, Piece, check_rows
from pubpriv.data.stores import locate


def look(path: str, columns: Sequence[str]) -> Look:
    """Read the schema, and from one column the number of rows of each record batch."""
    import pyarrow as pa

    filesystem, inner = locate(path)
    with filesystem.open_input_file(inner) as handle:
        schema = pa.ipc.open_file(handle).schema
        file = _open(handle, schema, [name for name in columns if name in schema.names][:1])
        rows = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
        return Look(schema, tuple(Piece(i, count) for i, count in enumerate(rows)))


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the piece's record batch, with `columns`.

    Raises:
        InvalidInput: the record batch has another number of rows now.
    """
    import pyarrow as pa

    filesystem, inner = locate(path)
    with filesystem.open_input_file(inner) as handle:
        file = _open(handle, pa.ipc.open_file(handle).schema, columns)
        batch = file.get_batch(piece.number)
        check_rows(batch.num_rows, piece)
        yield batch


def _open(handle: Any, schema: Any, columns: Sequence[str]) -> Any:
    """Open a reader that reads only `columns` from the disk."""
    import pyarrow as pa

    places = [schema.get_all_field_indices(name)[0] for name in columns]
    return pa.ipc.open_file(handle, options=pa.ipc.IpcReadOptions(included_fields=places, use_threads=False))
