"""A run without a number of components finds those that lie apart, cuts no Gaussian, and spends what it planned."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.runners import instead

import pubpriv as pp
from benchmarks.synthetic import Setting, Truth, covering_draw, draw, error, oracle
from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.pairs import PairBins
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._supercluster import Regime, supercluster
from pubpriv.estimators.mixture._unknown import _apart, search
from pubpriv.estimators.mixture.public_model import _fit, public_model
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.steps import Execution

HALF = pp.ZeroConcentratedDP(0.5)
CHEAP = instead(public_model, lambda public, scaling, k: _fit(scaling.apply(public.rows), k, ("diag", 0.01), 1))
"""The plain steps without the cross-validation of the public candidate, which is most of the time of a small run."""


def found(public, private, budget=HALF, seed=1, **options):
    """How many components the search finds, without the rounds that follow it."""
    curator = pp.Curator.simulation(private, budget, seed)
    rows, settings = pp.PublicTable.open(public, list(curator.columns)), MixtureSettings(**options)
    run, scaling, least = Execution(curator, "mixture"), precondition(rows), len(private) * settings.smallest_weight / 4
    most = min(settings.most, len(public))
    purse = curator.begin("mixture", settings.configuration(), rows.sha256)
    plan = MixturePlan.of(purse, len(private), public.shape[1], most, Regime.searching(most).name, most=most)
    return search(run, scaling, supercluster(rows, scaling, most), plan, least).n_components


def gaussian(d, n, generator, condition=10.0):
    """n rows of one Gaussian of random axes and that condition number, about a random mean."""
    axes = np.linalg.qr(generator.standard_normal((d, d)))[0] * np.geomspace(1, condition, d) ** 0.5
    return generator.standard_normal((n, d)) @ axes.T + 5 * generator.standard_normal(d)


def counted(centers, rows):
    """Exact counts (pairs, bins) of rows between centers."""
    pairs = PairBins(Frame.of(np.zeros(rows.shape[1])), row_tuples(centers))
    regions = pairs.assign(View(np.ascontiguousarray(rows.T)))
    return np.bincount(regions, minlength=pairs.n_regions).reshape(-1, PairBins.bins)


# --- the partition -------------------------------------------------------------------------------------------


def test_bins_are_those_of_a_slow_twin():
    """Nearest two centers, place between them, bin: one record at a time, by distances."""
    generator = np.random.default_rng(0)
    centers, rows = 2 * generator.normal(size=(4, 3)), 3 * generator.normal(size=(500, 3))
    order = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    expected = np.zeros((6, PairBins.bins), dtype=int)
    for row in rows:
        far = ((row - centers) ** 2).sum(axis=1)
        i, j = sorted(np.argsort(far)[:2])
        t = (far[i] - far[j]) / ((centers[i] - centers[j]) ** 2).sum()
        expected[order.index((i, j)), int(np.clip(np.floor(t / 0.25) + 6, 0, PairBins.bins - 1))] += 1
    assert np.array_equal(counted(centers, rows), expected)


def test_odd_records_lie_between_no_centers():
    """NaN, infinity and what overflows belong to no region; centers that coincide break nothing."""
    pairs = PairBins(Frame.of(np.zeros(2)), ((0.0, 0.0), (1.0, 0.0), (1.0, 0.0)))
    odd = np.array([[np.nan, 0.0], [np.inf, 0.0], [0.0, -np.inf], [1e200, 0.0], [0.2, 0.0], [1.0, 0.0]])
    with np.errstate(over="ignore", invalid="ignore"):
        regions = pairs.assign(View(np.ascontiguousarray(odd.T)))
    assert regions[:4].tolist() == [-1] * 4
    assert (regions[4:] >= 0).all()
    assert (regions < pairs.n_regions).all()


# --- what is concluded from counts ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_gaussian_cut_anywhere_shows_no_dip(seed):
    """Whatever its covariance and wherever 2 to 8 seeds lie in it: they are not apart, with and without noise."""
    generator = np.random.default_rng(seed)
    d, k = int(generator.integers(1, 6)), int(generator.integers(2, 9))
    rows = gaussian(d, 20_000, generator, 10 ** generator.uniform(0, 4))
    counts = counted(rows[generator.choice(len(rows), k, replace=False)], rows)
    assert not _apart(counts, 0.0, k, 0.0)
    assert not _apart(counts + generator.normal(scale=20, size=counts.shape), 20.0, k, 0.0)


@pytest.mark.parametrize("k", [2, 4])
def test_far_components_are_apart_unless_noise_or_smallness_hides_it(k):
    """The same counts: apart as they are; not where noise drowns them, nor where a component has too few rows."""
    generator = np.random.default_rng(k)
    centers = 6 / 2**0.5 * np.eye(k)
    rows = centers[generator.integers(k, size=20_000)] + generator.normal(size=(20_000, k))
    counts = counted(centers, rows)
    assert _apart(counts, 10.0, k, 20_000 / k / 2)
    assert not _apart(counts, 3000.0, k, 0.0)
    assert not _apart(counts, 10.0, k, 20_000 / k * 1.1)


def test_two_seeds_in_one_component_are_not_apart():
    """Three components, four seeds: the number is too large, although all other pairs are apart."""
    generator = np.random.default_rng(0)
    centers = 8 * np.eye(3)
    rows = centers[generator.integers(3, size=20_000)] + generator.normal(size=(20_000, 3))
    assert _apart(counted(centers, rows), 10.0, 3, 1000)
    assert not _apart(counted(np.r_[centers, centers[:1] + 1.0], rows), 10.0, 4, 1000)


# --- runs ----------------------------------------------------------------------------------------------------


def drawn(k, d, n=4000, m=40, seed=0, gap=8.0):
    """Public and private rows of k unit Gaussians, each with a public row."""
    generator = np.random.default_rng(seed)
    means = gap / 2**0.5 * np.eye(max(k, d))[:k, :d]
    labels = np.r_[np.arange(k), generator.integers(k, size=m - k)]
    private = means[generator.integers(k, size=n)] + generator.normal(size=(n, d))
    return means[labels] + generator.normal(size=(m, d)), private


@pytest.fixture(scope="module")
def three():
    """A run that finds three components of at most six, with its curator."""
    public, private = drawn(3, 10)
    curator = pp.Curator.simulation(private, HALF, 2)
    return pp.estimate_mixture(public, curator, max_components=6, runner=CHEAP), curator


@pytest.mark.long
def test_a_run_finds_k_and_goes_on_as_if_it_were_known(three):
    """Three components, means as near as those of a run that is told so; what was tried is in the diagnostics."""
    estimate, _ = three
    public, private = drawn(3, 10)
    told = pp.estimate_mixture(public, pp.Curator.simulation(private, HALF, 2), n_components=3, runner=CHEAP)
    assert len(estimate.weights) == 3

    def off(model):
        nearest = ((model.means[:, None] - 8 / 2**0.5 * np.eye(10)[:3]) ** 2).sum(axis=2)
        return nearest.min(axis=0).max() ** 0.5

    assert off(estimate) < 1.3 * off(told) < 0.5
    tried = estimate.diagnostics["components_tried"]
    assert [(line["components"], line["apart"]) for line in tried] == [(6, False), (5, False), (4, False), (3, True)]
    assert "looked for, up to 6" in estimate.diagnostics["regime_reason"]
    assert estimate.diagnostics["n_components"] == 3


def test_numbers_that_need_no_trial_are_not_paid_for(three):
    """Every charge is one of the plan, at its price; the trial of two components is neither asked nor charged."""
    estimate, curator = three
    charges = {line.label: Fraction(line.cost.split()[0]) for line in curator.statement().charges}
    assert sorted(charges) == sorted(estimate.diagnostics["rounds"])
    assert "mixture/components-3" in charges
    assert "mixture/components-2" not in charges
    assert 0.97 * Fraction(1, 2) < sum(charges.values()) < Fraction(1, 2)


@pytest.mark.long
@pytest.mark.parametrize("d", [1, 2, 10])
def test_one_gaussian_stays_whole(d):
    """A whole run on one Gaussian, with more and with fewer columns than components are looked for."""
    generator = np.random.default_rng(d)
    rows = gaussian(d, 4030, generator)
    curator = pp.Curator.simulation(rows[30:], HALF, d)
    estimate = pp.estimate_mixture(rows[:30], curator, runner=CHEAP)
    assert estimate.weights.tolist() == [1.0]
    assert np.abs(estimate.means[0] - rows.mean(axis=0)).max() < 0.3 * rows.std(axis=0).max()


@pytest.mark.long
@pytest.mark.parametrize(("d", "sd"), [(1, 1.0), (3, 1.0), (3, 2.0), (10, 0.6)])
def test_whole_numbers_are_not_cut(d, sd):
    """A rounded Gaussian leaves gaps between one number and the next; none of them is one between components."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        public, private = (np.rint(sd * generator.normal(size=(n, d))) for n in (80, 30_000))
        assert found(public, private, seed=seed) == 1


