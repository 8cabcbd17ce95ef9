"""Histograms of public rows: every row is counted once, they read back, and a file's are those of its columns."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from helpers.releases import mean_release, public_for

from pubpriv.errors import InvalidInput
from pubpriv.released.histograms import Histogram, histograms_in, public_part

VALUES = {
    "one": [3.0],
    "equal": [0.0] * 30,
    "large": [1e300, 1e300],
    "whole": [float(i % 7) for i in range(100)],
    "many whole": [float(i) for i in range(1000)],
    "real": np.random.default_rng(1).normal(5, 2, 60).tolist(),
    "tailed": np.random.default_rng(1).lognormal(0, 2, 1000).tolist(),
    "tiny": [1e-12, 2e-12, 5e-12],
}


@pytest.mark.parametrize("name", VALUES)
def test_every_row_is_counted_once(name):
    """In at most 20 bins, with at most one in fifty outside; densities add up to the share inside."""
    values = np.array(VALUES[name])
    made = Histogram.of(values)
    assert made.rows == len(values)
    assert made.outside <= len(values) / 50
    assert 1 <= len(made.counts) <= 20
    width = (made.high - made.low) / len(made.counts)
    assert made.densities.sum() * width == pytest.approx(1 - made.outside / made.rows)
    assert Histogram.of_json(json.loads(json.dumps(asdict(made)))) == made


def test_bins_of_whole_numbers_hold_equally_many_of_them():
    """Each value of a die is a bar of its own, and no bar stands out because it has two."""
    made = Histogram.of(np.arange(600.0) % 6)
    assert (made.low, made.high, made.counts) == (-0.5, 5.5, (100,) * 6)
    made = Histogram.of(np.arange(1000.0))
    width = (made.high - made.low) / len(made.counts)
    assert width == round(width)
    assert set(made.counts[:-1]) <= {int(width), int(width) - 10}


def test_a_model_file_keeps_them():
    """With the release, and back; counts and edges only, no row itself."""
    public, estimate = public_for(mean_release())
    kept = replace(estimate, public=public_part(public))
    told = json.loads(json.dumps(kept.to_json()))
    again = type(kept).from_json(told)
    again.check_whole()
    assert histograms_in(again.public, 2) == tuple(Histogram.of(column) for column in public.rows.T)
    assert set(told["public"]) == {"histograms"}
    assert "public" not in estimate.to_json()
    assert histograms_in(estimate.public, 2) == ()


ONE = asdict(Histogram(0.0, 1.0, (3, 4), 0))


@pytest.mark.parametrize(
    "part",
    [
        {"histograms": [ONE]},
        {"histograms": [ONE, ONE | {"low": 1.0}]},
        {"histograms": [ONE, ONE | {"counts": [-1, 2]}]},
        {"histograms": [ONE, ONE | {"counts": []}]},
        {"histograms": [ONE, ONE | {"high": float("inf")}]},
        {"histograms": [ONE, {}]},
        {"histograms": [ONE, None]},
        {"histograms": 3},
        [ONE],
        None,
    ],
)
def test_histograms_of_other_columns_are_damage(part):
    """Of too few columns, turned round, negative, empty, endless, or none at all."""
    assert histograms_in(part, 2) is None
    with pytest.raises(InvalidInput, match="histograms of the public rows"):
        replace(mean_release(), public=part).check_whole()
