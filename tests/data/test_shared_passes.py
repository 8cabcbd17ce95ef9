"""One pass over the rows for several questions: the bits of a pass for each, and nothing that was not asked is kept."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.audit._attacks import attacks_on_rows
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.frames import Frame
from pubpriv.data.looks import Looks, sums_of
from pubpriv.data.memory import remembering
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Bisection, Counts, PerPerson, PersonSizes, Radial
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.regions import Everything, View
from pubpriv.data.scan import scan, scan_together

COLUMNS = ["a", "b"]
ODD = [np.nan, np.inf, -np.inf, 1e300, 5e-324]


@pytest.fixture
def table(tmp_path):
    """20,000 rows about both points of the attacks, in row groups of 3,000, every fiftieth with an odd cell."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(20_000, 2)) * 3
    rows[::50, 0] = np.resize(ODD, 400)
    cells = {"a": rows[:, 0], "b": rows[:, 1], "who": generator.integers(0, 5_000, 20_000)}
    pq.write_table(pa.table(cells), tmp_path / "t.parquet", row_group_size=3_000)
    return tmp_path / "t.parquet"


def bits(totals):
    return {name: values.tolist() for name, values in totals.items()}


def test_questions_asked_together_have_the_totals_of_a_pass_for_each(table):
    """Every kind of question, with the frames of others and copies of them, whatever the threads, files or kept blocks.

    One question overwrites images of a block, and the next one has to find them as they were.
    """
    questions = [attack.question for attack in attacks_on_rows()]
    questions += [from_json(to_json(question)) for question in questions]
    opened = pp.PrivateTable.open(table, COLUMNS)
    expected = [bits(scan(opened, question)) for question in questions]
    assert list(map(bits, scan_together(opened, questions))) == expected
    kept = remembering(opened)
    for _ in range(2):  # with norms of the pass before
        assert list(map(bits, scan_together(kept, questions))) == expected
    with ThreadPoolExecutor(3) as executor:
        assert list(map(bits, scan_together(opened, questions[::-1], executor))) == expected[::-1]


def test_the_same_where_the_unit_is_a_person(table):
    """Questions with the same weights share a pass; those with others, or about persons, have one of their own."""
    persons = PersonTable(pp.PrivateTable.open(table, COLUMNS, person="who"))
    questions = [PerPerson(each.question, 2, 8) for each in attacks_on_rows() if type(each.question) in WEIGHED]
    assert len(questions) > 5
    place = persons.asked(questions[0])
    assert all(persons.asked(question) is place for question in questions)
    expected = [bits(scan(place, question)) for question in questions]
    assert list(map(bits, scan_together(place, questions))) == expected
    others = replace(questions[0], most=3), PersonSizes.priced(Fraction(1))
    assert all(persons.asked(other) is not place for other in others)


COUNT, TWICE = (Counts.priced(Everything(), Fraction(price)) for price in (1, 2))
MEDIAN = Bisection(Frame((0.0, 0.0)), 0.1, 10.0, 6, 100.0, 1 << 28, logarithmic=True)


def looking(looks, question, rows, fits=lambda _: True):
    return bits(looks.totals(question, lambda _: rows, fits, None, True))


@pytest.fixture
def rows(table):
    return pp.PrivateTable.open(table, COLUMNS)


def test_what_was_foreseen_needs_no_pass_and_is_given_once(rows):
    looks = Looks()
    looks.foresee([TWICE, MEDIAN])
    assert looking(looks, COUNT, rows) == bits(scan(rows, COUNT))
    assert (looks.passes, looks.has(TWICE), looks.has(COUNT)) == (1, True, False)
    other = replace(MEDIAN, rank=7_000.0)  # totals do not depend on it
    assert looking(looks, other, rows) == bits(scan(rows, other))
    assert looking(looks, TWICE, rows) == bits(scan(rows, TWICE))
    assert looks.passes == 1
    assert not looks.has(TWICE)
    looking(looks, TWICE, rows)
    assert looks.passes == 2


def test_only_what_the_same_pass_can_answer_is_summed(rows):
    """Questions that do not fit, of another table, or asked at that moment; and nothing after it was forgotten."""
    looks = Looks()
    looks.foresee([COUNT, TWICE])
    looking(looks, COUNT, rows, fits=lambda _: False)
    assert not looks.has(COUNT)
    assert not looks.has(TWICE)
    looks.foresee([TWICE])
    places = {str(COUNT): rows, str(TWICE): pp.PrivateTable.open(rows.uri, COLUMNS[:1])}
    looks.totals(COUNT, lambda question: places[str(question)], lambda _: True, None, True)
    assert not looks.has(TWICE)
    looks.foresee([TWICE])
    looking(looks, COUNT, rows)
    assert looks.has(TWICE)
    looks.forget()
    assert not looks.has(TWICE)


def test_totals_stay_in_the_process(rows):
    looks = Looks()
    looks.foresee([TWICE])
    looking(looks, COUNT, rows)
    assert str(20_000) not in repr(looks)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(looks)


def test_curators_of_one_run_share_their_looks_and_free_them():
    """Tasks of a flow; a run without a name has looks of its own."""
    first = Looks.of_run(("ledger", "visits", "r1"))
    assert Looks.of_run(("ledger", "visits", "r1")) is first
    assert Looks.of_run(("ledger", "visits", "r2")) is not first
    assert Looks.of_run(()) is not Looks.of_run(())
    first.passes = 5
    del first
    assert Looks.of_run(("ledger", "visits", "r1")).passes == 0


@pytest.mark.parametrize("logarithmic", [True, False])
def test_a_search_guesses_where_in_its_cell_the_quantile_is(logarithmic):
    """From the counts that it answered, where noise is small; in the middle where they tell nothing."""
    number = np.random.default_rng(1).uniform(1.0, 3.0, 4_000)
    search = Bisection(Frame((0.0,)), 0.5, 8.0, 5, 1_300.0, 1 << 28, logarithmic=logarithmic)
    totals = search.totals(View(number[None]))
    values = search.values(search.answer(totals, lambda part, sd, size: np.zeros(size, dtype=np.int64)))
    found, exact = search.interpolated(values["count"]), np.sort(number)[1_299]
    assert search.thresholds[np.searchsorted(search.thresholds, exact)] == values["quantile"][0]
    assert found == pytest.approx(exact, rel=0.01)
    assert abs(found - exact) < abs(values["quantile"][0] - exact) / 2
    low, high = search.thresholds[-2:]
    nothing = search.interpolated(np.zeros(5))  # the search ends at the top, of which no step asked
    assert nothing == pytest.approx(np.sqrt(low * high) if logarithmic else (low + high) / 2)


def test_only_the_rank_of_a_search_is_left_out_of_what_is_compared():
    """Frame, thresholds and noise all count, whatever is around the question."""
    assert sums_of(MEDIAN) == sums_of(replace(MEDIAN, rank=3.0))
    assert sums_of(Radial(MEDIAN)) == sums_of(Radial(replace(MEDIAN, rank=3.0)))
    for changed in ({"upper": 11.0}, {"steps": 5}, {"noise_scale": 1 << 29}, {"frame": Frame((0.0, 1.0))}):
        assert sums_of(MEDIAN) != sums_of(replace(MEDIAN, **changed))
    assert sums_of(COUNT) != sums_of(TWICE)
