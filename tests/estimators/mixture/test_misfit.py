"""A mixture is told to fit where it does, and not to fit where rows are no Gaussians or a component is missing."""

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.intervals import Task, measured
from pubpriv.data.questions import JointCounts
from pubpriv.data.regions import View
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import lattice
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._fit_regions import longest_axes, shells_about, shells_inside
from pubpriv.estimators.mixture._lattice import drawn_rows
from pubpriv.estimators.mixture._misfit import check_fit, counted
from pubpriv.estimators.mixture.scaling import Scaling, precondition
from pubpriv.released.law import Mixture

D = 3
ASK = Ask("fit", 2, 100)
TWO = Mixture.of([0.5, 0.5], [[-4.0] * D, [4.0] * D], [np.eye(D), np.diag([4.0, 1.0, 1.0])])


def fit_of(private, mixture=TWO, noise=(0.1, 0.1), public=None, budget=0.5, **persons):
    """The verdict on a model of private rows in their own units, of whose round only the frames matter."""
    public = PublicTable.open(np.random.default_rng(0).normal(size=(40, D)) if public is None else public)
    scaling = Scaling((0.0,) * D, (1.0,) * D)
    last = Round(mixture, (1.0,) * len(noise), 1.0, 1.0, 1.0, mixture, len(private))
    curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP(budget), 1, **persons)
    curator.begin("mixture", {}, public)
    return check_fit(curator, scaling, public, last, mixture, noise, ASK)


def standard_rows():
    """Rows about zero, where no component of `TWO` is."""
    return np.random.default_rng(2).normal(size=(5_000, D))


def test_rows_of_the_model_fit():
    """Both divergences are within their limits, and nothing is unexplained."""
    fit = fit_of(TWO.sample(10_000, seed=1))
    assert fit.fits
    assert fit.warnings() == ()
    assert abs(fit.unexplained) < 0.01
    assert fit.facts()["tested"]


def test_nothing_shows_where_components_of_a_contradicted_public_model_lie():
    """Of one that was measured, intervals are as they are; of a single component, the mean is that of the rows."""
    off = fit_of(standard_rows() + 2.0)
    assert not off.fits
    assert off.lost(measured=False)
    assert not off.lost(measured=True)
    assert "as wide as the table" in off.warnings(measured=False)[0]
    assert "do not rely" in off.warnings(measured=True)[0]
    assert not fit_of(TWO.sample(10_000, seed=1)).lost(measured=False)
    one = fit_of(standard_rows() + 2.0, Mixture.of([1.0], [[0.0] * D], [np.eye(D)]), (0.1,))
    assert not one.fits
    assert not one.lost(measured=False)


@pytest.mark.slow
def test_intervals_of_a_contradicted_public_model_are_as_wide_as_the_table():
    """Components of columns with rare values, one step apart: sixty public rows do not show them."""
    found = measured(Task("mixture", "bernoulli-0.05", 5_000, 20, 60, "zcdp:0.5", 1_001_019))
    assert found["flagged"]
    assert not found["found"]
    assert np.mean(found["means"]["covered"]) > 0.95
    assert np.mean(found["variances"]["covered"]) > 0.8  # of columns that are constant in public rows they are not


def test_rows_of_persons_who_are_alike_fit_as_rows_by_themselves_do():
    """Each of few persons has sixteen rows in one place, so that counts vary more; that is no misfit."""
    for seed in range(4):
        rows = np.repeat(TWO.sample(250, seed=seed), 16, axis=0)
        fit = fit_of(rows, budget=200, persons=np.repeat(np.arange(250), 16), rows_per_person=16)
        assert fit.fits
        assert not fit_of(rows, budget=200).fits


MISFITS = {
    "long tails": lambda rows, r: (
        np.sign(rows) * 4 + (rows - np.sign(rows) * 4) / np.sqrt(r.chisquare(5, (len(rows), 1)) / 3)
    ),
    "a twentieth lies far out": lambda rows, r: np.where(r.random((len(rows), 1)) < 0.05, 15 * rows, rows),
    "a component stands for two": lambda rows, r: np.c_[
        4.0 * np.sign(rows[:, 0]) + 2 * r.choice([-1, 1], len(rows)), rows[:, 1:]
    ],
    "wider than the model": lambda rows, r: rows + r.normal(size=rows.shape),
}


@pytest.mark.parametrize("how", MISFITS)
def test_what_does_not_fit_is_told(how):
    """With a warning in words; where rows lie far out, how many."""
    rows = MISFITS[how](TWO.sample(10_000, seed=1), np.random.default_rng(2))
    fit = fit_of(rows)
    assert not fit.fits
    assert "does not fit" in fit.warnings()[0]
    if "far" in how:
        assert 0.03 < fit.unexplained < 0.07
        assert "further out" in fit.warnings()[0]


