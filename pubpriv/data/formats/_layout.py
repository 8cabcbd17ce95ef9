"""What a format says of a table before its rows are read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

BATCH = 1 << 16
"""Rows that are decoded at a time. Where a format has no pieces of its own, so many rows are one: no value moves a
border of it."""


@dataclass(frozen=True)
class Piece:
    """Some rows of a file, one after another: a row group, a record batch, so many lines.

    Attributes:
        number: among the pieces of its file.
        rows: how many.
        start: byte at which its lines begin, in a format without an index. It tells how long the lines before it are,
            so it is never shown.
    """

    number: int
    rows: int
    start: int = field(default=0, repr=False)


@dataclass(frozen=True)
class Look:
    """What is looked at before a scan.

    Attributes:
        schema: Arrow schema.
        pieces: in order.
        typed: its columns have types; without, a cell is what it reads as, by itself (`cells`).
    """

    schema: Any
    pieces: tuple[Piece, ...]
    typed: bool = True


class Format(Protocol):
    """What reads one kind of table."""

    @property
    def look(self) -> "_LookAt":
        """Look at a table."""
        ...

    @property
    def batches(self) -> "_Read":
        """Read a piece of one."""
        ...


class _LookAt(Protocol):
    def __call__(self, path: str, columns: Sequence[str]) -> Look: ...


class _Read(Protocol):
    def __call__(self, path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]: ...