@pytest.mark.long
@pytest.mark.parametrize(("d", "sd"), [(1, 1.0), (5, 1.0), (5, 3.0)])
def test_components_of_whole_numbers_are_found(d, sd):
    """Two and three of them, eight and more standard deviations apart, several steps between any two."""
    k = min(d + 1, 3)
    for seed in range(3):
        generator = np.random.default_rng(seed)
        centers = 8 * sd * (np.arange(k)[:, None] if d == 1 else np.eye(d)[:k])
        public, private = (
            np.rint(sd * generator.normal(size=(n, d)) + centers[generator.integers(0, k, n)]) for n in (90, 30_000)
        )
        assert found(public, private, seed=seed) == k


def test_columns_of_few_values_have_steps_and_their_points_are_spread_over_them():
    """Whole numbers by one, halves by a half; columns of many values and constant ones stay as they are."""
    generator = np.random.default_rng(0)
    whole = np.rint(2 * generator.normal(size=200))
    rows = np.c_[whole, whole / 2, generator.normal(size=200), np.full(200, 3.0)]
    public = pp.PublicTable.open(rows)
    scaling = precondition(public)
    groups = supercluster(public, scaling, 2)
    assert np.array(groups.steps) * scaling.scale == pytest.approx([1.0, 0.5, 0.0, 0.0])
    moved = np.array(groups.points) - scaling.apply(rows)
    assert (np.abs(moved) <= np.array(groups.steps) / 2).all()
    assert len(np.unique(np.array(groups.points)[:, 0])) == 200


