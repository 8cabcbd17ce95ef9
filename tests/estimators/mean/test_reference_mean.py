"""The published estimators: as their authors wrote them, good where they say so, and bad where ours is not."""

import math

import numpy as np
import pytest
from scipy.stats import trim_mean

import pubpriv as pp
from benchmarks.figure1 import CURVES, bench
from pubpriv.estimators.gaussian.clipping import tail_bound
from pubpriv.estimators.mean._reference import _coinpress_shares

HALF = pp.ZeroConcentratedDP(0.5)


def rows(n=1000, d=20, k=1000.0, seed=0):
    """(public row, private rows) of N(k (1, ..., 1), I)."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((1, d)) + k, generator.standard_normal((n, d)) + k


def fit(public, private, seed=1, **options):
    return pp.estimate_mean(public, pp.Curator.simulation(private, HALF, seed), **options)


def ratio(runs=20, n=1000, d=20, k=1000.0, **options):
    """Error over the non-private one, trimmed means."""
    ours, best = [], []
    for seed in range(runs):
        public, private = rows(n, d, k, seed)
        ours.append(np.linalg.norm(fit(public, private, seed, **options).mean - k))
        best.append(np.linalg.norm(private.mean(axis=0) - k))
    return trim_mean(ours, 0.1) / trim_mean(best, 0.1)


def authors_coinpress(private, center, radius, shares, draw):
    """`multivariate_mean_iterative` of the authors' code, with the noise drawn by `draw(sd, d)`; and its thresholds."""
    n, d = private.shape
    thresholds = []
    for share in shares:
        gamma = math.sqrt(d + 2 * (d * math.log(1 / 0.01)) ** 0.5 + 2 * math.log(1 / 0.01))
        clip = min((radius**2 + 2 * radius * 3 + gamma**2) ** 0.5, radius + gamma)
        moved = private - center
        norms = np.linalg.norm(moved, axis=1)
        outside = norms > clip
        moved[outside] *= (clip / norms[outside])[:, None]
        sd = 2 * clip / n / (2 * share) ** 0.5
        center = (center + moved).sum(axis=0) / n + draw(sd, d)
        radius = (1 / n + sd**2) ** 0.5 * gamma
        thresholds.append(clip)
    return center, thresholds


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_coinpress_is_its_authors_code(rounds):
    """The same thresholds, and the same mean but for the noise, whose size is the same too."""
    public, private = rows()
    ball = np.zeros(20), 1000 * math.sqrt(20)
    shares = [0.5 * float(share) for share in _coinpress_shares(rounds).values()]
    theirs, thresholds = authors_coinpress(private, *ball, shares, lambda _, d: np.zeros(d))
    ours = fit(public, private, method="coinpress", ball=ball, rounds=rounds)
    assert ours.diagnostics["clip_radii"] == pytest.approx(thresholds, rel=1e-3)  # the grid costs 5e-5
    noise = ours.standard_errors["mean"]["privacy"][0]
    assert noise == pytest.approx(2 * thresholds[-1] / 1000 / math.sqrt(2 * shares[-1]), rel=2e-3)
    assert np.abs(ours.mean - theirs).max() < 6 * noise


def test_coinpress_pays_its_authors_shares():
    """A quarter and three quarters at two rounds; at four, a twelfth thrice."""
    public, private = rows()
    for rounds, expected in ((2, [0.25, 0.75]), (4, [1 / 12] * 3 + [0.75])):
        curator = pp.Curator.simulation(private, HALF, 1)
        estimate = pp.estimate_mean(public, curator, method="coinpress", rounds=rounds)
        costs = [float(str(line["cost"]).split()[0]) for line in estimate.privacy["charges"]]
        assert np.array(costs) / 0.5 == pytest.approx(np.array(expected), rel=1e-6)


@pytest.mark.slow
def test_coinpress_needs_many_rounds_for_a_wide_ball_and_few_with_a_public_row():
    """k = 1000: t = 2 is far off, t = 10 is not, and one public row makes t = 2 do; ours is better than all (1 s)."""
    ball = np.zeros(20), 1000 * math.sqrt(20)
    two, ten = (ratio(method="coinpress", ball=ball, rounds=rounds) for rounds in (2, 10))
    public = ratio(method="coinpress")
    assert two > 4 > 1.3 > ten
    assert public < 1.3
    assert ratio() < min(ten, public)


@pytest.mark.parametrize("method", ["clip-and-noise", "coinpress"])
def test_published_methods_say_when_the_public_row_is_far_off(method):
    """Ten deviations off, they return numbers at the edge of their clip; with rows of one law they say nothing."""
    public, private = rows(5000, 5)
    assert fit(public, private, method=method).converged
    off = fit(public + 10, private, method=method)
    assert not off.converged
    assert "further than 1 public rows" in off.diagnostics["warnings"][0]


def test_a_ball_takes_the_place_of_the_public_rows():
    """With a ball, other public rows change nothing; without it they do."""
    public, private = rows()
    ball = np.full(20, 999.0), 20.0
    with_ball = [fit(p, private, method="coinpress", ball=ball).mean for p in (public, public + 1)]
    without = [fit(p, private, method="coinpress").mean for p in (public, public + 1)]
    assert with_ball[0].tobytes() == with_ball[1].tobytes()
    assert without[0].tobytes() != without[1].tobytes()


def test_clip_and_noise_costs_what_its_radius_says():
    """One question at lambda(d, 0.005) + lambda(d, 0.005 / n): no row is clipped, all the error is the noise."""
    n, d = 1000, 20
    radius = tail_bound(d, 0.005) + tail_bound(d, 0.005 / n)
    predicted = math.sqrt(1 + (2 * radius) ** 2 / n / (2 * 0.5))
    estimate = fit(*rows(n, d), method="clip-and-noise")
    assert [line["label"] for line in estimate.privacy["charges"]] == ["mean/step-1"]
    assert estimate.diagnostics["clip_radii"] == [radius]
    assert ratio(runs=40, n=n, d=d, method="clip-and-noise") == pytest.approx(predicted, rel=0.1)


@pytest.mark.parametrize(("d", "beta"), [(1, 0.01), (10, 0.1), (50, 0.01)])
def test_the_tail_bound_holds(d, beta):
    """Claim 2.1: |z| exceeds it with probability at most beta, by chi-square's exact tail."""
    from scipy.stats import chi2

    assert 0 < chi2.sf(tail_bound(d, beta) ** 2, d) <= beta


@pytest.mark.slow
def test_figure_1_is_drawn_with_all_its_curves(tmp_path):
    """Two sizes at four trials: every panel has every curve, ours lies between its neighbours at n = 100 (2 s)."""
    found = bench(4, tmp_path / "figure1.svg", sizes=(1000, 1500), small=(100, 150))
    assert [len(panel) for panel in found["panels"].values()] == [2, 2, 2, 2]
    small = found["panels"]["k = 1000, small n"][0]
    assert set(CURVES) <= set(small)
    assert small["non_private"][0] < small["ours"][0] < small["one_public"][0] < small["coinpress_best"][0]
    drawing = (tmp_path / "figure1.svg").read_text()
    assert drawing.startswith("<svg")
    assert all(label in drawing for label, _, _ in CURVES.values())
