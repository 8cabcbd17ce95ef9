"""The canary search: do values of private rows appear anywhere they must not?

`make_canaries` makes values that nothing else prints, `plant` puts them into a private table, and `search`
looks for them in folders (every file; SQLite databases raw and cell by cell) and in console text, as


- text, however it was rounded: a number of s significant digits counts if it is a canary rounded or cut to s
  digits, for s from 6 to 9, and to 12 digits if it has more. The decimal point counts, so that time stamps
  do not; nine bare digits count too, but not inside UUIDs and digests, of which there are so many that now and then
  one of them has nine decimal digits in a row, and those of a canary once in ten thousand searches;
- bytes: float64 of either order anywhere (NumPy is little-endian, pickle and SQLite are big-endian), and
  float32 if another canary is near, because among millions of windows a single one is found by chance;
- strings; and all of these inside base64 (any alignment, broken lines), zlib, gzip, bzip2, xz, three deep.
"""

import binascii
import bz2
import lzma
import os
import re
import shutil
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DEPTH = 3
FEWEST_DIGITS, ALL_DIGITS, LONG_DIGITS = 6, 9, 12
NEAR = 64
"""Bytes within which a second float32 canary must lie."""


@dataclass(frozen=True)
class Canaries:
    """Rows (n, d) of distinctive values, and one distinctive string per row."""

    rows: np.ndarray
    strings: tuple[str, ...]


@dataclass(frozen=True)
class Hit:
    """A canary, in what form, and where it was found."""

    place: str
    form: str
    canary: str


def make_canaries(
    n: int = 500, d: int = 3, seed: int = 0, magnitude: float = 1000.0, apart_from: Iterable[tuple[float, float]] = ()
) -> Canaries:
    """n rows of d values of nine significant digits, from `magnitude` to ten times that, and n strings.

    Args:
        n: rows.
        d: columns.
        seed: of the values.
        magnitude: a power of ten. Few other numbers with decimals should be of that size where one looks.
        apart_from: spans (low, high) without a canary, for released numbers of that size: the UI rounds them to nine
            digits or, where these end in zeros, to fewer, and every so often one would be a canary by chance.
    """
    spans = tuple(apart_from)
    if spans:
        more = make_canaries(4 * n, d, seed, magnitude)
        inside = np.any([(low <= more.rows) & (more.rows <= high) for low, high in spans], axis=(0, 2))
        kept = np.flatnonzero(~inside)[:n]
        assert len(kept) == n
        return Canaries(more.rows[kept], tuple(more.strings[i] for i in kept))
    rng = np.random.default_rng(seed)
    digits = rng.choice(9 * 10 ** (ALL_DIGITS - 2), size=(n, d), replace=False) + 10 ** (ALL_DIGITS - 2)
    digits = 10 * digits + rng.integers(1, 10, size=(n, d))  # the ninth is never 0
    exponent = round(np.log10(magnitude)) - (ALL_DIGITS - 1)
    rows = np.array([[float(f"{value}e{exponent}") for value in row] for row in digits.tolist()])
    letters = rng.choice(list("ABCDEFGHJKLMNPQRSTUVWXYZ"), size=(n, 12))
    return Canaries(rows, tuple("CANARY_" + "".join(word) for word in letters))


def plant(
    folder: str | os.PathLike[str],
    canaries: Canaries,
    columns: Iterable[str],
    others: np.ndarray,
    seed: int = 0,
    row_group: int = 10_000,
) -> Path:
    """A private table of canary rows among `others` (m, d), to be opened as the folder that is returned.

    Canary strings are also in a text column, in the footer's key-value metadata, and in the name of a
    partition folder.
    """
    rows = np.concatenate([canaries.rows, others])
    names = np.array([*canaries.strings, *["someone"] * len(others)])
    order = np.random.default_rng(seed).permutation(len(rows))
    table = pa.table({column: rows[order, i] for i, column in enumerate(columns)} | {"patient": names[order]})
    table = table.replace_schema_metadata({"note": canaries.strings[0], canaries.strings[1]: "as a key"})
    partition = Path(folder) / f"ward={canaries.strings[2]}"
    partition.mkdir(parents=True)
    pq.write_table(table, partition / "part-0.parquet", row_group_size=row_group)
    return Path(folder)


# --- needles ------------------------------------------------------------------------------------------------


