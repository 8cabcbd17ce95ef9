"""Where rows are taken for a Gaussian's: which tails are believed in, and what clip, estimate and errors follow."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import t as student

import pubpriv as pp
from benchmarks import intervals
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lengths import gaussian_shares, length_quantile
from pubpriv.estimators.gaussian._cutting import cut
from pubpriv.estimators.gaussian._learner import ClippedMoments
from pubpriv.estimators.gaussian._long_columns import column_odds, long_columns
from pubpriv.estimators.gaussian._public_shape import PublicShape, public_shape
from pubpriv.estimators.gaussian._rounding import lattice_shift
from pubpriv.estimators.gaussian._shells import BINS_INSIDE, Histogram, histogram_edges
from pubpriv.estimators.gaussian.clipping import best_moment_radius, unclip_variances, variance_error
from pubpriv.estimators.gaussian.tail_belief import Correction, believe, best_radius
from pubpriv.estimators.gaussian.tail_laws import TailLaw, tail_laws

D, N, RHO = 1, 2000.0, 0.3
LINE = Frame((0.0,) * D)
QUANTILES = (np.arange(40_000) + 0.5) / 40_000


def histogram(scale=1.0, sd=4.0):
    """Expected counts of Gaussian rows of that scale."""
    edges = histogram_edges(N, D)
    return Histogram(edges, tuple((N * gaussian_shares(np.array(edges), D, np.array([scale]))[0]).tolist()), sd)


def heavy(sd=4.0):
    """Counts of N rows of a t with five degrees of freedom, in its own standard deviations."""
    edges = histogram_edges(N, D)
    lengths = np.abs(student.ppf(QUANTILES, 5)) / np.sqrt(5 / 3)
    counts = np.histogram(lengths, [0.0, *edges, np.inf])[0] * N / len(QUANTILES)
    return Histogram(edges, tuple(counts.tolist()), sd)


def divided(found, may_be_gaussian=True):
    """The cut of a histogram, for public rows that say nothing."""
    return cut(found, LINE, N, RHO, may_be_gaussian, PublicShape())


def believed(found, odds=()):
    """Weights of the laws, by the whole histogram."""
    return believe(found, D, N, len(found.counts), np.zeros(len(found.counts)), PublicShape(odds))[0]


@pytest.mark.parametrize("d", [1, 5])
def test_laws_have_the_moments_that_they_say(d):
    """Variances 1; within all lengths all rows; tables that grow; the Gaussian first, and exact."""
    laws = tail_laws(d)
    assert laws[0].excess == 0
    edges = np.array([0.5, 1.0, 2.0, 4.0])
    assert np.allclose(laws[0].shares(edges, np.ones(1)), gaussian_shares(edges, d, np.ones(1)), atol=1e-3)
    for law in laws:
        assert law.within[-1] == pytest.approx(1.0, abs=1e-3)
        assert law.held_within(1e9) == pytest.approx(1.0, abs=0.03)
        assert (np.diff(law.within) >= 0).all()


def test_a_law_is_recognised_by_its_clipped_moments():
    """Rows of a t, clipped and debiased as a Gaussian's, have the true variance after the correction of their law."""
    law = next(own for own in tail_laws(1)[7:] if own.excess == 8.0)
    freedom = 4 + 6 / law.excess
    rows = student.ppf(QUANTILES, freedom) / np.sqrt(freedom / (freedom - 2))
    scale, radius, end = 0.85, 2.5, 4.0
    inside = rows[np.abs(rows) <= end * scale] / scale
    clipped = (np.minimum(np.abs(inside), radius) ** 2).sum() / len(rows)
    own = unclip_variances(np.array([clipped]), radius, 1e-3)[0] * scale**2
    weights = np.array([float(other is law) for other in tail_laws(1)])
    found = Correction.of(weights, np.zeros((1, 0)), radius / np.sqrt(own) * scale, end / np.sqrt(own) * scale, True)
    assert own < 0.9
    assert own * found.factor == pytest.approx(1.0, abs=0.04)
    assert found.excess == law.excess
    assert found.shift == 0