@pytest.mark.long
def test_rows_that_lack_values_are_no_misfit():
    """Half of the rows: the model was said not to fit, and errors of weights were those of twice as many."""
    generator = np.random.default_rng(4)
    rows = generator.standard_normal((6060, 2)) + 12 * generator.integers(2, size=(6060, 1))
    public, private = rows[:60], rows[60:].copy()
    private[::2, 1] = np.nan
    found = pp.estimate_mixture(public, pp.Curator.simulation(private, "zcdp:0.5", 1), n_components=2)
    assert found.converged
    (missing,) = found.diagnostics["warnings"]
    assert missing.startswith("about 50")
    assert "of the private rows have a missing" in missing
    assert np.array(found.standard_errors["weights"]["sampling"]) == pytest.approx(np.sqrt(0.25 / 3000), rel=0.03)
    others = pp.estimate_mixture(public, pp.Curator.simulation(private[1::2], "zcdp:0.5", 1), n_components=2)
    score, alone = (each.diagnostics["advantage_over_public"] for each in (found, others))
    assert score["noise"] == pytest.approx(alone["noise"], rel=0.05)
    assert score["nats_per_row"] == pytest.approx(alone["nats_per_row"], abs=2 * alone["noise"])


@pytest.mark.slow
def test_of_persons_rows_that_lack_values_the_share_is_said():
    """The number of rows was released of whole ones; what persons count for tells what is missing."""
    generator = np.random.default_rng(6)
    who = np.repeat(np.arange(3000), 2)
    places = 12 * generator.integers(2, size=(3000, 1))
    private = places[who] + generator.standard_normal((6000, 2))
    private[::5, 1] = np.nan
    public = generator.standard_normal((60, 2)) + 12 * (np.arange(60) % 2)[:, None]
    found = pp.estimate_mixture(public, pp.Curator.simulation(private, "zcdp:0.5", 1, persons=who), n_components=2)
    assert not found.converged
    (warning,) = found.diagnostics["warnings"]
    assert "of what persons count for is left out" in warning


def test_two_components_in_one_show_along_the_axis_alone():
    """In many columns the distance from the mean hardly changes; the shells along the axis see the gap."""
    d = 30
    one = Mixture.of([1.0], [[0.0] * d], [np.diag([10.0] + [1.0] * (d - 1))])
    rows = np.random.default_rng(0).normal(size=(10_000, d))
    rows[:, 0] += np.where(np.arange(10_000) % 2, 3.0, -3.0)
    last = Round(one, (1.0,), 1.0, 1.0, 1.0, one, 10_000)
    public = PublicTable.open(rows[:40] + 0.0)
    curator = pp.Curator.simulation(rows, pp.ZeroConcentratedDP(0.5), 1)
    fit = check_fit(curator, Scaling((0.0,) * d, (1.0,) * d), public, last, one, (0.1,), ASK)
    assert fit.divergence[1] > 10 * fit.limits[1]
    assert "may stand for several" in fit.warnings()[0]


def test_components_of_mostly_noise_are_not_tested():
    """Where no component can be tested this is said; where one can, it is."""
    rows = np.random.default_rng(0).standard_t(2, size=(10_000, D))
    untold = fit_of(rows, noise=(0.6, 0.7))
    assert untold.fits
    assert not untold.facts()["tested"]
    assert "could not be tested" in untold.warnings()[0]
    assert not fit_of(rows, noise=(0.6, 0.1)).fits


@pytest.mark.parametrize(
    ("column", "step"),
    [
        ([3.0, 1.0, 2.0, 7.0], 1.0),
        ([0.3, 0.1, 0.7, 0.2], 0.1),
        ([2.0, 5.0, 9.0], 1.0),
        ([0.0, 1.0, 0.0], 0.0),
        ([0.0, 1.0, 0.0, 1.0, 1.0], 1.0),
        ([0.5, 0.5, 0.5, 0.5], 0.0),
        (np.random.default_rng(0).normal(size=50), 0.0),
        (np.arange(0.0, 9000.0, 7.0), 0.0),
    ],
    ids=[
        "whole",
        "tenths",
        "gaps of three and four",
        "two values",
        "two repeated values",
        "one value",
        "continuous",
        "fine",
    ],
)
def test_the_step_of_a_column(column, step):
    """The largest of which all gaps are multiples."""
    assert lattice(np.array(column)) == pytest.approx(step)


def test_rounded_rows_fit_a_model_that_was_fitted_to_them():
    """Whole numbers of a spread of one: predicted rows have their variance and their values."""
    rng = np.random.default_rng(3)
    rows = np.rint(rng.normal(0.3, 1.0, size=(10_000, D)))
    one = Mixture.of([1.0], [rows.mean(axis=0)], [np.cov(rows.T)])
    drawn = drawn_rows(one, rows[:40], 50_000)
    assert (drawn == np.rint(drawn)).all()
    assert np.allclose(np.cov(drawn.T), np.cov(rows.T), atol=0.05)
    assert fit_of(rows, one, (0.1,), rows[:40]).fits
    assert not fit_of(rows, one, (0.1,)).fits  # without what the public rows tell of steps


