"""What a record becomes does not depend on how many others are picked with it."""

from fractions import Fraction

import numpy as np
import pytest

from pubpriv.data.frames import Frame, squared_norms
from pubpriv.data.regions import View

FRAMES = {
    "moved": Frame.of(np.linspace(-1, 1, 37)),
    "scaled": Frame.of(np.linspace(-1, 1, 37), np.diag(np.linspace(0.1, 9, 37))),
    "mixed": Frame.of(np.linspace(-1, 1, 37), np.random.default_rng(1).normal(size=(37, 37))),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_record_is_the_same_alone_and_in_company(name):
    """Every image and norm, bit for bit: one record picked, two, all but one, and the whole block."""
    block = np.random.default_rng(0).normal(size=(37, 256))
    z, norms = View(block).picked(FRAMES[name], np.ones(256, dtype=bool))
    z, norms = z.copy(), norms.copy()
    for wanted in (*([i] for i in range(0, 256, 8)), [7, 200], [i for i in range(256) if i != 9]):
        mask = np.isin(np.arange(256), wanted)
        mine, own = View(block).picked(FRAMES[name], mask)
        assert mine.tobytes() == np.ascontiguousarray(z[:, mask]).tobytes()
        assert own.tobytes() == norms[mask].tobytes()


def test_a_view_that_counts_gives_the_same_and_leaves_what_others_mapped():
    """Norms and images of frames in any order, with the weights and codes of the records; z of the view it is of."""
    block = np.random.default_rng(0).normal(size=(37, 256))
    view = View(block, weights=np.arange(256.0), codes=np.arange(256.0) % 3)
    kept = {name: view.mapped(frame)[0].copy() for name, frame in FRAMES.items()}
    counting = view.counting()
    for name in (*FRAMES, *reversed(FRAMES)):
        z, norms = counting.mapped(FRAMES[name])
        assert z.tobytes() == kept[name].tobytes()
        assert norms.tobytes() == counting.norms(FRAMES[name]).tobytes() == view.norms(FRAMES[name]).tobytes()
        assert counting.weights is view.weights
        assert counting.codes is view.codes
    for name, frame in FRAMES.items():
        assert view.mapped(frame)[0].tobytes() == kept[name].tobytes()


def _fused(column):
    """Rounded once for x * x + s, as some processors do."""
    total = 0.0
    for x in column:
        total = float(Fraction(x) ** 2 + Fraction(total))
    return total


def _rounded_twice(column):
    total = 0.0
    for x in column:
        total += x * x
    return total


def _einsum_that_fuses_whole_vectors(subscripts, z, _):
    """Vectors of 8 columns are fused, the rest of a row is not, and one column alone is summed from its end."""
    assert subscripts == "ij,ij->j"
    columns = z.T.tolist()
    if len(columns) == 1:
        return np.array([_rounded_twice(columns[0][::-1])])
    whole = len(columns) // 8 * 8
    return np.array([*map(_fused, columns[:whole]), *map(_rounded_twice, columns[whole:])])


@pytest.mark.parametrize("count", [64, 101])
def test_norms_are_the_same_on_a_build_that_fuses(monkeypatch, count):
    """Where NumPy's einsum treats whole vectors and the rest of a row differently, a record is what it is in many."""
    block = np.random.default_rng(2).normal(size=(37, count))
    with monkeypatch.context() as other_build:
        other_build.setattr(np, "einsum", _einsum_that_fuses_whole_vectors)
        _, company = View(block).picked(FRAMES["moved"], np.ones(count, dtype=bool))
        alone = [View(block).picked(FRAMES["moved"], np.arange(count) == i)[1] for i in range(count)]
        most = View(block).picked(FRAMES["moved"], np.arange(count) != 5)[1]
    assert np.concatenate(alone).tobytes() == company.tobytes()
    assert most.tobytes() == np.delete(company, 5).tobytes()


@pytest.mark.parametrize("ell", [1, 2, 3, 8, 33])
def test_norms_round_each_square_and_each_sum(ell):
    """As Python's floats do on this build, one after the other, for any number of records."""
    z = np.random.default_rng(ell).normal(size=(ell, 141)) * 10.0 ** np.random.default_rng(3).integers(
        -5, 5, (ell, 141)
    )
    expected = []
    for column in z.T.tolist():
        total = 0.0
        for cell in column:
            total += cell * cell
        expected.append(total)
    for count in (1, 2, 7, 41, 64, 65, 128, 141):
        assert squared_norms(np.ascontiguousarray(z[:, :count])).tolist() == expected[:count]
