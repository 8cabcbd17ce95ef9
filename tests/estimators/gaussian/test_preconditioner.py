"""Public rows set the coordinates: whatever their units, shift and shape, and never silently where they cannot."""

import json
import math

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.codec import from_json, to_json
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian._preconditioner import precondition


def table(rows, columns=None):
    rows = np.asarray(rows, dtype=float)
    return pp.PublicTable.open(rows, columns or [f"x{i}" for i in range(rows.shape[1])])


def normal(m, d, seed=0):
    return np.random.default_rng(seed).standard_normal((m, d))


def whitened(made, rows):
    center, whitening, _ = made.arrays
    return (rows - center) @ whitening.T


@pytest.mark.parametrize(("m", "d"), [(2, 1), (6, 5), (60, 5), (21, 20)])
def test_public_rows_have_mean_0_and_covariance_1_in_their_own_coordinates(m, d):
    """At condition number 1e8 and a mean of a million standard deviations as well; colour undoes whitening."""
    axes, _ = np.linalg.qr(normal(d, d, 1))
    root = axes * np.geomspace(0.01, 100, d)
    rows = (normal(m, d) + 1e6 / np.sqrt(d)) @ root.T
    made = precondition(table(rows))
    y = whitened(made, rows)
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(y.T @ y / (m - 1), np.eye(d), atol=1e-3)
    np.testing.assert_allclose(made.arrays[1] @ made.arrays[2], np.eye(d), atol=1e-6)


def test_units_of_columns_do_not_matter():
    """Metres or micrometres, dollars or millions: the standard coordinates are the same bits."""
    rows = normal(12, 4)
    other = rows * 2.0 ** np.array([-60, 0, 20, 70])
    assert np.array_equal(whitened(precondition(table(other)), other), whitened(precondition(table(rows)), rows))


def test_a_preconditioner_travels_as_json_to_the_last_bit():
    """Tasks hand it on; it must not change on the way."""
    made = precondition(table(normal(7, 3)))
    assert from_json(json.loads(json.dumps(to_json(made)))) == made


def test_rows_that_were_left_out_are_told():
    """A missing public value costs its row, and the reader is told."""
    rows = normal(9, 3)
    rows[2, 1] = np.nan
    made = precondition(table(rows))
    assert made.m == 8
    assert made.notes == ("1 public rows with a missing or infinite value were left out",)


def spoilt(change, m=30):
    rows = normal(m, 3)
    change(rows)
    return table(rows, ["age", "cost", "visits"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.__setitem__((slice(None), 1), 7.0), ["column cost", "same value in every public row"]),
        (lambda r: r.__setitem__((slice(None), 1), 0.1 + 0.2 * (r[:, 0] > 9)), ["column cost", "same value in every"]),
        (lambda r: r.__setitem__((slice(None, 29), 2), 0.0), ["column visits", "at least 95%"]),
        (lambda r: r.__setitem__((slice(None), 2), 3 * r[:, 0] - r[:, 1]), ["do not span", "age and cost and visits"]),
        (lambda r: r.__setitem__((slice(None), 2), r[:, 1]), ["do not span", "cost and visits"]),
        (lambda r: r.__imul__(1e200), ["too large or too small", "age, cost, visits"]),
        (lambda r: r.__imul__(1e-200), ["too large or too small"]),
    ],
)
def test_columns_without_a_scale_are_named_with_what_to_do(change, words):
    """Constant, nearly constant, collinear and overflowing columns: a clear refusal, never a warning or a crash."""
    with pytest.raises(InvalidInput) as refusal:
        precondition(spoilt(change))
    for word in words:
        assert word in str(refusal.value)


def test_a_shifted_constant_is_constant():
    """Rounding noise on a large constant is not a spread."""
    with pytest.raises(InvalidInput, match="same value in every public row"):
        precondition(spoilt(lambda r: r.__setitem__((slice(None), 0), 1e9 + 1e-7 * r[:, 0])))


def test_as_few_rows_as_columns_scale_each_by_itself():
    """They show no correlations; a row alone shows no spread, and is refused."""
    rows = normal(3, 3)
    found = precondition(table(rows))
    center, whitening, colour = found.arrays
    assert np.allclose(whitening, np.diag(1 / rows.std(axis=0, ddof=1)))
    assert np.allclose(whitening @ colour, np.eye(3))
    assert np.allclose(center, rows.mean(axis=0))
    assert found.typical_radius > math.sqrt(3)
    assert "no correlations" in found.notes[-1]
    with pytest.raises(InvalidInput, match="shows no spread"):
        precondition(table(rows[:1]))
