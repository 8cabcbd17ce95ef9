"""Sheets of workbooks of Excel (.xlsx, .xlsm): the first row names the columns, and each row below it is a record.

A workbook with one sheet is a table; of one with several, `BOOK.xlsx#SHEET` says which. Cells have no types of columns,
as in a CSV file: each is read by itself, a formula as the value that Excel kept of it. What is no number, date or truth
value, errors such as `#N/A` among them, is a missing cell where a number is asked.

The parts of the file are read with Python's own parser of XML, since no cell may fail here, or show: the libraries for
such files raise exceptions at errors of newer versions of Excel and at long durations, and calamine writes to the
console what it cannot turn into a date (`findings/cells_of_excel.py`).

Records end with the last row that has any content, since editors keep empty rows below; an empty row above it is a
record without cells.
"""

import posixpath
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, BinaryIO
from xml.parsers import expat

from pubpriv.common.inner_names import InnerName
from pubpriv.common.lake_names import location_of
from pubpriv.data.formats._layout import BATCH, Look, Piece, check_rows
from pubpriv.data.formats.pandas_columns import written
from pubpriv.data.stores import locate
from pubpriv.errors import InvalidInput

_READ = 1 << 16
"""Bytes of XML that are parsed at a time."""

_MOST_ROWS = 1 << 20
"""Rows that a sheet can have."""

_MOST_COLUMNS = 1 << 14
"""Columns that a sheet can have."""

_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
"""Parts of a format of numbers that are texts, colours or conditions."""

_DATES = frozenset([14, 15, 16, 17, 22, *range(27, 32), 34, 35, 36, *range(50, 59)])
"""Formats of dates, and of dates with a time, that have numbers and no text."""

_TRUTHS = {"1": True, "true": True, "0": False, "false": False}

_DAY_0, _DAY_0_OF_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_NO_LEAP_DAY = 60
"""Number of the 29th of February 1900, a day that never was, in the calendar from 1900."""

_LAST_DAY = datetime(9999, 12, 31)
"""The last day that Excel, and Python, know."""

_MILLISECONDS = 86_400_000
"""Milliseconds of a day, the precision of times in a sheet: numbers of days are exact to a microsecond at best."""


@dataclass(frozen=True)
class _Sheet:
    """A sheet before its rows are read.

    Attributes:
        book: the open file.
        part: name of the sheet's part.
        dates: by the number of a style, whether a number in it is a date.
        day_0: the day of which numbers of dates are counted.
    """

    book: zipfile.ZipFile
    part: str
    dates: tuple[bool, ...]
    day_0: datetime

    def texts(self) -> list[str]:
        """Return the texts that its cells share with those of other sheets."""
        parts = _related(self.book, self.part_of_book)
        shared = next((part for kind, part in parts.values() if kind == "sharedStrings"), None)
        found: list[str] = []
        if shared is None or shared not in self.book.namelist():
            return found
        reader = _Texts(found)
        _parse(self.book, shared, reader.start, reader.end, reader.letters)
        return found

    @property
    def part_of_book(self) -> str:
        """Name of the part that lists the sheets."""
        return _part_of_book(self.book)

    def rows(self, texts: Sequence[str] | None, columns: Collection[int] | None = None) -> Iterator[dict[int, Any]]:
        """Yield rows from the first one on, each as the cells that are not empty, by the number of their column.

        Args:
            texts: shared texts; None: the values of cells are not read.
            columns: numbers of columns whose values are read; None: all.
        """
        reader = _Cells(self, texts, columns)
        with self.book.open(self.part) as content:
            parser = _parser(reader.start, reader.end, reader.letters)
            last = False
            while not last:
                data = content.read(_READ)
                last = not data
                parser.Parse(data, last)
                ready, reader.ready = reader.ready, []
                yield from ready


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read the names in the first row, and count the rows up to the last one with content."""
    import pyarrow as pa

    with _opened(path) as sheet:
        names = _names(sheet, sheet.texts())
        last = max(i for i, cells in enumerate(sheet.rows(None)) if cells or i == 0)
    schema = pa.schema([(name, pa.large_binary()) for name in names])
    pieces = (Piece(0, last),) if last else ()
    return Look(schema, pieces, frozenset(names), names_in_line=True)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, each cell as a text, null if it is missing.

    Raises:
        InvalidInput: there are other rows now.
    """
    import pyarrow as pa

    read = 0
    with _opened(path) as sheet:
        texts = sheet.texts()
        names = _names(sheet, texts)
        places = [names.index(name) for name in columns]
        rows = _below(sheet, texts, {*places})
        while some := [*islice(rows, BATCH)]:
            read += len(some)
            arrays = [pa.array([written(row.get(place)) for row in some], pa.large_binary()) for place in places]
            yield pa.RecordBatch.from_arrays(arrays, list(columns))
    check_rows(read, piece)


