"""What a record becomes does not depend on how many others are picked with it."""

import numpy as np
import pytest

from pubpriv.data.frames import Frame
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
