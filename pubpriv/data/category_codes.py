"""Turn a column of a file into category codes: indices in a public list. Never fails on a value."""

import re
from functools import partial
from typing import Any

import numpy as np

from pubpriv.data._arrow import distinct, is_bytes, of_each_value, validity_of
from pubpriv.data._dates import NO_MONTH, months_of
from pubpriv.data.categories import ByCategory, is_by_month, source_of_groups
from pubpriv.errors import InvalidInput

_FIRST_YEAR = 1970
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}")
_WHOLE = re.compile(r"([+-]?[0-9]{1,20})(?:\.0*)?")
_TRUTHS = {"true": ("true", "t", "yes", "y", "1", "1.0"), "false": ("false", "f", "no", "n", "0", "0.0")}


def check_kind(column: str, kind: Any, where: str) -> None:
    """Check that a column of this Arrow type can make groups.

    Args:
        column: column of the groups, or `month(column)`.
        kind: its Arrow type.
        where: the table in messages.

    Raises:
        InvalidInput: it cannot.
    """
    from pyarrow import types

    source = source_of_groups(column)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if is_bytes(kind):
        return  # cells of a column without a type, as they are written
    if is_by_month(column):
        if types.is_date(kind) or types.is_timestamp(kind):
            return
        raise InvalidInput(f"column {source!r} of {where} is {kind}: a month is taken of dates or times")
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if texts or types.is_integer(kind) or types.is_boolean(kind):
        return
    wanted = f" or, for dates, --by 'month({source})'" if types.is_temporal(kind) else ""
    raise InvalidInput(
        f"column {source!r} of {where} is {kind}: groups are read from texts, integers or true and false{wanted}"
    )


def check_values(by: ByCategory, kind: Any, where: str) -> None:
    """Refuse groups that no cell of a column of this Arrow type can be in; of texts, every group is possible.

    Args:
        by: the groups.
        kind: type of their column, which `check_kind` admits.
        where: name of the table in messages.

    Raises:
        InvalidInput: the type holds no such value, or two groups mean the same cells.
    """
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if by.by_month or not (types.is_boolean(kind) or types.is_integer(kind)):
        return
    read, cells = (
        (_truth_in, "true and false") if types.is_boolean(kind) else (_integer_in, "whole numbers as 5 and -1")
    )
    meant = {value: read(value) for value in by.values}
    odd = [value for value in by.values if not _is_cell(value, kind)]
    twice = [value for value in by.values if [*meant.values()].count(meant[value]) > 1]
    if not odd and not twice:
        return
    instead = ",".join(dict.fromkeys(str(each) for each in meant.values() if each is not None and _is_cell(each, kind)))
    problem = "no cell of which can be" if odd else "where one cell would be in each of"
    raise InvalidInput(
        f"groups by {by.column}: column {by.source!r} of {where} is {kind}, {problem} "
        f"{', '.join(map(repr, (odd or twice)[:5]))}. Its groups are written as {cells}"
        + (f": --by-values {instead}" if instead else "")
    )


def _is_cell(value: str, kind: Any) -> bool:
    """Check whether a value is written as a cell of truth values or integers is."""
    from pyarrow import types

    if types.is_boolean(kind):
        return value.lower() in ("true", "false")
    if not _INTEGER.fullmatch(value):
        return False
    signed, bits = types.is_signed_integer(kind), kind.bit_width
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return bool(least <= int(value) <= most)


def _truth_in(value: str) -> str | None:
    """The truth value that somebody may have meant."""
    return next((name for name, words in _TRUTHS.items() if value.strip().lower() in words), None)


def _integer_in(value: str) -> str | None:
    """The whole number that somebody may have meant: `1` for `01`, `1.0` or `true`."""
    truth = {"true": "1", "false": "0"}.get(value.strip().lower())
    match = _WHOLE.fullmatch(value.strip())
    return truth or (str(int(match[1])) if match else None)


