"""k-means of public points: what its memory of the last ones goes by, and that fits start from what it has found."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

from pubpriv.estimators.mixture import public_model
from pubpriv.estimators.mixture._seeding import allocate, k_means


def test_points_of_any_type_and_order_have_the_labels_of_the_same_numbers():
    """They are remembered by their bytes, which are those of other numbers in another type."""
    rows = np.random.default_rng(0).standard_normal((12, 4)) + 8 * (np.arange(12) % 3)[:, None]
    points = rows.astype(np.float32)
    labels = k_means(points, 3).tolist()
    assert len(labels) == 12
    assert [labels[i] for i in range(3)] * 4 == labels
    assert k_means(np.asfortranarray(points, dtype=float), 3).tolist() == labels


def test_public_fits_begin_as_scikit_learns_do_and_look_for_clusters_once(monkeypatch):
    """Of each shape the same bits as from scikit-learn alone; its first clusters are found anew for none of them."""
    rows = np.random.default_rng(5).standard_normal((40, 3)) + 2 * (np.arange(40) % 3)[:, None]
    fit, found = KMeans.fit, []
    monkeypatch.setattr(KMeans, "fit", lambda self, *rest: found.append(1) or fit(self, *rest))
    for kind in ("full", "diag", "spherical"):
        made = public_model._climbed(rows, 3, (kind, 0.01), n_init=4)
        alone = GaussianMixture(3, covariance_type=kind, reg_covar=0.01, random_state=0, n_init=4).fit(rows)
        assert made.n_iter_ == alone.n_iter_
        for name in ("weights_", "means_", "covariances_", "precisions_cholesky_"):
            assert getattr(made, name).tobytes() == getattr(alone, name).tobytes()
    del found[:]
    public_model._climbed(rows, 3, ("full", 0.04), n_init=4)
    assert not found


@pytest.mark.parametrize("order", ["C", "F"])
def test_public_rows_of_any_order_have_the_fits_of_the_same_numbers(order):
    """Every other row of a table, or columns that lie one after another in memory."""
    rows = np.random.default_rng(6).standard_normal((60, 4)) + 3 * (np.arange(60) % 2)[:, None]
    seen = np.asarray(rows[::2], order=order)
    made, alone = public_model._climbed(seen, 2, ("full", 0.01), n_init=2), GaussianMixture(2, reg_covar=0.01, n_init=2)
    assert made.means_.tobytes() == alone.set_params(random_state=0).fit(seen).means_.tobytes()


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