class Needles:
    """What to look for, prepared for fast looking."""

    def __init__(self, values: Iterable[float], strings: Iterable[str] = ()) -> None:
        self.values = np.unique(np.asarray(list(values), dtype=np.float64))
        self.strings = tuple(strings)

    @cached_property
    def texts(self) -> dict[str, str]:
        """Canonical text at 6 to 9 and at 12 digits, rounded and cut -> the canary."""
        found = {}
        for value in self.values.tolist():
            full = f"{value:.{LONG_DIGITS - 1}e}"
            mantissa, exponent = full.split("e")
            found[full] = repr(value)
            for digits in range(FEWEST_DIGITS, ALL_DIGITS + 1):
                found[f"{value:.{digits - 1}e}"] = repr(value)
                found[f"{mantissa[: digits + 1]}e{exponent}"] = repr(value)
        return found

    @cached_property
    def digits(self) -> dict[bytes, str]:
        """Nine bare digits -> the canary."""
        found = {}
        for value in self.values.tolist():
            mantissa = f"{value:.{ALL_DIGITS - 1}e}".split("e")[0]
            found[mantissa.replace(".", "").encode()] = repr(value)
        return found

    @cached_property
    def words(self) -> re.Pattern[bytes] | None:
        """All strings at once, behind their common prefix."""
        if not self.strings:
            return None
        prefix = os.path.commonprefix(self.strings)  # noqa: RUF071 - of characters, which is what is wanted
        rest = sorted({re.escape(word[len(prefix) :]) for word in self.strings}, reverse=True)
        return re.compile((re.escape(prefix) + "(?:" + "|".join(rest) + ")").encode())

    @cached_property
    def windows(self) -> tuple["Window", ...]:
        """The values as bytes."""
        return tuple(Window(self.values, kind) for kind in ("<f8", ">f8", "<f4", ">f4") if len(self.values))

    def find(self, data: bytes) -> set[tuple[str, str]]:
        """(form, canary) for everything that stands in `data` as it is."""
        found = set(self._numbers(data)) if len(self.values) else set()
        if self.words:
            found |= {("string", word.decode()) for word in self.words.findall(data)}
        for window in self.windows:
            found |= {(window.form, repr(value)) for value in window.find(data)}
        return found

    def _numbers(self, data: bytes) -> Iterator[tuple[str, str]]:
        for token in _tokens(data):
            mantissa = re.split(b"[eE]", token)[0]
            count = len(mantissa.replace(b".", b"").lstrip(b"0"))
            if b"." not in mantissa:
                canary = self.digits.get(token) if len(token) == ALL_DIGITS else None
            elif count < FEWEST_DIGITS:
                continue
            else:
                digits = count if count <= ALL_DIGITS else LONG_DIGITS
                canary = self.texts.get(f"{float(token):.{digits - 1}e}")
            if canary:
                yield "text", canary


def _tokens(data: bytes) -> Iterator[bytes]:
    """Numbers with a decimal point, and nine bare digits; not those inside UUIDs and digests.

    Three patterns that begin with a plain set of characters, by which `re` skips: one that begins with a look at what
    is before it takes five times as long, and most of a search.
    """
    if not _DIGITS.search(data):
        return
    kept = _HEXADECIMAL.sub(_without_random, data)
    for digits in _DIGITS.finditer(kept):
        if token := _NUMBER.match(kept, digits.start()):
            yield token[0]


def _without_random(found: re.Match[bytes]) -> bytes:
    """Nothing in place of a UUID, or of a digest with a letter in it: they are drawn or hashed, and hold no text."""
    before = found.string[max(found.start() - 1, 0) : found.start()]
    digest = before not in _IN_A_NUMBER and not found[0].isdigit()
    return b" " if b"-" in found[0] or digest else found[0]


_DIGITS = re.compile(rb"[0-9][0-9.]{6,}")
_REST = rb"(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # of a UUID
_HEXADECIMAL = re.compile(rb"[0-9a-f][0-9a-f]{7}(?:%b|[0-9a-f]{24,}(?![0-9a-f]|%b))" % (_REST, _REST))
_IN_A_NUMBER = frozenset(bytes([byte]) for byte in b"0123456789abcdef.")
_NUMBER = re.compile(rb"(?<![\d.])(?:\d+\.\d+(?:[eE][+-]?\d{1,3})?|\d{9}(?!\d))")


class Window:
    """Values as fixed-width bytes, found at any offset."""

    def __init__(self, values: np.ndarray, kind: str) -> None:
        self.form = {"f8": "float64", "f4": "float32"}[kind[1:]]
        self.width = int(kind[2])
        self.little = kind[0] == "<"
        self.code = ("<" if self.little else ">") + {8: "u8", 4: "u4"}[self.width]
        raw = values.astype(kind).view(self.code).astype(np.uint64)
        order = np.argsort(raw)
        self.raw, self.values = raw[order], values[order]
        # the two leading bytes (sign, exponent, first digits) rule out nearly every offset
        self.leading = np.zeros(1 << 16, dtype=bool)
        self.leading[(raw >> np.uint64(8 * (self.width - 2))).astype(np.int64)] = True

    def find(self, data: bytes) -> list[float]:
        """Values whose bytes stand in `data`; a float32 only if another one is near."""
        if len(data) < self.width:
            return []
        octets = np.frombuffer(data, dtype=np.uint8)
        stop = len(octets) - self.width + 1
        first = self.width - 1 if self.little else 0
        second = first - 1 if self.little else 1
        high = octets[first : first + stop].astype(np.uint16) << 8 | octets[second : second + stop]
        places = np.flatnonzero(self.leading[high])
        cells = octets[places[:, None] + np.arange(self.width)]
        raw = np.ascontiguousarray(cells).view(self.code).ravel().astype(np.uint64)
        index = np.minimum(np.searchsorted(self.raw, raw), len(self.raw) - 1)
        same = self.raw[index] == raw
        places, index = places[same], index[same]
        if self.width == 4 and len(places):
            apart = np.diff(places, prepend=-NEAR - 1, append=places[-1] + NEAR + 1)
            near = (apart[:-1] <= NEAR) | (apart[1:] <= NEAR)
            index = index[near]
        return self.values[index].tolist()


