"""Files of statistics software, by pyreadstat: SPSS (.sav, .zsav), Stata (.dta) and SAS (.sas7bdat, .xpt).

Numbers are those that the file stores; what it declares to be missing, extended missing values included, is missing,
and so is an empty text. Dates and times are known by their formats. Texts are read byte by byte and decoded here, since
pyreadstat fails at a text that is not in the encoding of its file, which would tell something of a row.
"""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from pubpriv.common.tables import is_url
from pubpriv.data.formats._layout import Look, Piece, check_rows
from pubpriv.errors import InvalidInput

_ROWS = 1 << 18
"""Rows of a piece. A reader skips the rows before a piece, so short pieces cost time, and long ones memory."""

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Functions of pyreadstat by the ending of a file's name."""

_BYTES = "ISO-8859-1"
"""An encoding in which every byte is a letter."""

_DAY, _MICROSECONDS = 86_400.0, 1e6
_1960, _1582 = -315_619_200.0, -12_219_379_200.0
"""When the calendars of Stata and SAS, and that of SPSS, begin, in seconds since the beginning of 1970."""

_SPSS_DATES = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE")
_SPSS_TIMES = ("DATETIME", "YMDHMS")
_SAS_DATES = ("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "JULIAN", "WEEKDATE", "WORDDATE", "E8601DA", "B8601DA", "IS8601DA")
_SAS_TIMES = ("DATETIME", "E8601DT", "B8601DT", "IS8601DT", "DATEAMPM", "MDYAMPM")
"""Formats of dates, and of dates with a time of day, without their widths. Other numbers stay as they are stored."""


@dataclass(frozen=True)
class _Variable:
    """A column of a file.

    Attributes:
        name: as a reader sees it.
        key: by which pyreadstat knows it, its bytes as letters.
        kind: `number`, `integer`, `text`, `date` or `time`.
        start: of the calendar, in seconds since the beginning of 1970.
        unit: of dates and times, in seconds.
    """

    name: str
    key: str
    kind: str
    start: float = 0.0
    unit: float = 1.0

    @property
    def type(self) -> Any:
        """Return the Arrow type of its cells."""
        import pyarrow as pa

        types = {
            "number": pa.float64(),
            "integer": pa.int64(),
            "text": pa.large_string(),
            "date": pa.date32(),
            "time": pa.timestamp("us"),
        }
        return types[self.kind]

    def array(self, cells: Any, encoding: str) -> Any:
        """Return cells as an Arrow array of its type. Never fails on a value."""
        import pyarrow as pa

        if self.kind == "text":
            texts = [_decoded(cell, encoding) if isinstance(cell, str) and cell else None for cell in cells]
            return pa.array(texts, type=self.type)
        numbers = np.asarray(cells, dtype=np.float64)
        missing = np.isnan(numbers)
        if self.kind == "number":
            return pa.array(numbers, mask=missing)
        with np.errstate(all="ignore"):
            seconds = numbers * self.unit + self.start
            counts = {"integer": numbers, "date": np.floor(seconds / _DAY), "time": np.rint(seconds * _MICROSECONDS)}
            most = np.iinfo(np.int32 if self.kind == "date" else np.int64).max
            # the largest integer of 64 bits is no float: the next one below it is
            held = np.clip(np.where(missing, 0.0, counts[self.kind]), -float(most), np.nextafter(float(most), 0.0))
        whole = held.astype(np.int32 if self.kind == "date" else np.int64)
        return pa.array(whole, mask=missing).view(self.type)


@dataclass(frozen=True)
class _File:
    """A file with its columns, before any row is read.

    Attributes:
        source: path, or open file.
        reader: name of pyreadstat's function.
        variables: columns in order.
        encoding: of texts.
        rows: number of rows.
    """

    source: Any
    reader: str
    variables: tuple[_Variable, ...]
    encoding: str
    rows: int

    def table(self, names: Sequence[str] | None = None, start: int = 0, most: int = 0) -> Any:
        """Return an Arrow table of some columns, all by default, of at most so many rows from `start` on; 0: all."""
        import pyarrow as pa

        wanted = {each.name: each for each in self.variables}
        chosen = [wanted[name] for name in (wanted if names is None else names)]
        keys = [each.key for each in chosen]
        frame, _ = _read(self.reader, self.source, usecols=keys, row_offset=start, row_limit=most)
        cells = [each.array(frame[each.key].to_numpy(), self.encoding) for each in chosen]
        return pa.table(cells, schema=pa.schema([(each.name, each.type) for each in chosen]))


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read names and types, and the number of rows, for which some files are read to their end."""
    import pyarrow as pa

    if is_url(path):
        raise InvalidInput("a private table of SPSS, Stata or SAS is a local file: copy it, or write it as Parquet")
    file = _opened(path, path)
    schema = pa.schema([(each.name, each.type) for each in file.variables])
    pieces = [Piece(i, min(_ROWS, file.rows - start)) for i, start in enumerate(range(0, file.rows, _ROWS))]
    return Look(schema, tuple(pieces), whole_as_floats=True)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: there are fewer rows now.
    """
    table = _opened(path, path, counted=False).table(columns, piece.number * _ROWS, piece.rows)
    check_rows(table.num_rows, piece)
    yield from table.to_batches()


def read_whole(name: str, content: BinaryIO) -> Any:
    """Return an Arrow table of a public file, `name`, whose bytes are `content`."""
    return _opened(name, content).table()


def _opened(name: str, source: Any, counted: bool = True) -> _File:
    """Open the file `name` at `source`; `counted`: its rows are counted, too."""
    reader = next(function for end, function in _READERS.items() if name.lower().endswith(end))
    _, meta = _read(reader, source, encoding=None, metadataonly=True)
    _, as_bytes = _read(reader, source, metadataonly=True)
    variables = tuple(
        _variable(own, key, meta.readstat_variable_types[own], meta.original_variable_types[own] or "", reader)
        for own, key in zip(meta.column_names, as_bytes.column_names, strict=True)
    )
    rows = meta.number_rows
    if counted and variables and (rows is None or rows < 0):
        frame, _ = _read(reader, source, usecols=[variables[0].key])
        rows = len(frame)
    return _File(source, reader, variables, _known(meta.file_encoding), rows or 0)


def _variable(name: str, key: str, stored: str, shown: str, reader: str) -> _Variable:
    if stored == "string":
        return _Variable(name, key, "text")
    if reader == "read_dta":
        if shown.startswith(("%td", "%d")):
            return _Variable(name, key, "date", _1960, _DAY)
        if shown.startswith(("%tc", "%tC")):
            return _Variable(name, key, "time", _1960, 1e-3)
    else:
        form = shown.upper().partition(".")[0].rstrip("0123456789")
        spss = reader == "read_sav"
        start = _1582 if spss else _1960
        if form in (_SPSS_TIMES if spss else _SAS_TIMES):
            return _Variable(name, key, "time", start)
        if form in (_SPSS_DATES if spss else _SAS_DATES):
            return _Variable(name, key, "date", start, 1.0 if spss else _DAY)
    return _Variable(name, key, "integer" if stored.startswith("int") else "number")


def _read(reader: str, source: Any, *, encoding: str | None = _BYTES, **how: Any) -> Any:
    """Call pyreadstat; an open file is read from its beginning."""
    try:
        import pyreadstat
    except ImportError:
        raise InvalidInput("files of SPSS, Stata and SAS need: pip install 'pubpriv[statistics]'") from None
    if hasattr(source, "seek"):
        source.seek(0)
    return getattr(pyreadstat, reader)(source, encoding=encoding, disable_datetime_conversion=True, **how)


def _known(encoding: str | None) -> str:
    try:
        return codecs.lookup(encoding or "utf-8").name
    except LookupError:
        return "utf-8"


def _decoded(cell: str, encoding: str) -> str:
    """Decode a text whose letters are bytes; bytes that are no letters are written by their numbers."""
    return cell.encode(_BYTES, errors="replace").decode(encoding, errors="backslashreplace")
