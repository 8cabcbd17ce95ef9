"""Rows of one period: which they are, what they cost, and tables whose dates change while they are read."""

from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.audit._catalogue import PRICE, questions
from pubpriv.common.periods import Span
from pubpriv.data._dates import in_span
from pubpriv.data.id_pass import Replaced
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Counts, InPeriod, PerPerson, PersonSizes
from pubpriv.data.questions.per_person import WEIGHED
from pubpriv.data.regions import Everything, View
from pubpriv.data.scan import scan
from pubpriv.errors import InvalidInput

OCTOBER = Span.of("2026-10")
COUNTS = Counts.priced(Everything(), PRICE)
DAYS = [date(2026, 9, 30), date(2026, 10, 1), date(2026, 10, 31), date(2026, 11, 1)]


def write(path, days, who=None):
    who = list(range(len(days))) if who is None else who
    pq.write_table(pa.table({"x": [0.0] * len(days), "who": who, "seen": pa.array(days, pa.date32())}), path)


def opened(path, person=()):
    return PersonTable(pp.PrivateTable.open(path, ["x"], person=person, dates="seen", period="2026-10"), most_bytes=0)


def count(question, table):
    return scan(table.asked(question), question)["count"].tolist()


def test_odd_dates_are_in_no_period():
    """Null, unsigned and enormous ones, and a slice: no cell fails."""
    huge = pa.array([2**64 - 1, 0, None], pa.uint64())
    assert in_span(huge, OCTOBER).tolist() == [False] * 3
    assert in_span(pa.nulls(3, pa.date32()), OCTOBER).tolist() == [False] * 3
    assert in_span(pa.array(DAYS).slice(1, 2), OCTOBER).tolist() == [True, True]
    assert in_span(pa.array([2**62], pa.timestamp("ns")), Span.of("9998")).tolist() == [False]


def test_cells_without_types_say_when_as_typed_ones_do():
    """Dates, times and whole seconds; a day's number, a fraction, a truth and a word are no dates."""
    second = 1_790_899_200  # the second of October 2026
    within = [b"2026-10-31", b" 2026-10-01T00:00:00Z ", b"%d" % second, b" +%d " % second]
    without = [b"2026-11-01", b"20728", b"%d.5" % second, b"true", b"inf", b"", b"2026-10", b"\xff", b"9" * 400, None]
    within += [b"2026-10-31T23:59:59,9999999999999", b"2026-09-30T24:00", b"2026-11-01 00:59+01", b"20261031T235959"]
    without += [b"2026-10-31 24:00", b"2026-10-01T00:59+01", b"20261031"]
    assert in_span(pa.array(within, pa.binary()), OCTOBER).tolist() == [True] * len(within)
    assert in_span(pa.array(without, pa.binary()), OCTOBER).tolist() == [False] * len(without)
    assert in_span(pa.array([second], pa.int64()), OCTOBER).tolist() == [True]
    assert in_span(pa.array([*without, *within], pa.binary()).slice(12, 2), OCTOBER).tolist() == [False, True]
    assert in_span(pa.array([b"true", b"1", b"0"], pa.binary()), Span.of("1970-01")).tolist() == [False, True, True]


@pytest.mark.parametrize("kind", [pa.float64(), pa.string(), pa.time32("s"), pa.bool_(), pa.int16()])
def test_what_does_not_say_when_is_refused(tmp_path, kind):
    """With the column's name, before anything is spent."""
    table = pa.table({"x": [1.0], "seen": pa.nulls(1, kind)})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match="'seen'"):
        pp.PrivateTable.open(tmp_path / "t.parquet", ["x"], dates="seen", period="2026-10")


def test_the_number_of_rows_of_a_period_is_not_in_its_handle(tmp_path):
    """Nor in one that somebody makes by hand; and a table without a row of the period is as good as any."""
    write(tmp_path / "t.parquet", DAYS[:1])
    table = pp.PrivateTable.open(tmp_path / "t.parquet", ["x"], exact=False, dates="seen", period="2026-10")
    assert table.n_rows is None
    assert count(InPeriod(COUNTS, "2026-10"), PersonTable(table)) == [0]
    with pytest.raises(InvalidInput, match="private"):
        pp.PrivateTable(table.uri, table.columns, 4, (), dates="seen", period="2026-10")
    with pytest.raises(InvalidInput, match="date column"):
        pp.PrivateTable(table.uri, table.columns, None, (), dates="", period="2026-10")


def test_rows_of_a_person_are_counted_within_the_period(tmp_path):
    """A person with rows in two months weighs as much in each as if the other were not there."""
    days = [*DAYS, date(2026, 10, 2), date(2026, 8, 1)]
    write(tmp_path / "t.parquet", days, who=[1, 1, 1, 1, 2, 3])
    asked = InPeriod(PerPerson(COUNTS, 1, 64), "2026-10")
    assert count(asked, opened(tmp_path / "t.parquet", "who")) == [2 * 64]
    sizes = InPeriod(PersonSizes.priced(Fraction(1)), "2026-10")
    found = scan(opened(tmp_path / "t.parquet", "who").asked(sizes), sizes)["persons"].tolist()
    assert found == [2, 1, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("person", [(), "who"])
def test_dates_that_change_between_two_looks_are_not_answered(tmp_path, person):
    """Weights of rows that were in the period are no weights of those that are by now."""
    write(tmp_path / "t.parquet", DAYS)
    table = opened(tmp_path / "t.parquet", person)
    asked = InPeriod(PerPerson(COUNTS, 1, 64) if person else COUNTS, "2026-10")
    assert count(asked, table) == [2 * 64 if person else 2]
    write(tmp_path / "t.parquet", DAYS[::-1][1:] + DAYS[-1:])
    with pytest.raises(Replaced):
        count(asked, table)


def test_every_question_costs_its_driver_what_it_was_priced_at():
    """And of all kinds only one count and bisections take more noise."""
    kinds = [question for question in questions().values() if type(question) in WEIGHED]
    for question in kinds:
        asked = InPeriod.of_rows(question, "2026-10")
        assert asked.squared_distance <= question.squared_distance
        assert asked.squared_distance > question.squared_distance * Fraction(99, 100)
    louder = {type(q).__name__ for q in kinds if InPeriod.of_rows(q, "2026-10").inner != q}
    assert louder <= {"Counts", "JointCounts", "Bisection"}


def test_rows_without_weights_are_a_defect():
    """Rows of all periods would count."""
    with pytest.raises(ValueError, match="without weights"):
        InPeriod(COUNTS, "2026-10").totals(View(np.zeros((1, 4))))
    for period in ("2026-13", 7):
        with pytest.raises(InvalidInput):
            InPeriod(COUNTS, period)
