"""Groups of public rows: clusters of other scales are cut off at any depth, and a single cluster is left whole."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._scale_tree import nested_groups, scale_groups
from pubpriv.estimators.mixture._supercluster import _separation, supercluster
from pubpriv.estimators.mixture.scaling import precondition

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


def in_a_row(seed, few=0):
    """Sixty skewed rows of five columns in three clusters, eight sds apart; `few`: values per sd of the last column."""
    generator = np.random.default_rng(seed)
    along = generator.normal(size=5)
    places = np.outer(np.repeat(np.arange(3), 20), 8 * along / np.linalg.norm(along))
    rows = generator.exponential(size=(60, 5)) + places
    return np.column_stack((rows[:, :4], np.rint(few * rows[:, 4]) / few)) if few else rows


def overlapping(rows):
    public = PublicTable.open(rows)
    return supercluster(public, precondition(public), 3).overlapping


@pytest.mark.long
def test_components_that_lie_apart_in_some_columns_do_not_look_close():
    """In units of whole columns their distance is small, and other columns hide it. One long cluster still does."""
    assert sum(overlapping(in_a_row(seed)) for seed in range(20)) <= 1
    long = [np.random.default_rng(seed).normal(size=(60, 5)) * [8.0, 1.0, 1.0, 1.0, 1.0] for seed in range(20)]
    assert all(overlapping(rows) for rows in long)


def test_a_cluster_on_one_value_does_not_make_others_look_far():
    """Where a column has few values, distances are measured in the groups' own units."""
    public = PublicTable.open(in_a_row(3, few=1))
    groups = supercluster(public, precondition(public), 3)
    assert any(groups.steps)
    points, labels, units = (np.array(part) for part in (groups.points, groups.labels, groups.units))
    assert groups.separation == _separation(points, labels, units, 3)


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


INSIDE = (1.0, 0.05, 1.0), at(0, 2, 20)
"""A tight cluster two standard deviations from the mean of a wide one, and another far from both."""


def test_a_cluster_inside_another_has_a_group_of_its_own():
    """Nearest points do not tell it apart from what is around it."""
    rows, own = clusters(*INSIDE)
    assert scale_groups(rows, 3).max() < 2
    labels = nested_groups(rows, 3)
    assert labels is not None
    assert len({(label, cluster) for label, cluster in zip(labels, own, strict=True)}) == 3
    assert nested_groups(rows, 2) is None


def test_no_cluster_is_found_inside_a_single_one():
    """Nor inside one of several that lie apart."""
    for seed in range(10):
        rows, _ = clusters((1.0, 1.0, 1.0), at(0, 8, 8), seed=seed)
        assert nested_groups(rows, 8) is None


@pytest.mark.slow
def test_a_component_inside_another_is_measured():
    """At both scales; its floor is a part of its own variance."""
    public, _ = clusters(*INSIDE)
    private, _ = clusters(*INSIDE, each=4000, seed=1)
    found = pp.estimate_mixture(public, pp.Curator.simulation(private, pp.ZeroConcentratedDP(0.5), 2), n_components=3)
    assert found.converged
    spreads = np.sort(np.einsum("kii->ki", found.covariances).mean(axis=1))
    assert spreads == pytest.approx([0.0025, 1.0, 1.0], rel=0.1)
    assert max(found.diagnostics["covariance_floor"]) < 0.0025 / 100


@pytest.mark.slow
def test_a_component_inside_another_is_found_where_nobody_said_how_many_there_are():
    """It was floored at the scale of the whole table, and missed or three hundred times too wide."""
    generator = np.random.default_rng(3)
    mean = np.eye(10)[0]

    def rows(n):
        tight = generator.random(n) < 0.4
        return np.where(tight[:, None], mean + 0.03 * generator.normal(size=(n, 10)), generator.normal(size=(n, 10)))

    estimate = pp.estimate_mixture(rows(30), pp.Curator.simulation(rows(10_000), "zcdp:0.5", 4), max_components=2)
    assert estimate.converged
    assert estimate.diagnostics["k_apart"] == 1
    assert np.abs(estimate.weights - [0.6, 0.4]).max() < 0.03
    assert np.sqrt(np.diag(estimate.covariances[1])) == pytest.approx(0.03 * np.ones(10), rel=0.1)
    assert max(estimate.diagnostics["covariance_floor"]) < 1e-4


def test_a_value_that_all_rows_of_a_group_share_is_no_scale():
    """Half of the costs are zero, and neighbouring ones differ by little: a group of zeros is not that narrow."""
    rows, own = clusters((1.0, 1.0), at(0, 1e4), each=40)
    costs = np.random.default_rng(1).choice(5 + 1e-4 * np.arange(20) ** 2, size=len(rows))
    rows[:, 5] = np.where(own == 0, 0.0, costs)
    public = PublicTable.open(rows)
    groups = supercluster(public, precondition(public), 2)
    zeros = groups.labels[0]
    assert 0 < groups.steps[5] < 1e-3
    assert groups.units[zeros][5] == pytest.approx(groups.units[1 - zeros][5] / np.sqrt(2), rel=0.01)
