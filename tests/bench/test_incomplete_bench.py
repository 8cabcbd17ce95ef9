"""Errors of incomplete tables are held against EM, which is computed here a second way."""

import numpy as np
import pytest

from benchmarks.incomplete import CELLS, Cell, bench, em
from pubpriv.errors import InvalidInput


@pytest.mark.long
def test_em_is_the_maximum_of_the_likelihood():
    """No small step from it is likelier, on rows that lack cells in every way."""
    _, rows = Cell(2_000, 3, "mcar", 0.3).draw(1)

    def likelihood(mean, spread):
        total = 0.0
        for row in rows[~np.isnan(rows).all(axis=1)]:
            seen = np.isfinite(row)
            part, off = spread[np.ix_(seen, seen)], (row - mean)[seen]
            total -= (np.linalg.slogdet(part)[1] + off @ np.linalg.solve(part, off)) / 2
        return total

    mean, spread = em(rows)
    best = likelihood(mean, spread)
    for direction in np.eye(3):
        for step in (-0.02, 0.02):
            assert likelihood(mean + step * direction, spread) < best
            assert likelihood(mean, spread + step * np.outer(direction, direction)) < best


@pytest.mark.parametrize("kind", ["mcar", "mar", "strong", "block", "dropout"])
def test_cells_lack_what_they_say(kind):
    """Of single cells the share, of blocks and of those who drop out the rows."""
    _, rows = Cell(20_000, 4, kind, 0.3).draw(2)
    lacking = np.isnan(rows)
    share = (
        lacking[:, 1:].mean()
        if kind in ("mar", "strong")
        else lacking.mean()
        if kind == "mcar"
        else lacking[:, -1].mean()
    )
    assert share == pytest.approx(0.3, abs=0.03)
    assert not lacking[:, 0].any() or kind == "mcar"


def test_a_cell_is_measured_and_others_are_refused(monkeypatch):
    """One row of the table, with all that it shows."""
    monkeypatch.setattr("benchmarks.incomplete.CELLS", (Cell(2_000, 3, "mar", 0.3),))
    found = bench(2, workers=1)
    (row,) = found["rows"]
    assert 0.5 < row["mean_ratio"] < 2
    assert 0.5 < row["covariance_ratio"] < 2
    assert bench(1, workers=1, missing="drop")["ratio"] > 3
    monkeypatch.setattr("benchmarks.incomplete.CELLS", (Cell(2_000, 10, "mcar", 0.3),))
    assert bench(1, workers=1, missing="drop")["rows"][0]["refused"] == 1
    assert len({(cell.rows, cell.columns, cell.kind, cell.share) for cell in CELLS}) == len(CELLS) == 24
    with pytest.raises(InvalidInput, match="mcar, mar"):
        Cell(10, 2, "mnar", 0.1).draw(0)
