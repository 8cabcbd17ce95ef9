"""Groups of public rows: clusters of other scales are cut off at any depth, and a single cluster is left whole."""

import numpy as np
import pytest

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture.scale_tree import scale_groups
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.mixture.supercluster import supercluster

D = 10


def clusters(scales, places, each=15, seed=0):
    """Rows and their clusters."""
    noise = np.random.default_rng(seed).normal(size=(len(scales), each, D))
    rows = np.array(places)[:, None, :] + np.array(scales)[:, None, None] * noise
    return rows.reshape(-1, D), np.repeat(np.arange(len(scales)), each)


def at(*lengths):
    return [length * np.eye(D)[i] for i, length in enumerate(lengths)]


LAYOUTS = {
    "one inside the layout of another": ((1.0, 100.0), at(0, 800)),
    "far apart": ((1.0, 1.0), at(0, 1e4)),
    "three nested": ((1.0, 30.0, 900.0), at(0, 240, 7200)),
    "four nested": ((1.0, 20.0, 400.0, 8000.0), at(0, 200, 4000, 8e4)),
    "a tight one beside two wide ones far apart": ((1.0, 100.0, 100.0), at(0, 900, 1e6)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_scale_has_a_group_of_its_own(layout):
    """Whatever the order of the rows."""
    rows, own = clusters(*LAYOUTS[layout])
    order = np.random.default_rng(1).permutation(len(rows))
    labels = scale_groups(rows[order], 8)
    pairs = {(int(group), int(cluster)) for group, cluster in zip(labels, own[order], strict=True)}
    assert len(pairs) == labels.max() + 1 == own.max() + 1


def test_clusters_of_one_scale_stay_together():
    """Two that lie eight of their sds apart are for seeds to tell apart."""
    rows, _ = clusters((1.0, 1.0), at(0, 8))
    assert scale_groups(rows, 8).max() == 0


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_a_single_cluster_is_left_whole(d):
    """Also where it has long tails, and in few columns, where gaps differ: at most one of 30 draws is cut."""
    cut = 0
    for seed in range(30):
        rows = np.random.default_rng([d, seed]).standard_t(6, size=(60, d))
        cut += scale_groups(rows, 8).max() > 0
    assert cut <= 1


def test_separation_is_that_inside_the_groups():
    """Two tight clusters eight sds apart beside a wide one are apart, near as they are for the wide one."""
    rows, _ = clusters((1.0, 1.0, 1000.0), (np.zeros(D), 2.53 * np.ones(D), 9000 * np.ones(D) / D**0.5), each=30)
    public = PublicTable.open(rows)
    groups = supercluster(public, precondition(public), 3)
    assert groups.count == 2
    assert groups.separation == pytest.approx(8, rel=0.25)
    assert not groups.overlapping


def test_repeated_rows_are_no_group():
    """Rows that are the same have no scale."""
    rows = np.random.default_rng(0).normal(size=(40, D))
    rows[:10] = rows[0]
    assert scale_groups(rows, 8).max() == 0


def test_more_groups_than_components_are_none():
    """What cannot hold a component each is left whole."""
    rows, _ = clusters((1.0, 30.0, 900.0), at(0, 240, 7200))
    assert scale_groups(rows, 3).max() == 2
    assert scale_groups(rows, 1).max() == 0
