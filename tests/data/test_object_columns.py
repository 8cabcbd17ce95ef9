"""Columns of a frame without a type: whatever an object is, it is read by itself, and nothing of it stops a program."""

import datetime as dt
import enum
import uuid
import warnings
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import from_dtype

import pubpriv as pp
from pubpriv.data.categories import ByCategory
from pubpriv.data.public_categories import groups_of
from pubpriv.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore:column '(x|who)' .* has the type object:UserWarning")

ID = uuid.UUID("6f8bA1c2-0000-4000-8000-0123456789ab")
BERLIN = dt.timezone(dt.timedelta(hours=1))


def column(cells):
    objects = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        objects[place] = cell
    return pd.DataFrame({"x": pd.Series(objects, dtype=object), "one": np.ones(len(cells))})


def numbers(cells, columns=("x",)):
    (chunk,) = pp.PrivateTable.open(column(cells), list(columns), name="numbers").chunks()
    return np.concatenate([block[0].copy() for block in chunk.blocks()])[: len(cells)]


def keys(cells):
    (chunk,) = pp.PrivateTable.open(column(cells), ["one"], person="x", name="keys").chunks()
    return np.concatenate([*chunk.keys()])


def codes(cells, by):
    (chunk,) = pp.PrivateTable.open(column(cells), ["one"], by=by, name="codes").chunks()
    return np.concatenate([block[1].copy() for block in chunk.blocks()])[: len(cells)]


def dated(cells, period):
    table = pp.PrivateTable.open(column(cells), ["one"], dates="x", period=period, name="dated")
    return np.concatenate([*table.chunks()[0].keys()]) != 0


class Colour(enum.IntEnum):
    RED = 5


class Word(str):
    __slots__ = ()

    def encode(self, *_):
        raise RuntimeError


class Loud:
    """An object all of whose methods raise."""

    def raises(self, *_):
        raise RuntimeError("of a row")

    __str__ = __repr__ = __int__ = __float__ = __index__ = __bool__ = __len__ = __iter__ = raises
    __eq__ = __ne__ = __lt__ = __hash__ = __array__ = __bytes__ = isoformat = raises  # type: ignore[assignment]
    __class__ = property(raises)  # type: ignore[assignment]


class LoudInteger(int):
    __str__ = __repr__ = __int__ = __float__ = __index__ = __eq__ = __ne__ = __hash__ = Loud.raises


class LoudTime(dt.datetime):
    __str__ = isoformat = __eq__ = __ne__ = __hash__ = astimezone = Loud.raises


SAME = {
    "5": [
        *(5, 5.0, np.int8(5), np.float32(5), Decimal("5.00"), Decimal("0.5e1"), Fraction(10, 2), Colour.RED, "5", b"5"),
        *(LoudInteger(5), bytearray(b"5"), memoryview(b"5"), np.str_("5"), np.bytes_(b"5"), Word("5")),
    ],
    "0.1": [0.1, Decimal("0.10"), "0.1", np.float64(0.1)],
    "-12345678901234567890123": [-12345678901234567890123, Decimal("-12345678901234567890123")],
    "true": [True, np.True_, "true"],
    "0": [0, 0.0, -0.0, Decimal("-0.00"), Decimal("0e5"), Fraction(0), "0"],
    "1152921504606846976": [2**60, float(2**60), np.uint64(2**60), Decimal(2**60)],
    "0.0000001": [1e-7, Decimal("1e-7"), Decimal("0.00000010")],
    str(ID): [ID, str(ID), uuid.UUID(int=ID.int)],
    "2026-01-31": [dt.date(2026, 1, 31), np.datetime64("2026-01-31"), "2026-01-31"],
    "2026-01-31T23:30:00+00:00": [dt.datetime(2026, 2, 1, 0, 30, tzinfo=BERLIN), pd.Timestamp("2026-01-31T23:30Z")],
}
"""Objects that are one id, by the text that it is in a file."""


@pytest.mark.parametrize("text", SAME)
def test_one_id_is_one_person_whatever_class_holds_it(text):
    """As database drivers, spreadsheets and readers of other programs hand it over."""
    assert {*keys(SAME[text]).tolist()} == {*keys([text]).tolist()}
    assert codes(SAME[text], ByCategory("x", ("another", text))).tolist() == [1.0] * len(SAME[text])


