"""CSV files: a header line with column names, then one record per line.

**A line is a record, whatever is in it.** It ends at the byte of a line feed, even inside quotes. So the number of
records and their places depend on no value: replacing a record by another line moves none of the others. If quotes
could hold line feeds, one odd quote would join all lines up to the next quote, and one cell would move any number of
other people's records. The price is that a cell cannot contain a line break: one with m of them is read as m + 1
records. A part with as many cells as the header counts, under whatever id stands in it. So where the unit is a person,
the ledger asks the owner to declare that there is none (`privacy.ledger._declared`); Parquet has no such limit.

A file whose name ends with .gz or .zst is decompressed while it is read. It cannot be entered in the middle, so it is
one piece; files without compression have pieces of a fixed number of lines.

Within a line, commas outside quotes separate cells. A line with an odd number of quotes, with another number of cells
than the header, or longer than `_LONGEST`, is a record with no cells. None of this can fail.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from itertools import starmap
from typing import Any

import numpy as np

from pubpriv.common.tables import compression_of
from pubpriv.data.formats._layout import BATCH, Look, Piece, check_rows, replaced
from pubpriv.data.stores import locate

_READ = 1 << 20
"""Bytes that are read at a time."""

_LONGEST = 1 << 20
"""Longest line that is read, in bytes, which bounds the memory that reading takes."""

_FEED, _RETURN, _COMMA, _QUOTE = b'\n\r,"'


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read the header and count the lines. Columns have no types; in Arrow they are bytes.

    Raises:
        ValueError: the first line is not a header.
    """
    import pyarrow as pa

    with _open(path) as handle:
        names, start = _header(handle)
        starts, lines = [start], 0
        handle.seek(start)
        last = _FEED
        for data in _read(handle):
            feeds = np.count_nonzero(data == _FEED)
            while len(starts) * BATCH <= lines + feeds:
                ends = np.flatnonzero(data == _FEED)
                starts.append(start + int(ends[len(starts) * BATCH - lines - 1]) + 1)
            start, lines, last = start + len(data), lines + int(feeds), int(data[-1])
    lines += last != _FEED
    size = BATCH if compression_of(path) is None else max(lines, 1)
    rows = [min(size, lines - first) for first in range(0, lines, size)]
    pieces = starmap(Piece, zip(range(len(rows)), rows, starts[: len(rows)], strict=True))
    return Look(pa.schema([(name, pa.binary()) for name in names]), tuple(pieces), frozenset(names), names_in_line=True)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, each cell as its bytes, null if it is missing or empty.

    Raises:
        InvalidInput: the file has other lines now.
    """
    import pyarrow as pa

    read = 0
    with _open(path) as handle:
        names, _ = _header(handle)
        handle.seek(piece.start - 1)
        whole = handle.read(1) == b"\n"
        for lines in _lines(handle, piece.rows):
            cells = _Cells(lines, len(names))
            read += cells.rows
            yield pa.RecordBatch.from_arrays([cells.column(names.index(name)) for name in columns], list(columns))
    if not whole:
        raise replaced()
    check_rows(read, piece)


def _open(path: str) -> AbstractContextManager[Any]:
    """Open a file for `read` and `seek`; of a compressed one only the first bytes can be found again."""
    filesystem, inner = locate(path)
    how = compression_of(path)
    if how is None:
        opened: AbstractContextManager[Any] = filesystem.open_input_file(inner)
        return opened
    return closing(_Decompressed(filesystem.open_input_stream(inner, compression=how)))


class _Decompressed:
    """A stream of which only the first `_LONGEST` bytes can be found again.

    Args:
        stream: stream of bytes.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._first: bytes = stream.read(_LONGEST)
        self._kept = self._first

    def seek(self, position: int) -> None:
        """Go to a position among the first bytes; nothing after them was read yet."""
        self._kept = self._first[position:]

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        data: bytes = self._kept[:size] or self._stream.read(size)
        self._kept = self._kept[size:]
        return data

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def _header(handle: Any) -> tuple[list[str], int]:
    """Names of the columns, and the position of the byte after the header.

    Raises:
        ValueError: the header is not UTF-8 text, or longer than `_LONGEST`.
    """
    line, feed, _ = handle.read(_LONGEST).partition(b"\n")
    names: list[str] = []
    if b"\0" not in line:
        try:
            names = next(csv.reader([line.decode("utf-8-sig").removesuffix("\r")], strict=True), [])
        except (UnicodeDecodeError, csv.Error):
            names = []
    if not names or len(line) == _LONGEST:
        raise ValueError("no header")
    return names, len(line) + len(feed)