@pytest.mark.parametrize("d", [5, 20])
def test_the_interval_of_a_long_column_holds_whichever_it_is(d):
    """One column is long, and nobody knows which: that it is this one is hardly likely of any, the long one too."""
    radius, end = 1.05 * np.sqrt(d), 1.6 * np.sqrt(d)
    law, weights, long = long_columns(d)[2], np.zeros(len(tail_laws(d))), np.zeros((d, len(long_columns(d))))
    weights[0], long[:, 2] = 0.1, 0.9 / d
    found = Correction.of(weights, long, radius, end, True)
    off = law.factors(d, radius, end, True)[0] - found.factor
    assert (off > 0.05).all()
    assert (off < 2 * found.sd).all()


@pytest.mark.parametrize("d", [2, 20])
def test_clipped_rows_with_one_long_column_are_made_up_for(d):
    """Rows drawn with one long column and clipped: what is debiased as a Gaussian's, times its factor, is 1."""
    law = long_columns(d)[2]
    rows = np.random.default_rng(642).standard_normal((200_000, d))
    rows[:, 0] = student.ppf((np.arange(len(rows)) + 0.5) / len(rows), 5.5) / np.sqrt(5.5 / 3.5)
    radius, end = length_quantile(d, 0.99), length_quantile(d, 0.9999)
    lengths = np.linalg.norm(rows, axis=1)
    clipped = (rows * np.minimum(1, radius / lengths)[:, None])[lengths <= end]
    found = unclip_variances((clipped**2).sum(axis=0) / len(rows), radius, 1e-3)
    own, other = law.factors(d, radius, end, True)
    assert found[0] < 0.98
    assert found[0] * own == pytest.approx(1.0, abs=0.01)
    assert found[1:].mean() * other == pytest.approx(1.0, abs=0.01)
    shares = law.lengths.shares(np.array([radius, end]), np.ones(1))[0]
    assert shares[1] == pytest.approx(((lengths > radius) & (lengths <= end)).mean(), abs=0.001)


def test_public_rows_show_which_column_may_be_long():
    """The exponential column is taken for a lognormal one, whichever way it leans; Gaussian ones for no long one."""
    rows = np.random.default_rng(643).standard_normal((60, 4))
    rows[:, 1] = -np.random.default_rng(644).exponential(size=60)
    odds = column_odds(rows)
    assert odds[1].max() > 5
    assert np.delete(odds, 1, axis=0)[:, -1].max() < -3


def test_the_histogram_tells_a_gaussian_from_heavier_laws():
    """Each is believed in on its own counts; noise blurs them; public rows help, up to a bound."""
    assert believed(histogram(sd=1.0))[0] > 0.8
    assert believed(heavy(sd=1.0))[0] < 0.01
    blurred = believed(heavy(sd=20.0))[0]
    assert blurred > 0.1
    against = (0.0, *[100.0] * (len(tail_laws(D)) - 1))
    assert 0.001 < believed(heavy(sd=20.0), against)[0] < blurred / 3


def test_the_clip_follows_scale_and_tail():
    """A scale that is off moves clip and core; where the tail is in doubt the clip is further out than is best."""
    plain = divided(histogram(1.0))
    assert plain.gaussian
    assert sum(plain.laws) == pytest.approx(1.0)
    assert plain.radii[0] >= 0.99 * best_moment_radius(int(N), D, RHO)
    for scale in (0.7, 1.4):
        found = divided(histogram(scale))
        assert found.scale == pytest.approx(scale, rel=0.02)
        assert found.radii[0] == pytest.approx(plain.radii[0] * scale, rel=0.1)
        assert found.edges[0] == pytest.approx(plain.edges[0] * scale, rel=0.12)
    doubtful = divided(heavy(sd=12.0))
    assert doubtful.gaussian
    assert doubtful.radii[0] / doubtful.scale > 1.2 * plain.radii[0]


def test_nothing_is_believed_where_a_gaussian_must_not_be_used():
    """The core is neither scaled nor corrected there."""
    found = divided(histogram(1.4), may_be_gaussian=False)
    assert (found.gaussian, found.scale, found.laws) == (False, 1.0, ())


def test_moments_at_a_scale_are_those_of_rows_over_it():
    """Every number has the power of the scale that its unit says."""
    moments = ClippedMoments(Frame((5.0,)), N, 3.0, np.array([0.2]), np.array([[2.0]]), 0.01, 0.02)
    found = moments.at_scale(2.0)
    assert (found.radius, found.mean[0], found.second[0, 0], found.mean_sd, found.moment_sd) == (
        (1.5, 0.1, 0.5, 0.005, 0.005)
    )
    assert found.frame.dense()[1][0, 0] == pytest.approx(0.5, rel=1e-6)