def needles(values: np.ndarray | Iterable[float], strings: Iterable[str] = ()) -> Needles:
    """Every form of the values and strings that `search` looks for."""
    return Needles(np.asarray(values, dtype=np.float64).ravel(), strings)


# --- search -------------------------------------------------------------------------------------------------


def search(
    paths: Iterable[str | os.PathLike[str]],
    texts: Mapping[str, str | bytes] | Iterable[str | bytes],
    wanted: Needles,
) -> list[Hit]:
    """Canaries in the files under `paths` (names included) and in `texts` (by name, or in order)."""
    named = texts if isinstance(texts, Mapping) else {f"text {i}": text for i, text in enumerate(texts)}
    places = [*_files(paths), *((name, t.encode() if isinstance(t, str) else t) for name, t in named.items())]
    hits = {Hit(place, form, canary) for place, data in places for form, canary in _deep(data, wanted, DEPTH)}
    return sorted(hits, key=lambda hit: (hit.place, hit.form, hit.canary))


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, bytes]]:
    for root in map(Path, paths):
        for path in sorted(p for p in [root, *root.rglob("*")] if not p.is_dir()):
            data = path.read_bytes()
            yield str(path), data
            yield f"name of {path}", str(path.relative_to(root.parent)).encode()
            if data.startswith(b"SQLite format 3\0"):
                yield from _cells(path)


def _cells(database: Path) -> Iterator[tuple[str, bytes]]:
    """Each column's cells one after another: on disk, long ones are scattered over pages."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            if Path(f"{database}{suffix}").exists():
                shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
        connection = sqlite3.connect(copy)
        connection.text_factory = bytes
        try:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for table in (name.decode() for (name,) in tables):
                cursor = connection.execute(f'SELECT * FROM "{table}"')
                names = [column[0] for column in cursor.description]
                for name, column in zip(names, zip(*cursor.fetchall(), strict=True), strict=False):
                    yield f"{database}: {table}.{name}", b"\n".join(map(_cell, column))
        finally:
            connection.close()


def _cell(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return (struct.pack(">d", value) if isinstance(value, float) else b"") + str(value).encode()


def _deep(data: bytes, wanted: Needles, depth: int) -> set[tuple[str, str]]:
    """What stands in `data`, or in what `data` encodes."""
    found = wanted.find(data)
    if depth:
        inner = list(_inflated(data))
        decoded = b"\n".join(_decoded(data))
        for payload in [*inner, decoded] if decoded else inner:
            found |= _deep(payload, wanted, depth - 1)
    return found


_BASE64 = re.compile(rb"[A-Za-z0-9+/]{12,}")
_BREAKS = re.compile(rb"\\r|\\n|[\r\n]")
_URLSAFE = bytes.maketrans(b"-_", b"+/")


def _decoded(data: bytes) -> Iterator[bytes]:
    """Base64 runs of 12 characters and more, read at each alignment."""
    joined = _BREAKS.sub(b"", data).translate(_URLSAFE)
    for run in {run for run in _BASE64.findall(joined) if not run.isdigit()}:
        for start in range(4):
            whole = run[start : start + (len(run) - start) // 4 * 4]
            rest = run[start + len(whole) :]
            yield binascii.a2b_base64(whole + (rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""))


_PACKED: tuple[tuple[re.Pattern[bytes], Callable[[], object]], ...] = (
    (re.compile(rb"\x78[\x01\x5e\x9c\xda]"), zlib.decompressobj),
    (re.compile(rb"\x1f\x8b\x08"), lambda: zlib.decompressobj(wbits=31)),
    (re.compile(rb"BZh[1-9]1AY&SY"), bz2.BZ2Decompressor),
    (re.compile(rb"\xfd7zXZ\x00"), lzma.LZMADecompressor),
)


def _inflated(data: bytes) -> Iterator[bytes]:
    """Compressed streams, wherever they begin; as much of each as can be read."""
    for magic, make in _PACKED:
        for match in magic.finditer(data):
            inflated = b""
            stream = make()
            try:
                for start in range(match.start(), len(data), 1 << 16):
                    inflated += stream.decompress(data[start : start + (1 << 16)])
                    if stream.eof:
                        break
            except (zlib.error, lzma.LZMAError, OSError, EOFError):
                pass
            if len(inflated) >= 8:
                yield inflated
