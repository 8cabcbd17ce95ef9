"""k-means of public points: what its memory of the last ones goes by, and that fits start from what it has found."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

from pubpriv.estimators.mixture import public_model
from pubpriv.estimators.mixture._public_em import EM, Point
from pubpriv.estimators.mixture._seeding import allocate, k_means


def test_points_of_any_type_and_order_have_the_labels_of_the_same_numbers():
    """They are remembered by their bytes, which are those of other numbers in another type."""
    rows = np.random.default_rng(0).standard_normal((12, 4)) + 8 * (np.arange(12) % 3)[:, None]
    points = rows.astype(np.float32)
    labels = k_means(points, 3).tolist()
    assert len(labels) == 12
    assert [labels[i] for i in range(3)] * 4 == labels
    assert k_means(np.asfortranarray(points, dtype=float), 3).tolist() == labels


def climbed(rows, k, kind, floor, n_init):
    """The public fit as `public_model` begins it."""
    em, clusters = EM(rows, kind, floor), public_model._first_clusters(rows.tobytes(), rows.shape, k, n_init)
    return em.climb(em.of_clusters(labels, k) for labels in clusters)


def bits(made, alone):
    """Whether a fit is scikit-learn's."""
    pairs = {"weights": "weights_", "means": "means_", "covariances": "covariances_", "roots": "precisions_cholesky_"}
    return all(getattr(made, name).tobytes() == getattr(alone, other).tobytes() for name, other in pairs.items())


def test_public_fits_begin_as_scikit_learns_do_and_look_for_clusters_once(monkeypatch):
    """Of each shape the same bits as from scikit-learn alone; its first clusters are found anew for none of them."""
    rows = np.random.default_rng(5).standard_normal((40, 3)) + 2 * (np.arange(40) % 3)[:, None]
    fit, found = KMeans.fit, []
    monkeypatch.setattr(KMeans, "fit", lambda self, *rest: found.append(1) or fit(self, *rest))
    for kind in ("full", "diag", "spherical"):
        made = climbed(rows, 3, kind, 0.01, n_init=4)
        alone = GaussianMixture(3, covariance_type=kind, reg_covar=0.01, random_state=0, n_init=4).fit(rows)
        assert bits(made, alone)
        assert EM(rows, kind, 0.01).likelihood(made) == alone.score(rows)
    del found[:]
    climbed(rows, 3, "full", 0.04, n_init=4)
    assert not found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_public_fits_are_scikit_learns(kind):
    """The same bits of rows that repeat, that are whole numbers, or fewer than there are columns; and from a start."""
    for seed in range(12):
        generator = np.random.default_rng(seed)
        k, d = generator.integers(1, 5, 2).tolist()
        rows = generator.normal(size=(int(generator.integers(k + 1, 60)), d)) * generator.choice([0.1, 1, 10], d)
        rows = (rows, np.rint(rows), np.repeat(rows, 3, axis=0))[seed % 3]
        ours, theirs = climbed(rows, k, kind, 0.01, n_init=2), GaussianMixture(k, covariance_type=kind, reg_covar=0.01)
        assert bits(ours, theirs.set_params(random_state=0, n_init=2).fit(rows)), seed
        if kind == "diag":
            start = Point(ours.weights[::-1], ours.means + 1, ours.roots * 2, ours.covariances)
            given = {"weights_init": start.weights, "means_init": start.means, "precisions_init": (ours.roots * 2) ** 2}
            again = theirs.set_params(n_init=1, **given).fit(rows)
            np.testing.assert_allclose(EM(rows, kind, 0.01).climb([start]).means, again.means_, rtol=1e-9)


def test_what_has_no_public_fit_is_refused():
    """A single row, numbers that are not finite, and components without variance where there is no floor."""
    for rows in (np.zeros((1, 2)), np.array([[0.0], [np.inf]])):
        with pytest.raises(ValueError, match="finite"):
            EM(rows, "full", 0.01)
    for kind in ("full", "diag", "spherical"):
        with pytest.raises(ValueError, match="without variance"):
            EM(np.zeros((4, 2)), kind, 0.0).of_clusters(np.array([0, 0, 1, 1]), 2)


@pytest.mark.parametrize("order", ["C", "F"])
def test_public_rows_of_any_order_have_the_fits_of_the_same_numbers(order):
    """Every other row of a table, or columns that lie one after another in memory."""
    rows = np.random.default_rng(6).standard_normal((60, 4)) + 3 * (np.arange(60) % 2)[:, None]
    seen = np.asarray(rows[::2], order=order)
    made, alone = climbed(seen, 2, "full", 0.01, n_init=2), GaussianMixture(2, reg_covar=0.01, n_init=2)
    assert made.means.tobytes() == alone.set_params(random_state=0).fit(seen).means_.tobytes()


def test_groups_are_seeded_once_for_all_numbers_of_components(monkeypatch):
    """Each number that is tried is split over the same groups, and finds what it would find alone."""
    fit, found = AgglomerativeClustering.fit, []
    monkeypatch.setattr(AgglomerativeClustering, "fit", lambda self, *rest: found.append(1) or fit(self, *rest))
    generator = np.random.default_rng(7)
    groups = [generator.standard_normal((20, 2)) + 6 * (np.arange(20) % 2)[:, None] for _ in range(2)]
    first = [allocate(groups, k) for k in (4, 5, 6)]
    assert len(found) == 2 * 4  # two to five components in either group
    again = [allocate(groups, k) for k in (6, 5, 4)][::-1]
    assert len(found) == 2 * 4
    for one, other in zip(first, again, strict=True):
        assert [part.centers.tobytes() for part in one] == [part.centers.tobytes() for part in other]
