"""Cells of a column: each record in one of them, by its own cell; what a replaced record moves is found by search."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.memory import remembering
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Counts, JointCounts, PerPerson
from pubpriv.data.questions.base import COUNT_FACTOR
from pubpriv.data.refined import Refined
from pubpriv.data.regions import View
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable, PrivateTable
from pubpriv.errors import InvalidInput

BELOW_ZERO = float(np.nextafter(0.0, -np.inf))
EDGES = (-1e300, -2.5, BELOW_ZERO, 0.0, 5e-324, 7.0)
PRICE = Fraction(7, 10)


def regions(partition, *columns):
    return partition.assign(View(np.array(columns, dtype=float))).tolist()


def test_a_record_is_in_the_cell_that_its_own_cell_lies_in():
    """Edges belong to the cell below them, 0 and -0 are one value, missing or infinite cells are in the last region."""
    cells = [
        -np.inf,
        -1.1e300,
        -1e300,
        -2.5,
        -2.4,
        BELOW_ZERO,
        -0.0,
        0.0,
        5e-324,
        1e-300,
        7.0,
        7.1,
        1e308,
        np.inf,
        np.nan,
    ]
    expected = [7, 0, 0, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 7]
    assert regions(ColumnCells(1, EDGES), [np.nan] * len(cells), cells) == expected
    assert regions(ColumnCells(0, EDGES), cells, [1.0] * len(cells)) == expected
    assert from_json(to_json(ColumnCells(1, EDGES))) == ColumnCells(1, EDGES)


def test_groups_have_cells_of_their_own():
    """A record is counted in the cells of its group; one without a group in none; the price is that of one group."""
    by = ByCategory("ward", ("a", "b"))
    parts = tuple(Refined(by, (ColumnCells(j, (0.0,)), ColumnCells(j, (1.0, 2.0)))) for j in (0, 1))
    block = np.array([[-1.0, 1.5, 3.0, np.nan, 5.0], [0.5, 0.5, np.nan, 2.5, 1.0]])
    view = View(block, codes=np.array([0.0, 1.0, 1.0, 0.0, np.nan]))
    assert parts[0].assign(view).tolist() == [0, 4, 5, 2, -1]
    assert parts[1].assign(view).tolist() == [1, 3, 6, 1, -1]
    question = JointCounts.priced(parts, PRICE)
    assert question.totals(view)["count"].sum() == 8
    one = JointCounts.priced(tuple(ColumnCells(j, (0.0, 1.0)) for j in (0, 1)), PRICE)
    assert (question.squared_distance, question.noise_scale) == (one.squared_distance, one.noise_scale)
    assert from_json(to_json(question)) == question


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_price_of_a_joint_count_is_the_largest_squared_distance_of_two_records(d):
    """2 w^2 for each column, found by trying all pairs of records; adding one moves w^2 for each, no more."""
    question = JointCounts.priced(tuple(ColumnCells(j, (0.0, 1.0, 2.0)) for j in range(d)), PRICE)
    records = np.array(list(product([-1.0, 0.5, 1.5, 9.0, np.nan], repeat=d))).T
    totals = np.array([question.totals(View(records[:, [i]]))["count"] for i in range(records.shape[1])])
    furthest = ((totals[:, None] - totals[None, :]) ** 2).sum(axis=2).max()
    weight = Fraction(COUNT_FACTOR, question.noise_scale) ** 2
    assert question.squared_distance == furthest * weight == 2 * d * weight
    assert (totals**2).sum(axis=1).max() == d
    assert PRICE * Fraction(999_999, 1_000_000) < question.squared_distance <= PRICE


def test_missing_cells_of_one_column_move_no_count_of_another():
    rows = np.random.default_rng(3).normal(size=(5000, 2))
    question = JointCounts.priced((ColumnCells(0, (-1.0, 0.0, 1.0)), ColumnCells(1, (0.5,))), PRICE)
    whole = question.split(scan(ArrayTable.of(rows), question)["count"])
    rows[::3, 0] = np.nan
    lacking = question.split(scan(ArrayTable.of(rows), question)["count"])
    assert np.array_equal(whole[1], lacking[1])
    assert [counts.sum() for counts in (*whole, *lacking)] == [5000] * 4  # what pads a block is nobody's
    assert (whole[0][-1], whole[1][-1], lacking[0][-1]) == (0, 0, 1667)


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_what_pads_a_block_is_in_no_cell(columns, tmp_path):
    """However rows without any cell look like it: counts add up to the number of rows, from a file and from memory."""
    frame = pd.DataFrame({"a": np.arange(9001.0), "b": np.arange(9001.0)})
    frame.loc[::9] = np.nan
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=5000)
    question = JointCounts.priced(tuple(ColumnCells(j, (3000.5,)) for j in range(len(columns))), PRICE)
    table = remembering(PrivateTable.open(tmp_path / "t.parquet", columns))
    held = ArrayTable.of(frame[columns].to_numpy())
    expected = [3001 - 334, 6000 - 667, 1001] * len(columns)
    for opened in (table, table, held):
        assert scan(opened, question)["count"].tolist() == expected


def test_rows_of_persons_weigh_as_their_number_says():
    """A person counts once in each column, however many rows they have."""
    question = PerPerson(Counts.priced(ColumnCells(0, (0.0,)), PRICE), 1, 8)
    rows = np.array([[1.0], [2.0], [3.0], [-1.0], [np.nan]])
    weighted = PersonTable(ArrayTable.of(rows, persons=[1, 1, 1, 2, 3])).asked(question)
    assert scan(weighted, question)["count"].tolist() == [8, 8, 8]  # in grains, an eighth of a person


@pytest.mark.parametrize(
    ("column", "edges", "why"),
    [
        (0, (), "at least one"),
        (0, (1.0, 1.0), "must rise"),
        (0, (0.0, -0.0), "must rise"),
        (0, (2.0, 1.0), "must rise"),
        (0, (2**53, 2**53 + 1), "must rise"),
        (0, (0.0, float("nan")), "finite"),
        (0, (float("-inf"), 0.0), "finite"),
        (0, [0.0, 1.0], "tuple of numbers"),
        (0, (True, 2.0), "tuple of numbers"),
        (-1, (0.0,), "integer of at least 0"),
        (0.0, (0.0,), "integer of at least 0"),
        (0, tuple(map(float, range(4097))), "at most 4096 edges"),
    ],
)
def test_edges_that_cut_no_cells_are_refused(column, edges, why):
    """When the partition is built, also if integers are one float."""
    with pytest.raises(InvalidInput, match=why):
        ColumnCells(column, edges)


def test_a_column_that_the_table_has_not_is_refused():
    with pytest.raises(InvalidInput, match="column 3 of 2"):
        Counts.priced(ColumnCells(2, (0.0,)), PRICE).check(2)
