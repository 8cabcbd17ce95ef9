"""Public rows of the cells of `--part missing` are wrong as the settings say, and a silent miss fails a row."""

import numpy as np
import pytest

from benchmarks import missing
from benchmarks.synthetic import TABLES

RUN = {"found": True, "ratio": 1.0, "flagged": False, "warned": False, "added": False}


@pytest.mark.parametrize("name", TABLES["missing"])
def test_absent_components_have_no_public_row(name):
    """Every component has a tenth of its expected private rows at least; absent ones have no public row near."""
    cell = missing._Cell.of(TABLES["missing"][name])
    truth, public, rows, labels = cell.drawn(np.random.default_rng(0))
    k, setting = cell.setting.k, cell.setting
    assert rows.shape == (setting.n, setting.d)
    assert (np.bincount(labels, minlength=k) > 0.1 * truth.weights * setting.n).all()
    assert len(public) == setting.m * (2 if cell.doubled else 1)
    nearest = np.linalg.norm(public[:, None] - truth.means, axis=2).argmin(axis=1)
    if not cell.garbage and cell.scaled == 1:
        assert (nearest >= k - cell.absent).mean() <= 0.05
    if cell.doubled:
        assert len(np.unique(public, axis=0)) == setting.m


def test_a_silent_miss_fails_a_row():
    """Found or flagged is met; a warning alone is enough only where the settings say so."""
    miss = RUN | {"found": False}
    for name, bad, met in (
        ("20% absent, d 5", RUN, True),
        ("20% absent, d 5", miss, False),
        ("20% absent, d 5", miss | {"warned": True}, False),
        ("20% absent, d 5", miss | {"flagged": True}, True),
        ("2% absent, d 5", miss | {"warned": True}, True),
        ("2% absent, d 5", miss, False),
    ):
        assert missing._row(name, [bad] * 3)["met"] is met


@pytest.mark.slow
def test_what_is_absent_is_found_or_warned():
    """Some draws of the cells with a component of 15 to 20% that no public row shows: none fails silently."""
    for name in ("20% absent, d 5", "15% absent, d 10", "20% absent, d 30", "20% absent, 5% garbage, d 10"):
        runs = [missing.run_of((name, 70_000 + seed)) for seed in range(4)]
        assert all(run["found"] or run["flagged"] for run in runs)
        assert sum(run["found"] for run in runs) >= 3