def test_public_rows_speak_for_their_law():
    """Thirty t rows make heavy tails likelier, thirty Gaussian ones do not; too few say nothing."""
    generator = np.random.default_rng(3)
    normal, long = generator.standard_normal((60, 2)), generator.standard_t(2.5, (60, 2))
    assert max(public_shape(PublicTable.open(long), True).odds) > 3
    assert max(public_shape(PublicTable.open(normal), True).odds) < 1
    assert public_shape(PublicTable.open(normal[:3]), True).odds == ()


def test_a_lattice_moves_counts_to_where_its_points_are():
    """Whole numbers of sd 2: lengths are multiples of a half, and shares are those of rounded rows."""
    frame, edges = Frame((0.0,), None, (0.5,)), np.array([0.2, 0.4, 0.6, 0.9, 1.1, 3.2])
    rounded = np.abs(np.rint(2 * np.random.default_rng(1).standard_normal(200_000))) / 2
    shares = np.histogram(rounded, [0.0, *edges, np.inf])[0] / len(rounded)
    shift = lattice_shift(frame, PublicShape((), (3.0,), (1.0,)), edges, 1.0)
    assert np.allclose(gaussian_shares(edges, 1, np.ones(1))[0] + shift, shares, atol=0.004)
    assert not lattice_shift(frame, PublicShape((), (3.0,), (0.0,)), edges, 1.0).any()


@pytest.mark.long
def test_whole_numbers_are_no_cause_for_alarm():
    """Five hundred whole numbers of sd 2 in one column: twelve runs, each a Gaussian's, none flagged."""
    generator = np.random.default_rng(5)
    for seed in range(12):
        private, public = (
            np.rint(2 * generator.standard_normal((500, 1))),
            np.rint(2 * generator.standard_normal((30, 1))),
        )
        found = pp.estimate_gaussian(public, pp.Curator.simulation(private, pp.parse_budget("zcdp:0.5"), seed))
        assert found.converged
        assert found.diagnostics["shape"] == "gaussian"


@pytest.mark.parametrize(("law", "seed"), [("gaussian", 860000), ("poisson-20", 860030), ("poisson-20", 860051)])
def test_a_column_that_is_doubted_is_no_cause_for_alarm(law, seed):
    """Thirty public rows make one of five columns look long: its interval holds that, the run believes it is not so."""
    assert not intervals.measured(intervals.Task("gaussian", law, 500, 5, 30, "zcdp:0.5", seed))["flagged"]


@pytest.mark.slow
def test_intervals_of_few_rows_hold_the_variance_of_a_t():
    """(5 columns, 500 rows), t with five degrees: 4 in 5 of 60 intervals hold it; as a Gaussian's, half of them did."""
    generator, held = np.random.default_rng(6), []
    for seed in range(12):
        rows = generator.standard_t(5, (530, 5))
        found = pp.estimate_gaussian(rows[:30], pp.Curator.simulation(rows[30:], pp.parse_budget("zcdp:0.5"), seed))
        errors = np.sqrt(sum(np.diag(part) ** 2 for part in found.standard_errors["covariance"].values()))
        held.append(np.abs(np.diag(found.covariance) - 5 / 3) < 1.96 * errors)
    assert np.mean(held) > 0.8


def with_a_long_column(n, generator, columns=20):
    """Rows of Gaussian columns, the first of which is exponential; all of variance 1."""
    rows = generator.standard_normal((n, columns))
    rows[:, 0] = generator.exponential(size=n)
    return rows


@pytest.mark.long
def test_one_long_column_among_many_is_not_clipped_as_a_gaussians():
    """Its rows are no longer than others of twenty columns, but more of them are far out in it."""
    held = 0
    for seed in range(6300, 6306):
        generator = np.random.default_rng(seed)
        public, private = (with_a_long_column(n, generator) for n in (100, 5000))
        found = pp.estimate_gaussian(public, pp.Curator.simulation(private, "zcdp:0.5", seed))
        parts = found.standard_errors["covariance"].values()
        error = np.sqrt(sum(np.asarray(part)[0, 0] ** 2 for part in parts))
        held += abs(found.covariance[0, 0] - 1) < 1.96 * error
    assert held >= 5


