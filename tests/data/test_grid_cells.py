"""Grid cells: each record is in the listed cell of its group, found here one record at a time."""

import numpy as np
import pytest

from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, View
from pubpriv.errors import InvalidInput

PLANE, LINE = Frame((0.0, 0.0)), Frame((0.5, 0.0), ((2.0, 1.0),))
SIDES = Cells((Frame((-3.0, 0.0)), Frame((3.0, 0.0))), (0.0, 0.0))


def regions(partition, rows):
    with np.errstate(all="ignore"):  # as in a scan
        return partition.assign(View(np.ascontiguousarray(np.array(rows, dtype=float).T))).tolist()


def test_a_record_is_in_the_cell_that_its_image_lies_in():
    """Lists in any order, of one direction or two; cells that are not listed, and odd records, are nobody's."""
    listed = ((-2, 1), (-4, -1), (-3, 0)), ((7,), (-1,), (5,))
    partition = GridCells(SIDES, (PLANE, LINE), listed)
    rows = np.random.default_rng(0).normal(scale=3.0, size=(3000, 2))
    expected = []
    for x, y in rows:
        group = int(x > 0)
        cell = (int(np.floor(x)), int(np.floor(y))) if group == 0 else (int(np.floor(2 * (x - 0.5) + y)),)
        expected.append(group * 3 + listed[group].index(cell) if cell in listed[group] else -1)
    assert regions(partition, rows) == expected
    assert set(expected) == {-1, 0, 1, 2, 3, 4, 5}
    odd = [[np.nan, 0.0], [np.inf, 0.0], [1e308, -1e308], [-1e300, 0.5]]
    assert regions(partition, odd) == [-1] * 4


def test_a_list_may_be_empty_and_groups_refined_again_and_again():
    """A part that is done asks for no cell; regions are numbered through."""
    twice = Refined(Refined(SIDES, (SIDES, SIDES)), (SIDES,) * 4)
    assert twice.n_regions == 8
    assert regions(twice, [[-1.0, 0.0], [1.0, 0.0]]) == [0, 7]
    cells = GridCells(Refined(Everything(), (SIDES,)), (PLANE, PLANE), ((), ((1, 0), (0, 0))))
    assert regions(cells, [[-0.5, 0.5], [0.5, 0.5], [1.5, 0.5]]) == [-1, 1, 0]


@pytest.mark.parametrize(
    ("frames", "cells", "text"),
    [
        ((PLANE,), (((0, 0),),), "each of 2 groups"),
        ((PLANE, LINE), (((0, 0),), ((0, 0),)), "1 directions"),
        ((PLANE, LINE), (((0, 0), (0, 0)), ()), "twice"),
        ((PLANE, LINE), ((), ()), "need a cell"),
        ((PLANE, LINE), (((0, 0), (1 << 31, 0)), ()), "too far out"),
        ((PLANE, LINE), (((0.0, 0),), ()), "integer"),
    ],
)
def test_lists_that_do_not_fit_are_refused(frames, cells, text):
    """When the partition is built."""
    with pytest.raises(InvalidInput, match=text):
        GridCells(SIDES, frames, cells)


def test_cells_that_cannot_be_numbered_are_refused():
    """Their keys would not fit 64 bits."""
    wide = Frame((0.0,) * 3)
    ends = tuple((sign * (1 << 29),) * 3 for sign in (-1, 1))
    with pytest.raises(InvalidInput, match="too far apart"):
        GridCells(Everything(), (wide,), (ends,))
