"""Lines of CSV files with any bytes in them: does one line move what another one adds?

One line of a file is replaced by quotes, commas, carriage returns, NULs, bytes that are no UTF-8, and random bytes: all
but a line feed. What is read of every other line must have the same bits: its cells, its group, and whose it is in a
period. What is read of the new line must be what is read of it alone, below its header. Totals must change by no more
than the declared distance.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from pubpriv.audit._catalogue import questions
from pubpriv.audit._neighbours import COLUMNS, GROUPS, Integers, difference, distance, integers
from pubpriv.audit.finding import Claims, Finding, promised
from pubpriv.data.formats import BATCH
from pubpriv.data.pieces import Chunk, block_length
from pubpriv.data.questions import Question
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable

_NAMES = ("words", "a", "b", "group", "who", "seen", "more")
_HEADER = ",".join(_NAMES).encode()
_PERIOD = "2026-10"
_LONG = 1 << 20
"""Bytes of a line that is cut off."""

_UNLIKE = 149
"""Lines that are like no other, before they begin again."""

_WHOLE = (b"1", b"-2.5e3", b"west", b"2026-10-05", b'"a, ""b"""', b"")
_MARKS = (
    b'"',
    b'""',
    b",",
    b"\r",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1a",
    b"\x0b\x0c\x1c\x85",
    "\u2028".encode(),
)
"""Bytes that end a line, a cell or a text for some other reader."""

_Random = np.random.Generator


def _quoted(random: _Random) -> bytes:
    """As many cells as the header has, and a quote too many in one of them: at its beginning, inside or at its end."""
    cells = [_one_of(_WHOLE, random) for _ in _NAMES]
    place = int(random.integers(len(cells)))
    cells[place] = [b'"' + cells[place], b'x"x', cells[place] + b'"'][int(random.integers(3))]
    return b",".join(cells)


def _commas(random: _Random) -> bytes:
    """Another number of cells than the header has."""
    return b",".join([b"1"] * int(random.choice([1, len(_NAMES) - 1, len(_NAMES) + 1, 999])))


def _marked(random: _Random) -> bytes:
    """Marks and cells in any order."""
    return b"".join(_one_of((*_MARKS, *_WHOLE), random) for _ in range(int(random.integers(1, 20))))


def _random(random: _Random, most: int = 80) -> bytes:
    """Any bytes at all."""
    return random.bytes(int(random.integers(1, most + 1))).replace(b"\n", b'"')


def _cells(random: _Random) -> bytes:
    """As many cells as the header has, each of any bytes, between quotes or not."""
    cells = [_random(random, 20).replace(b'"', b"\r").replace(b",", b"\xff") for _ in _NAMES]
    return b",".join(b'"%b"' % cell if random.integers(2) else cell for cell in cells)


