"""The target `auto` takes a Gaussian's shape where rows are a Gaussian's, and nowhere else, at one plan of prices."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi

import pubpriv as pp
from benchmarks.learner import SETTINGS, Setting, measure, world
from benchmarks.tables import HEALTH, LOGGED, Row, cells, measured
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.frames import Frame
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian._cutting import cut
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import Histogram, histogram_edges

HALF = pp.ZeroConcentratedDP(0.5)


def histogram(lengths, n, d, sd):
    """A released histogram of `lengths`, without noise, told with noise `sd`."""
    edges = histogram_edges(n, d)
    counts = np.histogram(lengths, [0.0, *edges, np.inf])[0]
    return Histogram(edges, tuple(counts.astype(float).tolist()), sd)


def divided(found, n, d, may_be_gaussian=True):
    """The cut of a histogram, for public rows that say nothing."""
    return cut(found, Frame((0.0,) * d), n, 0.3, may_be_gaussian, PublicShape())


def automatic(setting, seed, **options):
    """An estimate of one simulated run under `auto`."""
    drawn = world(setting, seed)
    return pp.estimate_gaussian(drawn.public, pp.Curator.simulation(drawn.private, HALF, seed), **options)


@pytest.mark.long
@pytest.mark.parametrize("d", [1, 3, 10, 40])
def test_exact_histograms_decide_rightly(d):
    """Chi-distributed lengths of a scale that is a little off are a Gaussian's; those of t with 4 degrees are not."""
    n, generator = 20_000, np.random.default_rng(d)
    lengths = chi.ppf((np.arange(n) + 0.5) / n, d)
    for scale in (1.0, 0.9, 1.1):
        assert divided(histogram(scale * lengths, n, d, 6.0), n, d).gaussian
    heavy = lengths / np.sqrt(generator.chisquare(4, n) / 4)
    found = divided(histogram(heavy, n, d, 6.0), n, d)
    assert not found.gaussian
    assert from_json(to_json(found)) == found
    assert not divided(histogram(lengths, n, d, 6.0), n, d, may_be_gaussian=False).gaussian


def test_the_core_holds_three_rows_in_four_where_no_gaussian_is():
    """Its edge is the first of the histogram within which so many lie; shells are clipped where few rows are lost."""
    n, d = 10_000, 2
    lengths = np.random.default_rng(0).pareto(2.0, n)
    found = divided(histogram(lengths, n, d, 6.0), n, d)
    assert 0.75 <= (lengths <= found.edges[0]).mean() < 0.83
    ends, radii = np.array(found.edges), np.array(found.radii[:-1])
    assert radii[0] == ends[0]
    assert (ends[:-1] <= radii[1:]).all()
    assert (radii[1:] <= ends[1:] * (1 + 1e-12)).all()
    rows = np.array([((near < lengths) & (lengths <= far)).sum() for near, far in pairwise(ends)])
    assert (radii[1:3] > 0.8 * ends[1:3]).all()  # rows would lose too much
    assert rows[:2].min() > 100
    assert (radii[1:][rows == 0] < 0.9 * ends[1:][rows == 0]).all()
    assert found.radii[-1] == 1.5 * found.edges[-1]


def test_gaussian_rows_are_taken_for_a_gaussian():
    """(10, 1e4), five runs: a Gaussian's shape each time, moments all the same, the whole plan spent."""
    for seed in range(5):
        estimate = automatic(Setting(10_000, 10), seed)
        assert estimate.diagnostics["target"] == "moments"
        assert estimate.diagnostics["shape"] == "gaussian"
        assert estimate.converged
        charges = estimate.privacy["charges"]
        assert [charge["label"] for charge in charges] == estimate.diagnostics["rounds"]
        assert estimate.diagnostics["rounds"][-1] == "gaussian/final"


def test_both_branches_pay_the_same():
    """Prices are fixed before the run: a Gaussian and a lognormal table of one size have the same bill."""
    setting = Setting(4_000, 3)
    drawn = world(setting, 1)
    bills = []
    for rows, public in ((drawn.private, drawn.public), (np.exp(drawn.private), np.exp(drawn.public))):
        estimate = pp.estimate_gaussian(public, pp.Curator.simulation(rows, HALF, 1))
        bills.append([(c["label"], c["cost"]) for c in estimate.privacy["charges"]])
        assert estimate.diagnostics["shape"] == ("gaussian" if rows is drawn.private else "as released")
    assert [label for label, _ in bills[0]] == [label for label, _ in bills[1]]
    assert bills[0][:-1] == bills[1][:-1]


def test_units_do_not_matter():
    """Rows in other units: the same verdict, the estimate in those units."""
    drawn, units = world(Setting(4_000, 3), 2), np.array([1e-6, 1.0, 1e9])
    plain, scaled = (
        pp.estimate_gaussian(drawn.public * u, pp.Curator.simulation(drawn.private * u, HALF, 3)) for u in (1.0, units)
    )
    assert scaled.diagnostics["shape"] == plain.diagnostics["shape"] == "gaussian"
    assert np.allclose(scaled.covariance / np.outer(units, units), plain.covariance, rtol=1e-3, atol=1e-3)


def test_too_few_rows_are_refused_before_anything_is_spent():
    """Below the line of feasibility nothing is charged; force runs and says so."""
    drawn = world(Setting(150, 3), 1)
    curator = pp.Curator.simulation(drawn.private, HALF, 1)
    with pytest.raises(InvalidInput, match="too few"):
        pp.estimate_gaussian(drawn.public, curator)
    assert not curator.statement().charges
    forced = pp.estimate_gaussian(drawn.public, pp.Curator.simulation(drawn.private, HALF, 1), force=True)
    assert not forced.converged
    assert any("too few private rows" in text for text in forced.diagnostics["warnings"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "median"}, "auto, gaussian, moments"),
        ({"target": "moments", "method": "algorithm-2"}, "algorithm-2 estimates a Gaussian"),
        ({"target": "gaussian", "scale": {"x0": 1.0}}, "moments or auto"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words):
    """With the names that do."""
    with pytest.raises(InvalidInput, match=words):
        automatic(Setting(2_000, 3), 1, **options)


@pytest.mark.slow
def test_auto_costs_little_on_gaussian_data():
    """(10, 1e4), 200 runs: `gaussian` in 99 of 100, and at most 2% more error than the target `gaussian` itself."""
    setting = SETTINGS["10-1e4"][0]
    chosen = []

    def automatically(drawn, curator):
        estimate = pp.estimate_gaussian(drawn.public, curator)
        chosen.append(estimate.diagnostics["shape"])
        return estimate

    ours = measure(setting, automatically, "zcdp:0.5", 200)
    best = measure(setting, lambda w, c: pp.estimate_gaussian(w.public, c, target="gaussian"), "zcdp:0.5", 200)
    assert chosen.count("gaussian") >= 198
    assert ours["ratio"] <= 1.02 * best["ratio"]
    assert ours["bad"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["person", "person-year"])
@pytest.mark.parametrize("columns", [HEALTH, LOGGED])
def test_auto_knows_the_health_table(unit, columns):
    """RAND HIE at rho 0.5: `moments` in twenty draws of twenty."""
    row = Row(unit, columns, "zcdp:0.5", None)
    assert measured(row, cells(row, None), 20, "auto")["moments"] == 20
    assert math.isfinite(measured(row, cells(row, None), 1, "moments")["error"])
