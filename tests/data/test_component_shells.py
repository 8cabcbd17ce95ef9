"""Shells about components: each record is in one of them, found here from distances one record at a time."""

import numpy as np
import pytest

from pubpriv.data.codec import from_json, to_json
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.questions import JointCounts
from pubpriv.data.regions import Cells, View
from pubpriv.errors import InvalidInput

CENTERS = np.array([[0.0, 0.0], [6.0, 0.0]])
CELLS = Cells(tuple(Frame(tuple(center)) for center in CENTERS.tolist()), (0.0, 0.0))
EDGES = (0.5, 1.0, 2.5)
LINES = tuple(Frame.of(center, np.array([[0.0, 2.0]])) for center in CENTERS)


def regions(partition, rows):
    return partition.assign(View(np.ascontiguousarray(rows.T))).tolist()


@pytest.mark.parametrize("lines", [False, True], ids=["distances", "along an axis"])
def test_a_record_is_in_the_shell_of_its_own_component(lines):
    """The nearer center, then how many edges lie below the distance from it."""
    rows = np.random.default_rng(0).normal(scale=3.0, size=(2000, 2))
    partition = ComponentShells(CELLS, EDGES, LINES if lines else ())
    expected = []
    for row in rows:
        owner = int(np.argmin(((CENTERS - row) ** 2).sum(axis=1)))
        away = abs(2 * row[1]) if lines else np.linalg.norm(row - CENTERS[owner])
        expected.append(owner * 4 + sum(edge < away for edge in EDGES))
    assert regions(partition, rows) == expected
    assert partition.n_regions == 8
    assert set(expected) == set(range(8))


def test_outer_shells_can_be_shared():
    """Inner regions are numbered through the cells, and the outermost ones are everybody's."""
    rows = np.array([[0.2, 0.0], [0.9, 0.0], [2.0, 0.0], [0.0, 9.0], [6.2, 0.0], [6.9, 0.0], [8.0, 0.0], [6.0, 9.0]])
    partition = ComponentShells(CELLS, EDGES, (), 2)
    assert regions(partition, rows) == [0, 1, 4, 5, 2, 3, 4, 5]
    assert partition.n_regions == 6


def test_an_odd_record_is_in_no_shell():
    """Not finite, or so far away that its squared distance is not."""
    rows = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e200, 0.0], [0.0, 0.0]])
    assert regions(ComponentShells(CELLS, EDGES), rows) == [-1, -1, -1, 0]


def test_an_edge_belongs_to_the_inner_shell():
    """A distance that equals an edge is not beyond it."""
    assert regions(ComponentShells(CELLS, (1.0, 2.0)), np.array([[1.0, 0.0], [2.0, 0.0]])) == [0, 1]


@pytest.mark.parametrize(
    ("edges", "frames", "text"),
    [((2.0, 1.0), (), "must rise"), ((1.0, 1.0), (), "must rise"), ((1.0,), LINES[:1], "1 frames, but 2 cells")],
    ids=["falling", "equal", "too few frames"],
)
def test_shells_that_make_no_sense_are_refused(edges, frames, text):
    """With a text that says what is wrong."""
    with pytest.raises(InvalidInput, match=text):
        ComponentShells(CELLS, edges, frames)


def test_joint_counts_are_those_of_each_partition_and_map_equal_cells_once():
    """Also where they come back from a ledger, as cells that are equal and no longer the same."""
    rows = np.random.default_rng(0).normal(scale=3.0, size=(500, 2))
    about, along = ComponentShells(CELLS, EDGES, (), 1), ComponentShells(CELLS, EDGES, LINES)
    question = from_json(to_json(JointCounts((about, along), 1 << 44)))
    assert question.partitions[0].cells is question.partitions[1].cells
    counts = question.split(question.totals(View(np.ascontiguousarray(rows.T)))["count"])
    for partition, counted in zip((about, along), counts, strict=True):
        assert counted.tolist() == np.bincount(regions(partition, rows), minlength=partition.n_regions).tolist()