def read_whole(name: str, content: BinaryIO) -> Any:
    """Return a DataFrame of a public workbook, `name`, whose bytes are `content`; its columns have no types."""
    import pandas as pd

    inner = InnerName.of(name)
    with zipfile.ZipFile(content) as book:
        sheet = _sheet(book, name, None if inner is None else inner.table)
        texts = sheet.texts()
        names, rows = _names(sheet, texts), [*_below(sheet, texts)]
        columns = [pd.Series([row.get(place) for row in rows], dtype=object) for place in range(len(names))]
    frame = pd.concat(columns, axis=1)
    frame.columns = pd.Index(names)
    return frame


@contextmanager
def _opened(path: str) -> Iterator[_Sheet]:
    inner = InnerName.of(path)
    filesystem, place = locate(location_of(path))
    with filesystem.open_input_file(place) as handle, zipfile.ZipFile(handle) as book:
        yield _sheet(book, path, None if inner is None else inner.table)


def _names(sheet: _Sheet, texts: Sequence[str]) -> list[str]:
    """Names in the first row.

    Raises:
        ValueError: there are none.
    """
    cells = next(sheet.rows(texts), {})
    found = {place: (written(cell) or b"").decode(errors="replace") for place, cell in cells.items()}
    if not any(found.values()):
        raise ValueError("no header")
    return [found.get(place, "") for place in range(max(found) + 1)]


def _below(sheet: _Sheet, texts: Sequence[str], columns: Collection[int] | None = None) -> Iterator[dict[int, Any]]:
    """Rows below the first one, up to the last with content."""
    empty = 0
    rows = sheet.rows(texts, columns)
    next(rows, None)
    for cells in rows:
        if not cells:
            empty += 1
            continue
        yield from ({} for _ in range(empty))
        empty = 0
        yield cells


def _sheet(book: zipfile.ZipFile, name: str, wanted: str | None) -> _Sheet:
    """Find a sheet by its name, or the only one.

    Raises:
        InvalidInput: there are several, or none of that name.
    """
    sheets: dict[str, str] = {}
    day_0 = [_DAY_0]

    def start(tag: str, fields: dict[str, str]) -> None:
        if tag == "sheet":
            sheets[fields.get("name", "")] = next((fields[key] for key in fields if key.endswith(":id")), "")
        elif tag == "workbookPr" and _TRUTHS.get(fields.get("date1904", "")):
            day_0[0] = _DAY_0_OF_1904

    place = _part_of_book(book)
    _parse(book, place, start)
    parts = _related(book, place)
    tables = {each: parts[key][1] for each, key in sheets.items() if parts.get(key, ("", ""))[0] == "worksheet"}
    shown = location_of(name)
    if wanted is None and len(tables) != 1:
        raise InvalidInput(
            f"{shown} has {len(tables)} sheets, {', '.join(tables)}: say which is meant, for example "
            f"{shown}#{next(iter(tables), 'SHEET')}"
        )
    if wanted is not None and wanted not in tables:
        raise InvalidInput(f"{shown} has no sheet {wanted!r}; its sheets are: {', '.join(tables)}")
    part = tables[wanted] if wanted is not None else next(iter(tables.values()))
    styles = next((each for kind, each in parts.values() if kind == "styles"), None)
    dates = () if styles is None or styles not in book.namelist() else _dates(book, styles)
    return _Sheet(book, part, dates, day_0[0])


def _part_of_book(book: zipfile.ZipFile) -> str:
    return next(part for kind, part in _related(book, "").values() if kind == "officeDocument")


