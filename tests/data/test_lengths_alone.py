"""Squared norms under triangular frames, where nobody asks for the images: half of the zeros are left out."""

import numpy as np
import pytest

from pubpriv.data.frames import Frame
from pubpriv.data.regions import View

D = 7


def frame(seed=3):
    """A frame with a lower triangular matrix."""
    generator = np.random.default_rng(seed)
    return Frame.of(generator.normal(size=D), np.tril(generator.normal(size=(D, D))))


def records(count=128):
    """A block of plain records, one a column."""
    return np.random.default_rng(1).normal(size=(D, count))


def test_lengths_alone_are_those_of_the_images():
    """As a view gives them that maps for z; a frame that is not triangular takes the way of all."""
    square = Frame.of(np.zeros(D), np.random.default_rng(2).normal(size=(D, D)))
    for each in (frame(), square):
        alone = View(records()).counting().norms(each)
        np.testing.assert_allclose(alone, View(records()).norms(each), rtol=1e-12)


@pytest.mark.parametrize("column", range(D))
def test_an_odd_cell_makes_its_record_odd(column):
    """In any column: also in the last ones, which the upper rows of the matrix never see."""
    block = records()
    block[column, :3] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        norms = View(block).counting().norms(frame())
    assert not np.isfinite(norms[:3]).any()
    assert np.isfinite(norms[3:]).all()


def test_lengths_leave_no_image_behind_that_was_overwritten():
    """A view that counts has one array: z of another frame is mapped again after a length was asked for."""
    view, other = View(records()).counting(), Frame((1.0,) * D)
    first = view.mapped(other)[0].copy()
    view.norms(frame())
    assert view.mapped(other)[0].tolist() == first.tolist()