def _read(handle: Any) -> Iterator[np.ndarray]:
    """Yield the file's bytes, `_READ` at a time."""
    while data := handle.read(_READ):
        yield np.frombuffer(data, np.uint8)


def _lines(handle: Any, rows: int) -> Iterator[np.ndarray]:
    """Yield the bytes of `rows` lines, or of fewer if the file ends, in arrays of whole lines with their line feeds.

    A line longer than `_LONGEST` is cut off.
    """
    rest = b""
    while rows and (data := handle.read(_READ)):
        cut = data.rfind(b"\n") + 1
        if not cut:
            rest = (rest + data)[: _LONGEST + 1]
            continue
        lines = np.frombuffer(rest + data[:cut], np.uint8)
        ends = np.flatnonzero(lines == _FEED)[:rows]
        rest, rows = data[cut:], rows - len(ends)
        yield lines[: ends[-1] + 1]
    if rows and rest:
        yield np.frombuffer(rest + b"\n", np.uint8)


class _Cells:
    """Positions of the cells of some lines.

    Args:
        lines: bytes of whole lines.
        width: number of cells of a complete line.
    """

    def __init__(self, lines: np.ndarray, width: int) -> None:
        self._bytes = lines
        marks = np.flatnonzero((lines == _COMMA) | (lines == _FEED))
        is_feed = lines[marks] == _FEED
        feeds = marks[is_feed]
        begins = np.concatenate([[0], feeds[:-1] + 1])
        ends = feeds - (lines[feeds - 1] == _RETURN) * (feeds > begins)
        own, commas, paired = np.cumsum(is_feed)[~is_feed], marks[~is_feed], True
        quotes = lines == _QUOTE
        if quotes.any():
            odd = np.cumsum(quotes, dtype=np.uint8) % 2 == 1  # odd number of quotes so far: inside quotes
            before = _before_lines(odd, feeds)
            paired = odd[feeds] == before
            outside = odd[commas] == before[own]
            commas, own = commas[outside], own[outside]
        full = np.bincount(own, minlength=len(feeds)) == width - 1
        self._sound = paired & full & (feeds - begins <= _LONGEST)
        self._commas = commas[self._sound[own]].reshape(np.count_nonzero(self._sound), width - 1)
        self._begins, self._ends = begins[self._sound], ends[self._sound]
        self.rows = len(feeds)

    def column(self, place: int) -> Any:
        """Return the cells of one column as an Arrow array of bytes, without surrounding quotes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        begins = self._begins if place == 0 else self._commas[:, place - 1] + 1
        ends = self._ends if place == self._commas.shape[1] else self._commas[:, place]
        last = np.maximum(ends - 1, 0)
        quoted = (self._bytes[begins] == _QUOTE) & (self._bytes[last] == _QUOTE) & (last > begins)
        sizes = np.zeros(self.rows, np.int64)
        sizes[self._sound] = ends - begins - 2 * quoted
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        picked = np.repeat(begins + quoted - offsets[:-1][self._sound], sizes[self._sound]) + np.arange(offsets[-1])
        there = pa.py_buffer(np.packbits(sizes > 0, bitorder="little"))
        buffers = [there, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(self._bytes[picked])]
        cells = pa.Array.from_buffers(pa.binary(), self.rows, buffers)
        if not quoted.any():
            return cells
        marked = np.zeros(self.rows, bool)
        marked[self._sound] = quoted
        return pc.if_else(pa.array(marked), pc.replace_substring(cells, b'""', b'"'), cells)


def _before_lines(odd: np.ndarray, feeds: np.ndarray) -> np.ndarray:
    """Whether the number of quotes before each line is odd, (lines,), so that its own quotes begin anew.

    Args:
        odd: whether that number is odd up to each byte.
        feeds: positions of the line feeds.
    """
    return np.concatenate([[False], odd[feeds[:-1]]])
