"""Images under triangular frames: half of the zeros of their matrices are left out."""

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


def test_images_are_those_of_the_whole_matrix():
    """And lengths are theirs, whether images are kept or not."""
    center, matrix = frame().dense()
    z, norms = View(records()).mapped(frame())
    np.testing.assert_allclose(z, matrix @ (records() - center[:, None]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(norms, (z**2).sum(axis=0), rtol=1e-12)
    assert View(records()).counting().norms(frame()).tolist() == norms.tolist()


def test_fewer_products_are_made():
    """The shapes that a machine is tried for are those of the halves."""
    assert frame().products == ((3, 3), (4, 7))
    assert Frame.of(np.zeros(D), np.ones((D, D))).products == ((7, 7),)


@pytest.mark.parametrize("column", range(D))
def test_an_odd_cell_makes_its_record_odd(column):
    """In any column, and all of its image: also of the last cells, which the upper rows never see."""
    block = records()
    block[column, :3] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        z, norms = View(block).mapped(frame())
    assert not np.isfinite(norms[:3]).any()
    assert not np.isfinite(z[:3, :3]).any()
    assert np.isfinite(z[:, 3:]).all()


def test_lengths_leave_no_image_behind_that_was_overwritten():
    """A view that counts has one array: z of another frame is mapped again after a length was asked for."""
    view, other = View(records()).counting(), Frame((1.0,) * D)
    first = view.mapped(other)[0].copy()
    view.norms(frame())
    assert view.mapped(other)[0].tolist() == first.tolist()
