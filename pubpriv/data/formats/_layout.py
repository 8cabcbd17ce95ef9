"""Layout of a table, as a format reports it before any row is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pubpriv.errors import InvalidInput

BATCH = 1 << 16
"""Rows that are decoded at a time. In a format without pieces of its own each piece has this many rows, so that no
value moves the border of a piece."""


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file: a row group, a record batch, or a fixed number of lines.

    Attributes:
        number: index among the pieces of the file.
        rows: number of rows.
        start: byte at which its lines begin, in a format without an index. It reveals the length of earlier lines, so
            it is never shown.
    """

    number: int
    rows: int
    start: int = field(default=0, repr=False)


@dataclass(frozen=True)
class Look:
    """Schema and pieces of a table, read before a scan.

    Attributes:
        schema: Arrow schema.
        pieces: pieces in order.
        untyped: columns without a type: each cell is bytes, and is parsed by itself (`cells`).
        names_in_line: whether the names are the first line of a text, which may be a record.
        whole_as_floats: whether whole numbers are stored as floats, for the format has no others: an id among them is
            the nearest whole number.
    """

    schema: Any
    pieces: tuple[Piece, ...]
    untyped: frozenset[str] = frozenset()
    names_in_line: bool = False
    whole_as_floats: bool = False


def check_rows(read: int, piece: Piece) -> None:
    """Refuse a piece that does not have the rows that it had when it was looked at.

    Raises:
        InvalidInput: it has more or fewer.
    """
    if read != piece.rows:
        raise replaced()


def replaced() -> InvalidInput:
    """Return the error of a table whose rows are other ones now."""
    return InvalidInput("the private table was replaced while it was read")


class Format(Protocol):
    """Reader of one kind of table."""

    @property
    def look(self) -> "_LookAt":
        """Function that reads the layout of a table."""
        ...

    @property
    def batches(self) -> "_Read":
        """Function that yields the rows of a piece."""
        ...


class _LookAt(Protocol):
    def __call__(self, path: str, columns: Sequence[str]) -> Look: ...


class _Read(Protocol):
    def __call__(self, path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]: ...
