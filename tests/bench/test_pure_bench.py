"""The bench of pure DP measures what it says."""

import pytest

from benchmarks import pure
from pubpriv.errors import InvalidInput


@pytest.mark.long
def test_rows_of_a_small_bench(monkeypatch):
    """A mean and a Gaussian, with their ratios, bounds and flags."""
    monkeypatch.setattr(pure, "_MEANS", ((2, 2000),))
    monkeypatch.setattr(pure, "_EPSILONS", (2,))
    monkeypatch.setattr(pure, "_GAUSSIANS", ((2, 3, 10_000, 4),))
    monkeypatch.setattr(pure, "_LARGE", ())
    mean, gaussian = (pure.bench(part, 4, 100)["rows"][0] for part in ("mean", "gaussian"))
    assert 0.8 < mean["ratio"] < 1.6
    assert mean["bound"] == pytest.approx(1.1 * mean["predicted"])
    assert 0.5 < gaussian["ratio"] < 2
    assert gaussian["bound"] == 1.4
    assert gaussian["flagged"] == 0


def test_an_unknown_part_is_refused():
    """With those that there are."""
    with pytest.raises(InvalidInput, match="all, mean, gaussian, line, mixture"):
        pure.bench("median", 1)