def test_where_noise_drowns_everything_there_is_one_component():
    """At a budget too small to see anything no split is believed."""
    assert found(*drawn(3, 10), budget=pp.ZeroConcentratedDP(1e-6)) == 1


def test_groups_that_public_rows_make_up_are_not_believed():
    """Four public rows in two far pairs look like two groups; the private rows between them say one."""
    generator = np.random.default_rng(0)
    public = np.array([[-1.0], [-1.01], [1.0], [1.01]])
    assert supercluster(pp.PublicTable.open(public), precondition(pp.PublicTable.open(public)), 2).count == 2
    assert found(public, generator.normal(size=(5000, 1))) == 1


def test_groups_of_different_scale_are_told_apart():
    """Two components of scale 1 and two of scale 50, far from each other: four."""
    generator = np.random.default_rng(0)
    means = np.array([[0.0, 0, 0], [10, 0, 0], [5000, 0, 0], [5000, 500, 0]])
    scales = np.array([1.0, 1, 50, 50])

    def rows(count):
        labels = np.arange(count) % 4
        return means[labels] + scales[labels, None] * generator.normal(size=(count, 3))

    assert found(rows(40), rows(8000)) == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("m", "options"), [(2, {}), (5, {}), (40, {"max_components": 1}), (40, {"max_components": 12})]
)
def test_few_public_rows_and_extreme_numbers_are_no_trouble(m, options):
    """Never more components than public rows or than asked for; the model is whole."""
    public, private = drawn(2, 3, n=1000, m=m)
    estimate = pp.estimate_mixture(public, pp.Curator.simulation(private, HALF, 1), runner=CHEAP, **options)
    assert 1 <= len(estimate.weights) <= min(m, options.get("max_components", 8), 2)