@pytest.mark.slow
def test_one_long_column_that_hardly_shows_widens_intervals():
    """A t among five columns: 9 of 12 intervals hold its variance; 4 did while laws were alike in all columns."""
    generator, held = np.random.default_rng(645), []
    for seed in range(12):
        rows = generator.standard_normal((5_030, 5))
        rows[:, 0] = generator.standard_t(5, len(rows))
        found = pp.estimate_gaussian(rows[:30], pp.Curator.simulation(rows[30:], pp.parse_budget("zcdp:0.5"), seed))
        error = np.sqrt(sum(part[0, 0] ** 2 for part in found.standard_errors["covariance"].values()))
        held.append(abs(found.covariance[0, 0] - 5 / 3) < 1.96 * error)
    assert np.mean(held) > 0.6


def test_many_public_rows_are_asked_in_part():
    """A hundred thousand would take gigabytes to say what five hundred of all of them say."""
    rows = with_a_long_column(2_000, np.random.default_rng(67), columns=3)
    odds = column_odds(rows)
    assert np.array_equal(odds, column_odds(rows[::4]))
    assert odds[0].max() > 3 > odds[1:].max()


def test_a_column_that_may_be_long_costs_gaussian_rows_little():
    """The clip went so far out for it that errors of all twenty columns grew by a twelfth."""
    d, n = 20, 5000.0
    end = histogram_edges(n, d)[BINS_INSIDE]
    weights, long = np.zeros(len(tail_laws(d))), np.full((d, len(long_columns(d))), 0.2 / d / len(long_columns(d)))
    weights[0] = 0.8
    clip = partial(best_radius, n=n, rho=RHO, least=best_moment_radius(int(n), d, RHO), end=end)
    plain, radius = clip(weights / 0.8, 0 * long), clip(weights, long)
    assert plain < radius
    assert variance_error(n, d, RHO, radius) <= 1.05 * variance_error(n, d, RHO, plain)


def test_laws_are_looked_at_once_for_each_clip_radius_that_is_tried(monkeypatch):
    """With and without long columns the same numbers are weighed: 16 radii, each law once; it was twice."""
    looked, scale_at = [], TailLaw.scale_at
    monkeypatch.setattr(TailLaw, "scale_at", lambda law, *places: looked.append(law) or scale_at(law, *places))
    weights, long = np.full(len(tail_laws(3)), 0.9 / len(tail_laws(3))), np.full((3, len(long_columns(3))), 0.003)
    assert 2.5 <= best_radius(weights, long, N, RHO, 2.5, 6.0) <= 6.0
    assert len(looked) == 16 * len(tail_laws(3))


@pytest.mark.slow
def test_twenty_gaussian_columns_have_intervals_of_their_own_width():
    """Each may be long by prior weight alone: intervals of one table in three were two to seven times as wide."""
    widths = []
    for seed in range(12):
        rows = np.random.default_rng(seed).standard_normal((2060, 20))
        found = pp.estimate_gaussian(rows[:60], pp.Curator.simulation(rows[60:], "zcdp:0.5", seed))
        parts = {name: np.diag(np.asarray(errors)) for name, errors in found.standard_errors["covariance"].items()}
        own = np.hypot(parts["sampling"], parts["privacy"])
        widths.append(float(np.median(np.hypot(own, parts["clipping"]) / own)))
    assert np.median(widths) < 1.1
    assert np.mean(widths) < 1.4


def test_a_scale_between_two_tried_ones_is_a_gaussians():
    """Lengths of 100,000 rows of 20 columns determine their scale far better than to the hundredth part of it."""
    d, n = 20, 100_000.0
    edges = histogram_edges(n, d)
    for scale in (1.005, 0.9925, 1.01):
        counts = n * gaussian_shares(np.array(edges), d, np.array([scale]))[0]
        found = cut(Histogram(edges, tuple(counts.tolist()), 6.0), Frame((0.0,) * d), n, 0.4, True, PublicShape())
        assert found.gaussian
        assert found.scale == pytest.approx(scale, abs=1e-4)
        assert found.laws[0] > 0.8
