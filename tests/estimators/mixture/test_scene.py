"""What the steps of a run share: what the public rows say of all columns is looked for once."""

import numpy as np
import pytest

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture import scene as scene_module
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.mixture.scene import Scene
from pubpriv.released.law import Mixture


@pytest.mark.parametrize(("step", "counted"), [(0.5, True), (0.0, False)])
def test_columns_are_looked_at_once(monkeypatch, step, counted):
    """Of a mixture whose columns are on no lattice nothing is made; others are of laws of counts, in each round."""
    generator = np.random.default_rng(0)
    rows = step * generator.poisson(0.5, (30, 2)) if step else generator.standard_normal((30, 2))
    looked, lattice = [], scene_module.lattice
    monkeypatch.setattr(scene_module, "lattice", lambda column: looked.append(column) or lattice(column))
    public = PublicTable(("a", "b"), rows)
    scene = Scene(None, public, Scaling((0.0, 0.0), (1.0, 1.0)), None, public)
    mixture = Mixture.of([1.0], rows.mean(axis=0)[None], [np.eye(2)])
    assert [scene.counts(mixture) is not None for _ in range(2)] == [counted] * 2
    assert (scene.held(mixture) == mixture) or counted
    assert len(looked) == (2 if counted else 1)
