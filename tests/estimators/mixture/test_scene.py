"""What the steps of a run share: what the public rows say of all columns is looked for once."""

import numpy as np
import pytest

from pubpriv.data.tables import PublicTable
from pubpriv.estimators._whole_rows import WholeRows
from pubpriv.estimators.mixture import _scene as scene_module
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

WHOLE = WholeRows(1000.0, 5.0, fewer=False)


@pytest.mark.parametrize(("step", "counted"), [(0.5, True), (0.0, False)])
def test_columns_are_looked_at_once(monkeypatch, step, counted):
    """Of a mixture whose columns are on no lattice nothing is made; others are of laws of counts, in each round."""
    generator = np.random.default_rng(0)
    rows = step * generator.poisson(0.5, (30, 2)) if step else generator.standard_normal((30, 2))
    looked, steps = [], scene_module.count_steps
    monkeypatch.setattr(scene_module, "count_steps", lambda rows: looked.append(rows) or steps(rows))
    public = PublicTable(("a", "b"), rows)
    scene = Scene(None, public, Scaling((0.0, 0.0), (1.0, 1.0)), None, public, WHOLE)
    mixture = Mixture.of([1.0], rows.mean(axis=0)[None], [np.eye(2)])
    assert [scene.counts(mixture) is not None for _ in range(2)] == [counted] * 2
    assert (scene.held(mixture) == mixture) or counted
    assert len(looked) == 1


def test_a_component_that_denies_rows_a_step_off_is_rugged():
    """Where columns count about components, these are held to wider ones; others are on no lattice."""
    rows = np.random.default_rng(0).poisson(0.5, (60, 2)).astype(float)
    public = PublicTable(("a", "b"), rows)
    scene = Scene(None, public, Scaling((0.0, 0.0), (2.0, 2.0)), None, public, WHOLE)
    far = [rows.mean(axis=0) / 2, np.full(2, 40.0)]
    for width, rugged in ((0.003, True), (0.005, False)):
        own = [np.eye(2), np.diag([1.0, width])]
        assert scene.rugged(Mixture.of([0.9, 0.1], far, own)) == rugged
    assert not scene.rugged(Mixture.of([1.0], far[:1], [0.003 * np.eye(2)]))
    other = PublicTable(("a", "b"), rows + np.random.default_rng(0).random((60, 2)))
    assert not Scene(None, other, Scaling((0.0, 0.0), (1.0, 1.0)), None, other, WHOLE).rugged(
        Mixture.of([1.0], far[:1], [1e-4 * np.eye(2)])
    )