def codes_of(array: Any, by: ByCategory) -> np.ndarray:
    """Return the index of each value in the list of categories, float64 (length,); NaN for other values and null.

    Args:
        array: of a type that `check_kind` admits.
        by: the groups.
    """
    return of_each_value(array, partial(_codes_of_values, by=by), np.nan)


def level_numbers(array: Any, by: ByCategory) -> np.ndarray:
    """Return the index of each value in a list of levels, float64 (length,): after the last for others, NaN for null.

    Args:
        array: of a type that `check_kind` admits.
        by: the levels, as categories.
    """

    def numbers(values: Any) -> np.ndarray:
        codes = _codes_of_values(values, by)
        return np.where(np.isnan(codes) & validity_of(values), float(len(by.values)), codes)

    return of_each_value(array, numbers, np.nan)


def _codes_of_values(array: Any, by: ByCategory) -> np.ndarray:
    """The same for an array without a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if by.by_month:
        wanted = pa.array([_month_number(value) for value in by.values], pa.int64())
        texts = pa.array(months_of(array), pa.int64())
    elif is_bytes(array.type):
        return _codes_of_cells(array, by)
    else:
        wanted = pa.array([_as_kind(value, array.type) for value in by.values], pa.large_string())
        texts = array.cast(pa.large_string(), safe=False)
    places = pc.index_in(texts, value_set=wanted, skip_nulls=True)
    own = np.frombuffer(places.buffers()[1], np.int32)[places.offset : places.offset + len(places)]
    return np.where(validity_of(places), own, np.nan)


def _codes_of_cells(array: Any, by: ByCategory) -> np.ndarray:
    """The same for cells of a file without types; each distinct cell is looked up once."""
    cells = array.dictionary_encode()
    known = {value: float(place) for place, value in enumerate(by.values)}
    texts = _decoded(cells.dictionary)
    codes = np.array([*(known.get(text, np.nan) for text in texts), np.nan])
    places = np.frombuffer(cells.indices.buffers()[1], np.int32)[cells.indices.offset :][: len(cells)]
    return codes[np.where(validity_of(cells.indices), places, len(texts))]


def texts_of(array: Any, by_month: bool) -> set[str]:
    """Return the distinct categories of a public column, as texts."""
    import pyarrow as pa

    if by_month:
        months = (str(np.datetime64(int(month), "M")) for month in np.unique(months_of(array)) if month != NO_MONTH)
        return {month for month in months if _MONTH.fullmatch(month)}  # others are beyond the calendar
    if pa.types.is_dictionary(array.type):
        array = distinct(array)[0]
    if is_bytes(array.type):
        return {*_decoded(array.unique().drop_null())} - {""}
    return {text for text in array.cast(pa.string()).unique().to_pylist() if text}


def _decoded(cells: Any) -> list[str]:
    """Texts of an Arrow array of bytes without nulls."""
    return [cell.decode(errors="replace") for cell in cells.to_pylist()]


def _as_kind(value: str, kind: Any) -> str:
    """Spell a category as Arrow does: `False` in a CSV file is `false`."""
    import pyarrow as pa

    return value.lower() if pa.types.is_boolean(kind) else value


def _month_number(value: str) -> int:
    year, month = map(int, value.split("-"))
    return 12 * (year - _FIRST_YEAR) + month - 1


def codes_in_memory(by: ByCategory, categories: Any, rows: int) -> np.ndarray:
    """Return category codes of rows in memory, for simulations, as `codes_of` does.

    Args:
        by: the groups.
        categories: one text, integer or boolean for each row, None if it has none; dates if groups are months.
        rows: number of rows.

    Raises:
        InvalidInput: another number of categories than rows, or another type.
    """
    import pyarrow as pa

    try:
        array = pa.array(categories)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InvalidInput(f"simulated groups are a category for each row: {error}") from None
    if pa.types.is_null(array.type):  # no row has a category
        array = array.cast(pa.string())
    check_kind(by.column, array.type, "the simulated rows")
    check_values(by, array.type, "the simulated rows")
    if len(array) != rows:
        raise InvalidInput(f"there are {rows} simulated rows, but categories of {len(array)}")
    return codes_of(array, by)