def test_the_owner_is_told_that_ids_have_no_type():
    """Who is one person follows from how each id is written; a column of texts or of integers has a type."""
    for cells in ([5, "05"], ["a", "b"], []):
        with pytest.warns(UserWarning, match="'x' .* has the type object.*5 and '05' are two. Give it one type"):
            keys(cells) if cells else pp.PrivateTable.open(column([]), ["one"], person="x", name="none")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("string", "Int64", "category"):
            frame = column([1, 5]).astype({"x": kind})
            pp.PrivateTable.open(frame, ["one"], person="x", name="typed")


MISSING = [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), Decimal("NaN"), Decimal("sNaN")]
MISSING += [np.ma.masked, (1,), [1], {}, object(), Loud(), LoudTime(2026, 1, 1), 1j, np.array([1, 2]), np.void(b"1")]
MISSING += [pd.Interval(0, 1), np.datetime64(10**18, "Y")]


def test_what_is_missing_is_nobodys_and_no_number():
    """Missing cells of every library, and objects that are neither texts nor numbers nor dates."""
    assert not keys(MISSING).any()
    assert np.isnan(numbers(MISSING)).all()
    assert np.isnan(codes(MISSING, ByCategory("x", ("None", "nan", "NaT", "<NA>")))).all()
    assert not dated(MISSING, "2026-01").any()


READ = [
    (5, 5),
    (Decimal("12.34"), 12.34),
    (Decimal(1) / 3, float(Decimal(1) / 3)),
    (0.1 + 0.2, 0.1 + 0.2),
    (5e-324, 5e-324),
    (1.7976931348623157e308, 1.7976931348623157e308),
    (np.float32(0.1), float(np.float32(0.1))),
    (Fraction(1, 3), 1 / 3),
    (2**63 + 1025, float(2**63 + 1025)),
    (Decimal("1e400"), np.inf),
    (Decimal("-Infinity"), -np.inf),
    (Decimal("1e-999999999"), 0.0),
    (Decimal("1e999999999"), np.inf),
    (True, 1),
    (np.False_, 0),
    ("12.5", 12.5),
    ("12,5", np.nan),
    (dt.date(1970, 1, 11), 10),
    (dt.datetime(1970, 1, 1, 12), 0.5),
    (dt.datetime(1970, 1, 2, 0, tzinfo=BERLIN), 23 / 24),
    (pd.Timestamp("1970-01-03"), 2),
    (np.datetime64("1970-02", "M"), 31),
    (dt.timedelta(hours=36), 1.5),
    (pd.Timedelta(days=2), 2),
    (np.timedelta64(48, "h"), 2),
]


def test_private_and_public_cells_are_the_same_numbers():
    """Public rows show the numbers that private ones are, one column for each cell."""
    cells, wanted = [cell for cell, _ in READ], [number for _, number in READ]
    assert np.array_equal(numbers(cells), wanted, equal_nan=True)
    for cell, number in READ:
        if np.isfinite(number):
            assert pp.PublicTable.open(column([cell, None]), ["x"]).rows.tolist() == [[number]]


def test_columns_that_files_and_readers_leave_untyped_are_read():
    """Whole numbers with missing cells, dates and money; who is in which month."""
    frame = column([1, 2, None])
    assert pp.PublicTable.open(frame).columns == ("x", "one")
    for odd, default in (("4", False), (True, False), (dt.date(2026, 1, 1), False), (Decimal("1.5"), True)):
        assert ("x" in pp.PublicTable.open(column([1, odd])).columns) == default  # named where it is no plain number
        assert len(pp.PublicTable.open(column([1, odd]), ["x"]).rows) == 2
    with pytest.raises(InvalidInput, match="'x' of the public table is object, not a number"):
        pp.PublicTable.open(column([1, "n/a"]), ["x"])
    dates = [dt.date(2026, 1, 31), dt.datetime(2026, 1, 1), pd.Timestamp("2026-02-01"), 1767225600, "2026-01-05", None]
    assert dated(dates, "2026-01").tolist() == [True, True, False, True, True, False]
    months = ByCategory("month(x)", ("2026-01", "2026-02"))
    assert np.array_equal(codes(dates, months), [0, 0, 1, np.nan, 0, np.nan], equal_nan=True)
    assert groups_of(column([5, 5.0, "north", True, None]), "x").values == ("5", "north", "true")