# --- settings ------------------------------------------------------------------------------------------------


def test_settings_that_were_there_first_bind_a_run_as_they_always_did():
    """A release made before there were other settings replays: at their defaults they are not in the configuration."""
    assert MixtureSettings(n_components=3).configuration() == {"n_components": 3, "method": "auto"}
    other = MixtureSettings(n_components=3, covariance_type="diag", min_weight=0.1).configuration()
    assert other == {"n_components": 3, "method": "auto", "covariance_type": "diag", "min_weight": 0.1}
    assert MixtureSettings(max_components=5).configuration()["max_components"] == 5


def test_a_run_is_bound_to_its_settings(three):
    """The same run with another largest number is refused."""
    public, _ = drawn(3, 10)
    with pytest.raises(SpecMismatch):
        pp.estimate_mixture(public, three[1], max_components=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_components": 0}, "max_components must be a positive"),
        ({"max_components": 21}, "at most 20"),
        ({"n_components": 3, "min_weight": 0.4}, "at most 1 / k"),
        ({"min_weight": 0.0}, "min_weight"),
        ({"method": "bks-scarce"}, "needs the number of components"),
        ({"n_components": 2, "method": "em"}, "method must be one of auto"),
        ({"n_components": 2, "constants": "tight"}, "constants must be one of"),
        ({"n_components": 2, "covariance_type": "tied"}, "covariance_type must be one of"),
        ({"n_components": 2, "method": "bks-ample", "covariance_type": "diag"}, "full covariances only"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(options, message):
    """Before anything is charged, in words that say what to give."""
    public, private = drawn(2, 3, n=100)
    curator = pp.Curator.simulation(private, HALF, 1)
    with pytest.raises(InvalidInput, match=message):
        pp.estimate_mixture(public, curator, **options)
    assert not curator.statement().charges


# --- at full scale -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("d", "k", "m"), [(50, 3, 33), (100, 5, 81)])
def test_the_right_number_is_found(d, k, m):
    """Separation 8, anisotropic, n 100,000, rho 0.5, about 10 log(k) / w_min public rows: at least 18 of 20 runs."""
    right = 0
    for seed in range(20):
        generator = np.random.default_rng([seed, d])
        setting = Setting(d, k, 8.0, m, 100_000)
        truth = draw(setting, generator)
        public = covering_draw(setting, truth, generator)[0]
        right += found(public, truth.sample(setting.n, generator)[0], seed=seed) == k
    assert right >= 18


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("d", [10, 50])
@pytest.mark.parametrize("condition", [1.0, 10.0, 1e4])
def test_a_single_gaussian_is_never_split(d, n, condition):
    """Forty runs: round, and with condition numbers of 10 and 10,000."""
    split = 0
    for seed in range(40):
        generator = np.random.default_rng([seed, d, n])
        rows = gaussian(d, n + 40, generator, condition)
        split += found(rows[:40], rows[40:], seed=seed) != 1
    assert split == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_found_k_costs_little_accuracy():
    """Setting (50, 3): the median mean error over the oracle's stays below 1.2 when k is found by the run."""
    ratios = []
    for seed in range(5):
        generator = np.random.default_rng([seed, 50])
        setting = Setting(50, 3, 8.0, 33, 100_000)
        truth = draw(setting, generator)
        public = covering_draw(setting, truth, generator)[0]
        rows, labels = truth.sample(setting.n, generator)
        estimate = pp.estimate_mixture(public, pp.Curator.simulation(rows, HALF, seed))
        ours = error(truth, Truth(estimate.weights, estimate.means, estimate.covariances))
        ratios.append(ours.mean / error(truth, oracle(rows, labels, 3)).mean)
    assert np.median(ratios) <= 1.2
