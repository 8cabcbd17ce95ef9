"""Odd rows that lie among a Gaussian's are taken out of its variances, by what is seen of those further out."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._odd_rows import OddRows, odd_rows
from pubpriv.estimators.gaussian._shells import BINS_INSIDE, Histogram, gaussian_end, histogram_edges
from pubpriv.estimators.gaussian.clipping import moment_constants

N, RADIUS, SD = 100_000.0, 4.0, 10.0


def read(odd_shares, share, d=1, sd=SD):
    """What is made of the expected counts of a Gaussian's rows and of such a share of odd ones."""
    edges = np.array(histogram_edges(N, d))
    counts = N * ((1 - share) * gaussian_shares(edges, d, np.ones(1))[0] + share * odd_shares(edges, d))
    beyond = N * share * odd_shares(edges, d)[BINS_INSIDE + 1 :].sum(), sd
    inside = counts[: BINS_INSIDE + 1]
    histogram = Histogram(tuple(edges.tolist()), tuple(counts.tolist()), sd)
    return odd_rows(histogram, inside, d, N - beyond[0], RADIUS, beyond)


def wide(width):
    """Rows so many times as wide."""
    return lambda edges, d: gaussian_shares(edges, d, np.array([width]))[0]


def far(edges, d):
    """Rows twenty sds out."""
    return np.eye(len(edges) + 1)[np.searchsorted(edges, 20.0)]


def near(edges, d):
    """Half of them in the last bin where Gaussian rows lie, half in the next."""
    return np.eye(len(edges) + 1)[[BINS_INSIDE, BINS_INSIDE + 1]].mean(axis=0)


@pytest.mark.parametrize("width", [4.0, 8.0, 15.0])
def test_wide_rows_among_the_others_add_what_their_width_says(width):
    """Hand-made: 2% of them, of which the clip leaves min(|x|, 4)^2, less than a Gaussian row has being put back."""
    found = read(wide(width), 0.02)
    rows = width * np.random.default_rng(1).normal(size=400_000)
    near = np.abs(rows[np.abs(rows) < gaussian_end(N, 1)])
    law = moment_constants(1, RADIUS)
    added = 0.02 / 0.99 * len(near) / len(rows) * (np.minimum(near, RADIUS) ** 2 - law.level).mean() / law.trace
    assert found.seen
    assert found.among == pytest.approx(added, rel=0.12)
    assert 0.15 * added < found.unsure < 0.35 * added


def test_rows_that_lie_together_far_out_add_nothing():
    """None of them lies nearer, and counts say so: what wide rows would add is not in the errors either."""
    found = read(far, 0.01)
    assert found.seen
    assert found.among < 1e-5
    assert found.unsure < 1e-4


def test_of_few_odd_rows_less_is_known():
    """With ten times the noise, the counts agree with widths that differ: the error is larger."""
    assert read(wide(15.0), 0.01, sd=100.0).unsure > 1.5 * read(wide(15.0), 0.01).unsure
    assert read(wide(15.0), 0.001, sd=100.0) == OddRows(seen=False)


def test_the_bulk_is_that_of_clean_rows():
    """Two rows in a hundred are eight times as wide: they made the variance a fifteenth too large."""
    generator = np.random.default_rng(3)
    clean = generator.normal(size=(60_000, 1))
    rows = clean * np.where(generator.random(len(clean)) < 0.02, 8.0, 1.0)[:, None]
    found = pp.estimate_gaussian(rows[:30], pp.Curator.simulation(rows[30:], "zcdp:0.5", seed=1), target="gaussian")
    assert found.converged
    assert found.covariance[0, 0] == pytest.approx(1.0, abs=0.025)
    errors = found.standard_errors["covariance"]
    assert 0.005 < errors["clipping"][0][0] < 0.03


@pytest.mark.long
@pytest.mark.parametrize(("place", "flagged"), [(8.0, True), (20.0, False)])
def test_rows_that_lie_together_at_the_edge_of_the_others_are_told(place, flagged):
    """One in a hundred of five columns: at 8 sds some lie among the others, in a column that lengths do not show."""
    told = []
    for seed in range(3):
        generator = np.random.default_rng([4, seed])
        rows = generator.normal(size=(100_000, 5))
        private = rows + np.outer(generator.random(len(rows)) < 0.01, [place, 0, 0, 0, 0])
        found = pp.estimate_gaussian(rows[:30], pp.Curator.simulation(private, "zcdp:0.5", seed), target="gaussian")
        told.append(any("lie together" in warning for warning in found.diagnostics["warnings"]))
        assert found.converged is not told[-1]
    assert sum(told) >= 2 if flagged else not any(told)


def test_only_rows_that_lie_together_may_be_of_one_column():
    """Wide ones add to all columns alike; and one column leaves nothing open."""
    assert read(wide(4.0), 0.02, d=5).one_column < 1e-3 * read(wide(4.0), 0.02, d=5).among
    assert read(near, 0.01).one_column == 0.0
    assert read(near, 0.01, d=5).one_column > 3 * read(near, 0.01, d=5).among > 0