@pytest.mark.slow
def test_quotients_of_whole_numbers_fit():
    """Values that differ in the last digit hid the step, and every such run was flagged."""
    found = measured(Task("mixture", "whole-numbers", 5000, 5, 60, "zcdp:0.5", 50000))
    assert not found["flagged"]
    assert found["found"]


def test_a_step_wider_than_the_spread_leaves_a_covariance():
    """Less is taken out than would leave nothing."""
    narrow = Mixture.of([1.0], [[0.0] * D], [0.01 * np.eye(D)])
    assert np.isfinite(drawn_rows(narrow, np.arange(12.0).reshape(4, D), 100)).all()


def test_regions_are_counted_about_the_means_in_the_tables_own_units():
    """Shells about components end at quantiles of a Gaussian's distance; half of the rows lie below .67 sd."""
    rows = TWO.sample(20_000, seed=4) * 100 + 7
    scaling = precondition(PublicTable.open(rows[:50]))
    scale, location = np.array(scaling.scale), np.array(scaling.location)
    weights, means, covariances = TWO.arrays
    inside = Mixture.of(weights, (100 * means + 7 - location) / scale, 1e4 * covariances / np.outer(scale, scale))
    cells = scaling.cells(inside)
    shells = shells_about(cells).assign(View(np.ascontiguousarray(rows.T)))
    counts = np.bincount(shells, minlength=18)
    shares = np.append(counts[:8] + counts[8:16], counts[16:]) / 20_000
    assert np.abs(shares - [0.1, 0.2, 0.2, 0.2, 0.15, 0.1, 0.04, 0.01, 0, 0]).max() < 0.02
    (axis,) = longest_axes(scaling, inside, (0.0, 0.0))[1:]
    away = np.abs(axis.dense()[1] @ (rows[rows[:, 0] > 7] - axis.dense()[0]).T)
    assert np.median(away) == pytest.approx(0.674, abs=0.05)


def test_the_axis_along_which_a_component_holds_two_is_found_in_any_units():
    """Few public rows tell units badly: the longest axis may be one along which all components are alike."""
    held = Mixture.of([0.7, 0.3], [[0.0] * D, [0.0, 9.0, 0.0]], [np.diag([17.0, 1.0, 400.0]), np.diag([1, 1, 400.0])])
    scaling = Scaling((0.0,) * D, (1.0,) * D)
    # what noise may have made narrow does not count
    for noise, axis in ((0.1, [17**-0.5, 0, 0]), (1.0, [0, 0, 1 / 20])):
        found = longest_axes(scaling, held, (0.1, noise))[0].dense()[1]
        assert np.abs(found[0]) == pytest.approx(axis, abs=1e-6)


@pytest.mark.long
def test_rows_that_are_not_gaussian_are_a_note():
    """Long tails are told of by the driver, with diagnostics; the numbers are those of the rows all the same."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(6040, 2))
    for factor, fits in ((np.ones((6040, 1)), True), (np.sqrt(rng.chisquare(4, (6040, 1)) / 2), False)):
        rows = noise / factor
        curator = pp.Curator.simulation(rows[40:], pp.ZeroConcentratedDP(1.0), 1)
        estimate = pp.estimate_mixture(rows[:40], curator, n_components=1)
        assert estimate.converged
        assert ("not-gaussian" in {finding.code for finding in estimate.findings}) != fits
        assert estimate.diagnostics["misfit"]["fits"] == fits
        assert any("does not fit" in warning for warning in estimate.diagnostics["warnings"]) != fits


@pytest.mark.parametrize("scale", [6.0, 15.0])
def test_odd_rows_are_told_as_a_background(scale):
    """Two per cent of rows, so many times as wide as the components: their share and their scale."""
    rng = np.random.default_rng(6)
    rows = TWO.sample(20_000, seed=1)
    odd = rng.random(len(rows)) < 0.02
    rows[odd] = 4.0 * np.sign(rows[odd]) + scale * rng.normal(size=(odd.sum(), D))
    fit = fit_of(rows, Mixture.of([0.5, 0.5], [[-4.0] * D, [4.0] * D], [np.eye(D)] * 2))
    found = fit.facts()["background"]
    assert found["weight"] == pytest.approx(0.02, rel=0.4)
    assert found["scale"] == pytest.approx(scale, rel=0.3)
    assert not fit.fits
    assert fit_of(TWO.sample(10_000, seed=1)).background is None


def test_a_resumed_run_predicts_the_counts_that_were_paid_for():
    """Regions are those of the stored question, whatever would be asked now."""
    curator = pp.Curator.simulation(TWO.sample(10_000, seed=1), pp.ZeroConcentratedDP(0.5), 1)
    cells = Scaling((0.0,) * D, (1.0,) * D).cells(TWO)
    stored, now = (shells_about(cells),), (shells_inside(cells),)
    assert stored != now
    curator.release(JointCounts.priced(stored, ASK.price), ASK.label)
    (found,) = counted(curator, now, TWO, np.random.default_rng(0).normal(size=(40, D)), ASK)
    assert found.partition == stored[0]
    assert np.abs(found.excess).max() < 0.02 * curator.n_rows
