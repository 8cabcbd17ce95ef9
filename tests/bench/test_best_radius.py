"""Errors are held against a clip radius that nobody can know beforehand."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmarks import best_radius
from pubpriv.cli.main import app
from pubpriv.errors import InvalidInput


def white(n=4_000, d=3):
    rows = np.random.default_rng(0).standard_normal((n, d))
    rows -= rows.mean(axis=0)
    values, vectors = np.linalg.eigh(rows.T @ rows / n)
    return rows @ (vectors / np.sqrt(values)) @ vectors.T


def test_the_best_radius_is_large_where_noise_is_small():
    """Noise that vanishes leaves nothing to lose; much of it leaves a part of what clipping saves."""
    rows = white()
    assert best_radius.best_error(rows, 1e12) < 1e-4
    noise_of_all = 4 / 3 * np.square(rows).sum(axis=1).max() / len(rows) / np.sqrt(0.5) * np.sqrt(6)
    assert best_radius.best_error(rows, 0.5) < 0.9 * noise_of_all


def test_a_file_is_measured_in_place_of_the_open_tables(tmp_path):
    """Of Gaussian rows the error may be the smaller one: their shape restores what clipping removes."""
    file = tmp_path / "rows.csv"
    pd.DataFrame(np.random.default_rng(1).normal(size=(5_000, 3)), columns=list("abc")).to_csv(file, index=False)
    found = best_radius.bench(2, workers=1, file=file, columns="a, b")
    row = found["rows"][0]
    assert (row["table"], row["n"], row["d"], row["runs"]) == ("rows.csv", 4_940, 2, 2)
    assert 0.2 < row["ratio"] == found["ratio"] < 2


def test_other_budgets_and_options_without_a_file_are_refused():
    """In words, at once."""
    with pytest.raises(InvalidInput, match="zcdp"):
        best_radius.bench(1, budget="pure:1")
    done = CliRunner().invoke(app, ["bench", "best-radius", "--columns", "a"])
    assert isinstance(done.exception, InvalidInput)
    assert "--csv" in str(done.exception)