def _long(random: _Random) -> bytes:
    """More bytes than a line may have, and than are read at a time, with an odd number of quotes."""
    many = _random(random, 999).replace(b'"', b"")
    return b'"' + many * (int(random.choice([1, 2])) * _LONG // len(many) + 2)


def _empty(_: _Random) -> bytes:
    return b""


_BYTES: dict[str, Callable[[_Random], bytes]] = {
    "one quote too many": _quoted,
    "other numbers of commas": _commas,
    "marks of other readers": _marked,
    "random bytes": _random,
    "cells of random bytes": _cells,
    "more bytes than are read at a time": _long,
    "nothing": _empty,
}


def _one_of(pieces: Sequence[bytes], random: _Random) -> bytes:
    return pieces[int(random.integers(len(pieces)))]


@dataclass(frozen=True)
class _Kind:
    """How a CSV file is written.

    Attributes:
        name: of the file; its ending says how it is compressed.
        lines: number of its records.
        feed: whether a line feed ends the last line.
        places: where lines are replaced.
        bytes: by what.
    """

    name: str
    lines: int = 150
    feed: bool = True
    places: tuple[int, ...] = (0, 75, 149)
    bytes: tuple[str, ...] = tuple(_BYTES)


_SOME = "one quote too many", "marks of other readers", "cells of random bytes"
_KINDS = {
    "a CSV file": _Kind("t.csv"),
    # without a line feed an empty last line is no line
    "a CSV file without a last line feed": _Kind("t.csv", feed=False, places=(0, 149), bytes=(*_BYTES,)[:-1]),
    "a CSV file, gzip": _Kind("t.csv.gz", bytes=_SOME),
    "a CSV file, zstd, without a last line feed": _Kind("t.csv.zst", feed=False, bytes=_SOME),
    "a CSV file of more than one batch": _Kind(
        "t.csv", BATCH + 40, places=(BATCH - 1, BATCH), bytes=("one quote too many",)
    ),
}


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Try each way in which a CSV file is written."""
    for name, kind in _KINDS.items():
        claims = _replaced(kind, 1 if fast else 4, seed)
        yield promised("lines", f"{name}: no line moves another", claims, ", every other line compared bit for bit")


def _replaced(kind: _Kind, times: int, seed: int) -> Claims:
    """Replace one line after another by bytes of every kind."""
    random = np.random.default_rng([seed, 9])
    lines = [_line(number, random) for number in range(_UNLIKE)]
    lines = (lines * (kind.lines // _UNLIKE + 1))[: kind.lines]
    with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
        path = Path(folder) / kind.name
        _write(path, lines, kind.feed)
        bits, totals = _bits(path), _totals(path)
        for place, name in product(kind.places, kind.bytes * times):
            line, what = _BYTES[name](random), f"line {place + 1} of {kind.lines}, {name}"
            _write(path, [*lines[:place], line, *lines[place + 1 :]], kind.feed)
            after, delta = _bits(path), difference(totals, _totals(path))
            others = np.array_equal(np.delete(bits, place, 0), np.delete(after, place, 0))
            yield f"{what}: every other line has the same bits", others
            yield f"{what}: totals as near as declared", distance(_asked(), delta) <= _asked().squared_distance
            _write(path, [line], kind.feed)
            yield f"{what}: it is read as it is alone", np.array_equal(after[place : place + 1], _bits(path))


def _line(number: int, random: _Random) -> bytes:
    """Write a record, with quotes in it and some with a carriage return at its end."""
    a, b = random.normal(0.0, 4.0), random.exponential(2.0)
    group = GROUPS.values[number % GROUPS.n_regions]
    cells = f'"word {number}, ""quoted""",{a!r},{b!r},{group},p{number},{_PERIOD}-{number % 28 + 1:02d},'
    return f"{cells}{'' if number % 3 else number}{'' if number % 2 else chr(13)}".encode()


def _write(path: Path, lines: Sequence[bytes], feed: bool) -> None:
    """Write lines below a header, compressed as the name says."""
    import pyarrow as pa

    with pa.output_stream(path, compression="detect") as stream:
        stream.write(b"\n".join([_HEADER, *lines]) + b"\n" * feed)


@cache
def _asked() -> Question:
    """Ask for numbers by a column of words."""
    return questions()["moments-category"]


def _totals(path: Path) -> Integers:
    return integers(scan(PrivateTable.open(path, COLUMNS, by=GROUPS), _asked(), here=True))


def _bits(path: Path) -> np.ndarray:
    """Read cells, group and person of the records of a period, (records, 4)."""
    table = PrivateTable.open(path, COLUMNS, person="who", by=GROUPS, dates="seen", period=_PERIOD)
    return np.concatenate([_bits_in(chunk) for chunk in table.chunks()])


def _bits_in(chunk: Chunk) -> np.ndarray:
    keys: list[np.ndarray] = []
    length = block_length(len(COLUMNS), chunk.piece.rows)
    blocks = [block.copy() for block in chunk.keyed_blocks(length, keys.append)]
    own = np.concatenate(keys)
    return np.vstack([np.hstack(blocks)[:, : len(own)].view(np.uint64), own]).T
