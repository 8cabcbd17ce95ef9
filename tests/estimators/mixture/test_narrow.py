"""Components that are narrow in a direction across columns: seen in public rows, and measured as round ones are."""

import numpy as np
import pytest
from test_pipeline import fit

from pubpriv.data.codec import row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._narrow import narrow_shape
from pubpriv.estimators.mixture.scaling import Scaling, precondition
from pubpriv.released.law import Mixture

D, K = 4, 3
LONG = 0.999 + 0.001 * np.eye(D)
CENTERS = 12 * np.eye(D)[:K]


def rows_of(covariance, n, seed, law=np.random.Generator.standard_normal):
    """Rows in three clusters of one covariance, and their clusters."""
    generator = np.random.default_rng(seed)
    own = generator.integers(K, size=n)
    return CENTERS[own] + law(generator, size=(n, D)) @ np.linalg.cholesky(covariance).T, own


def student(generator, size):
    return generator.standard_t(5, size)


def test_the_shape_of_narrow_clusters_makes_them_round():
    """Clusters a thousand times as long as wide, in squares, are next to round in the coordinates that are found."""
    rows, _ = rows_of(LONG, 60, 0)
    shape = narrow_shape(rows, K)
    inner = np.linalg.inv(shape) @ LONG @ np.linalg.inv(shape).T
    assert np.linalg.cond(LONG) > 3000
    assert np.linalg.cond(inner) < 5


@pytest.mark.parametrize("law", [np.random.Generator.standard_normal, student])
def test_round_clusters_are_left_as_they_are(law):
    """By chance no direction of round clusters looks narrow."""
    assert all(narrow_shape(rows_of(np.eye(D), 60, seed, law)[0], K) is None for seed in range(30))


def test_round_clusters_of_several_scales_are_left_as_they_are():
    """The twenty rows of the widest look narrow in twenty columns: in their shape, others were not found."""
    for seed in range(20):
        generator = np.random.default_rng([seed, 1])
        scales = np.repeat([1.0, 30.0, 1000.0], 20)[:, None]
        rows = scales * (generator.standard_normal((60, 20)) + 30 * np.repeat(np.eye(20)[:3], 20, axis=0))
        assert narrow_shape(rows, K) is None


def test_narrow_clusters_of_several_scales_are_seen():
    """They have their shape in common."""
    rows, own = rows_of(LONG, 60, 0)
    assert narrow_shape(rows * np.array([1.0, 10.0, 100.0])[own][:, None], K) is not None


def test_few_rows_tell_no_shape():
    """Each column takes two degrees of freedom."""
    assert narrow_shape(rows_of(LONG, 2 * D + K - 1, 0)[0], K) is None
    assert narrow_shape(rows_of(LONG, 2 * D + K, 0)[0], K) is not None


def test_columns_that_are_computed_or_take_few_values_keep_their_own_scale():
    """Only the others are told in each other's terms; without clusters, or in one scale for all, none is."""
    rows = rows_of(LONG, 60, 0)[0]
    steps = np.random.default_rng(1).integers(0, 3, size=60)
    table = PublicTable.open(np.c_[rows, rows @ np.ones(D), steps])
    shape = np.array(precondition(table, K).shape)
    assert np.array_equal(shape[D:], np.eye(D + 2)[D:])
    assert np.array_equal(shape[:D, D:], np.zeros((D, 2)))
    assert np.abs(np.tril(shape[:D, :D], -1)).max() > 0
    assert precondition(table).shape == ()


def test_a_shape_is_undone():
    """Rows, frames and mixtures come back from standard coordinates."""
    generator = np.random.default_rng(0)
    shape = row_tuples(np.tril(generator.normal(size=(D, D)) + 3 * np.eye(D)))
    scaling = Scaling((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0), shape=shape)
    rows, center, matrix = generator.normal(size=(9, D)), generator.normal(size=D), generator.normal(size=(2, D))
    assert scaling.restore(scaling.apply(rows)) == pytest.approx(rows)
    frame = scaling.frame(center, matrix)
    assert scaling.standard(frame)[0] == pytest.approx(center)
    assert scaling.standard(frame)[1] == pytest.approx(matrix)
    origin, seen = frame.dense()
    assert (rows - origin) @ seen.T == pytest.approx((scaling.apply(rows) - center) @ matrix.T)
    own = scaling.undo(Mixture.of(np.ones(1), center[None], np.eye(D)[None])).arrays
    assert own[1][0] == pytest.approx(origin)
    assert own[2][0] == pytest.approx(np.outer(scaling.scale, scaling.scale) * (np.array(shape) @ np.array(shape).T))


@pytest.mark.long
@pytest.mark.parametrize("covariance_type", ["full", "auto"])
def test_narrow_components_are_measured_in_all_directions(covariance_type):
    """Covariances hold along and across the long direction, intervals of variances cover, and nothing is flagged."""
    private, own = rows_of(LONG, 6000, 1)
    estimate = fit(rows_of(LONG, 60, 2)[0], private, K, covariance_type=covariance_type)
    assert estimate.converged
    whiten = np.linalg.inv(np.linalg.cholesky(LONG))
    order = [int(np.argmin(((estimate.means - center) ** 2).sum(axis=1))) for center in CENTERS]
    errors = estimate.standard_errors["covariances"]
    for j, other in enumerate(order):
        inner = whiten @ estimate.covariances[other] @ whiten.T
        assert np.linalg.norm(inner - np.eye(D)) < 0.3
        assert np.linalg.norm(whiten @ (estimate.means[other] - CENTERS[j])) < 0.2
        error = np.sqrt(sum(np.diag(np.array(part)[other]) ** 2 for part in errors.values()))
        assert (np.abs(np.diag(estimate.covariances[other]) - 1) < 4 * error).all()
        assert (error < 0.1).all()
    assert sorted(estimate.weights * 6000) == pytest.approx(sorted(np.bincount(own)), abs=60)


def test_a_component_of_clusters_far_apart_has_a_covariance_that_can_be_factored():
    """Mapped to the columns, one that was a billion times as long as wide was not positive definite: a run ended."""
    generator = np.random.default_rng(3)
    shape = np.linalg.qr(generator.standard_normal((8, 8)))[0] * np.geomspace(1e-3, 1.0, 8)
    away = np.linalg.qr(generator.standard_normal((8, 8)))[0]
    long = (away * np.append(np.full(7, 1.0), 1e18)) @ away.T
    round_one = np.eye(8)
    scaling = Scaling((0.0,) * 8, (1.0,) * 8, shape=row_tuples(shape))
    mapped = scaling.undo(Mixture.of(np.ones(2), np.zeros((2, 8)), np.stack([long, round_one]))).arrays[2]
    assert np.linalg.eigvalsh(shape @ long @ shape.T)[0] < 0
    assert np.isfinite(np.linalg.cholesky(mapped)).all()
    assert (mapped[1] == shape @ round_one @ shape.T).all()
    assert np.diag(mapped[0]) == pytest.approx(np.diag(shape @ long @ shape.T))