@pytest.mark.parametrize("cells", [[1.5, None, 2], [1, "a", 2], [None, None, None]], ids=str)
def test_a_sparse_column_opens_whatever_is_in_it(cells):
    """Arrow knows no such type, and took one from the cells: a word among them kept the frame from opening."""
    for kind in (object, float)[: 1 + ("a" not in cells)]:
        sparse = pd.Series(pd.arrays.SparseArray(np.array(cells, dtype=kind)))
        (chunk,) = pp.PrivateTable.open(pd.DataFrame({"x": sparse}), ["x"], name="sparse").chunks()
        found = next(chunk.blocks())[0, :3]
        assert np.array_equal(
            found, [cell if isinstance(cell, int | float) else np.nan for cell in cells], equal_nan=True
        )


HOSTILE = [Loud(), LoudInteger(7), LoudTime(2026, 1, 1), Word("w"), 10**5000, -(10**4000), "\ud800", b"\xff\xfe"]
HOSTILE += [
    Decimal("1e999999999"),
    Decimal("9" * 5000),
    *MISSING,
    Colour,
    Fraction(10**400, 3),
    np.longdouble("1e4000"),
]
HOSTILE += ["9" * 5000, b"2026-01-31T00:00:00.123456789+00:00", np.timedelta64(5), memoryview(b"abc")[::2]]


class Held:
    """Keeps an object from the tools of a test, which call its methods too."""

    def __init__(self, cell):
        self.cell = cell


anything = st.one_of(
    st.integers(),
    st.integers(min_value=2**2000 - 9, max_value=2**2000 + 9),
    st.decimals(),
    st.floats(),
    st.fractions(),
    st.text(st.characters()),
    st.binary(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.lists(st.integers(), max_size=2),
    *(from_dtype(np.dtype(kind)) for kind in ("f2", "f4", "u8", "i1", "?", "M8[ns]", "M8[D]", "m8[us]", "S3", "U3")),
).map(Held) | st.sampled_from([*map(Held, HOSTILE)])


def everything(cells):
    """What each cell gives as a number, an id, a category, a date in a month and a month: five rows."""
    frame = column(cells)
    frame = frame.assign(**dict.fromkeys(("who", "group", "day", "month"), frame["x"]))
    opened = [
        pp.PrivateTable.open(frame, ["x"], person="who", by=ByCategory("group", ("5", "true", "w")), name="first"),
        pp.PrivateTable.open(
            frame, ["one"], dates="day", period="2000-01", by=ByCategory("month(month)", ("2000-01",)), name="second"
        ),
    ]
    rows = []
    for table in opened:
        (chunk,) = table.chunks()
        whose = []
        blocks = [block.copy() for block in chunk.keyed_blocks(64, whose.append)]
        rows += [np.concatenate(whose).astype(float) if table.person else np.concatenate(whose) != 0]
        rows += [*np.concatenate(blocks, axis=1)[:, : len(cells)]]
    return np.array(rows, dtype=float)


@settings(derandomize=True, max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(anything, min_size=1, max_size=12))
def test_no_object_stops_a_program_or_moves_another(held):
    """As a number, an id, a category, a month or a date, each is what it is alone; without a warning."""
    cells = [each.cell for each in held]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "column 'who' .* has the type object")  # whatever is in it
        together = everything(cells)
        assert np.array_equal(together[:, ::-1], everything(cells[::-1]), equal_nan=True)
        assert np.array_equal(together[:, :1], everything(cells[:1]), equal_nan=True)
    whose, numbers = together[:2]
    assert whose[np.isfinite(numbers)].all()  # what is a number is somebody's


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_no_hostile_object_stops_a_program(place):
    """Each of a list, between two ids; public rows with it are refused in our words, or read."""
    cell = HOSTILE[place]
    assert np.array_equal(everything(["5", cell, "true"])[:, [0, 2]], everything(["5", "true"]), equal_nan=True)
    with suppress(InvalidInput):
        pp.PublicTable.open(column([1, cell]), ["x"])