def _related(book: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Kinds and names of the parts that a part refers to, by their ids."""
    folder, name = posixpath.split(part)
    found: dict[str, tuple[str, str]] = {}

    def start(tag: str, fields: dict[str, str]) -> None:
        if tag == "Relationship":
            target = posixpath.normpath(posixpath.join("/", folder, fields.get("Target", ""))).lstrip("/")
            found[fields.get("Id", "")] = fields.get("Type", "").rpartition("/")[2], target

    _parse(book, posixpath.join(folder, "_rels", f"{name}.rels"), start)
    return found


def _dates(book: zipfile.ZipFile, part: str) -> tuple[bool, ...]:
    """By the number of a style, whether a number in it is a date."""
    codes: dict[str, str] = {}
    styles: list[bool] = []
    inside: list[str] = []

    def start(tag: str, fields: dict[str, str]) -> None:
        inside.append(tag)
        if tag == "numFmt":
            codes[fields.get("numFmtId", "")] = fields.get("formatCode", "")
        elif tag == "xf" and "cellXfs" in inside:
            number = fields.get("numFmtId", "0")
            known = number.isdecimal() and int(number) in _DATES
            styles.append(_is_date(codes[number]) if number in codes else known)

    def end(_: str) -> None:
        inside.pop()

    _parse(book, part, start, end)
    return tuple(styles)


def _is_date(code: str) -> bool:
    """Return whether a format shows a day, month or year; a mere time of day, or a duration, stays a number of days."""
    letters = set(_QUOTED.sub("", code.partition(";")[0]).lower())
    if "general" in code.lower():
        return False
    return bool(letters & {"d", "y"}) or ("m" in letters and not letters & {"h", "s"})


class _Texts:
    """Handlers for the part of shared texts.

    Args:
        found: list to which texts are added.
    """

    def __init__(self, found: list[str]) -> None:
        self._found, self._parts, self._inside, self._spoken = found, list[str](), False, False

    def start(self, tag: str, _: dict[str, str]) -> None:
        """Begin an element."""
        self._inside = tag == "t" and not self._spoken
        self._spoken = self._spoken or tag == "rPh"  # how a text is spoken

    def letters(self, text: str) -> None:
        """Keep letters of a text."""
        if self._inside:
            self._parts.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        self._inside = False
        if tag == "rPh":
            self._spoken = False
        elif tag == "si":
            self._found.append(_unescaped("".join(self._parts)))
            self._parts = []


class _Cells:
    """Handlers for the part of a sheet.

    Args:
        sheet: the sheet.
        texts: shared texts; None: values are not read.
        columns: numbers of columns whose values are read; None: all.
    """

    def __init__(self, sheet: _Sheet, texts: Sequence[str] | None, columns: Collection[int] | None) -> None:
        self._sheet, self._texts, self._columns = sheet, texts, columns
        self._row, self._column, self._cells = 0, -1, dict[int, Any]()
        self._type, self._style = "n", ""
        self._open = self._spoken = False
        self._parts: list[str] = []
        self._places: dict[str, int] = {}
        self.ready: list[dict[int, Any]] = []

    def start(self, tag: str, fields: dict[str, str]) -> None:
        """Begin an element."""
        tag = tag if ":" not in tag else _own(tag)
        if tag == "c":
            self._column = self._place(fields.get("r", ""), self._column + 1)
            self._type, self._style, self._parts = fields.get("t", "n"), fields.get("s", ""), []
        elif tag == "v" or (tag == "t" and not self._spoken):
            self._open = True
        elif tag == "rPh":
            self._spoken = True
        elif tag == "row":
            number = fields.get("r", "")
            told = int(number) if number.isdecimal() and len(number) < 9 else 0
            told = told if self._row < told <= _MOST_ROWS else self._row + 1
            if told > self._row + 1:
                self.ready.extend({} for _ in range(told - self._row - 1))
            self._row, self._column, self._cells = told, -1, {}

    def letters(self, text: str) -> None:
        """Keep letters of a text."""
        if self._open:
            self._parts.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        tag = tag if ":" not in tag else _own(tag)
        if tag in ("v", "t"):
            self._open = False
        elif tag == "c":
            if self._parts:  # a cell with content, also where its value is missing
                chosen = self._texts is not None and (self._columns is None or self._column in self._columns)
                self._cells[self._column] = self._value("".join(self._parts)) if chosen else None
        elif tag == "row":
            self.ready.append(self._cells)
        elif tag == "rPh":
            self._spoken = False

    def _value(self, text: str) -> Any:
        """Value of a cell; None: it is missing."""
        kind, texts = self._type, self._texts or ()
        if kind == "n":
            number = float(text) if _NUMBER.fullmatch(text) else None
            if not self._style or number is None:
                return number
            style = int(self._style) if self._style.isdecimal() and len(self._style) < 9 else -1
            dates = self._sheet.dates
            return _day(number, self._sheet.day_0) if 0 <= style < len(dates) and dates[style] else number
        if kind == "s":
            place = int(text) if text.isdecimal() and len(text) < 12 else len(texts)
            return (texts[place] or None) if place < len(texts) else None
        if kind in ("str", "inlineStr", "d"):
            return _unescaped(text) or None
        return _TRUTHS.get(text.strip().lower()) if kind == "b" else None

    def _place(self, reference: str, otherwise: int) -> int:
        """Number of the column of a reference such as AB12, from 0; `otherwise` if there is none behind the last."""
        letters = reference.rstrip("0123456789")
        place = self._places.get(letters)
        if place is None:
            place = self._places[letters] = _number_of(letters)
        return place if otherwise <= place < _MOST_COLUMNS else otherwise


def _day(serial: float, day_0: datetime) -> date | datetime | None:
    """Day, or day and time, of a number; None: Excel has no such day."""
    days = (_LAST_DAY - day_0).days + 1
    if not 0 <= serial < days:  # NaN is not
        return None
    counted = serial + 1 if day_0 == _DAY_0 and serial < _NO_LEAP_DAY else serial
    found = day_0 + timedelta(milliseconds=min(round(counted * _MILLISECONDS), days * _MILLISECONDS - 1))
    return found.date() if counted.is_integer() else found


def _number_of(letters: str) -> int:
    """Number of a column from 0; -1 for what is no name of a column."""
    number = 0
    if len(letters) > 3 or not (letters.isascii() and letters.isupper()):
        return -1
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _own(tag: str) -> str:
    """Name of an element without a prefix."""
    return tag.rpartition(":")[2]


def _parse(
    book: zipfile.ZipFile,
    part: str,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    letters: Callable[[str], None] | None = None,
) -> None:
    ends = None if end is None else lambda tag: end(_own(tag))
    with book.open(part) as content:
        _parser(lambda tag, fields: start(_own(tag), fields), ends, letters).ParseFile(content)


def _parser(
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    letters: Callable[[str], None] | None = None,
) -> expat.XMLParserType:
    """A parser with handlers, which gives them all letters of a text at once."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = letters
    return parser
