"""Where rows are taken for a Gaussian's: the clip follows their scale, and intervals what the histogram cannot see."""

import numpy as np
import pytest

from pubpriv.estimators.gaussian.clipping import best_moment_radius, widest_moment_radius
from pubpriv.estimators.gaussian.learner import ClippedMoments
from pubpriv.estimators.gaussian.shells import Histogram, cut, gaussian_shares, histogram_edges
from pubpriv.estimators.gaussian.tail_unseen import unseen_tail

D, N, RADIUS = 1, 2000.0, 2.5


def histogram(scale, sd=4.0, more=0.0):
    """Expected counts of Gaussian rows of that scale, and `more` rows between 3.1 and 3.7 scales instead of within."""
    edges = histogram_edges(N, D)
    counts = N * gaussian_shares(np.array(edges), D, np.array([scale]))[0]
    at = int(np.searchsorted(edges, 3.3 * scale))
    counts[at] += more
    counts[int(np.argmax(counts))] -= more
    return Histogram(edges, tuple(counts.tolist()), sd)


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.4])
def test_the_clip_follows_the_scale_of_the_histogram(scale):
    """The rounds may leave a scale that is off; radius and core follow the rows."""
    found = cut(histogram(scale), D, N, RADIUS, True)
    assert found.gaussian
    assert found.scale == pytest.approx(scale, rel=0.02)
    assert found.radii[0] == pytest.approx(RADIUS * scale, rel=0.02)
    assert found.edges[0] == pytest.approx(cut(histogram(1.0), D, N, RADIUS, True).edges[0] * scale, rel=0.12)


def test_the_scale_is_one_where_a_gaussian_must_not_be_used():
    """The core is not debiased there."""
    assert cut(histogram(1.4), D, N, RADIUS, False).scale == 1.0


def test_moments_at_a_scale_are_those_of_rows_over_it():
    """Every number has the power of the scale that its unit says."""
    from pubpriv.data.frames import Frame

    moments = ClippedMoments(Frame((5.0,)), N, 3.0, np.array([0.2]), np.array([[2.0]]), 0.01, 0.02)
    found = moments.at_scale(2.0)
    assert (found.radius, found.mean[0], found.second[0, 0], found.mean_sd, found.moment_sd) == (
        (1.5, 0.1, 0.5, 0.005, 0.005)
    )
    assert found.frame.dense()[1][0, 0] == pytest.approx(0.5, rel=1e-6)


def test_errors_grow_with_noise_and_with_the_tail_that_was_counted():
    """Noise hides more of a tail; rows beyond what a Gaussian has say that there is one."""
    quiet, noisy = histogram(1.0, sd=0.5), histogram(1.0, sd=8.0)
    heavy = histogram(1.0, sd=8.0, more=12.0)
    where = cut(quiet, D, N, RADIUS, True)
    mean, variance = unseen_tail(quiet, where, D, N)
    assert 0 < mean < variance < 0.003
    assert unseen_tail(noisy, where, D, N)[1] > 3 * variance
    assert unseen_tail(heavy, where, D, N)[1] > 2 * unseen_tail(noisy, where, D, N)[1]


def test_a_wider_clip_costs_what_it_may():
    """It is the largest: a little more would cost more than allowed; nothing allowed is the best radius."""
    best, wide = best_moment_radius(500, 1, 0.3), widest_moment_radius(500, 1, 0.3, 1.05)
    assert 1.1 * best < wide < 1.6 * best
    assert widest_moment_radius(500, 1, 0.3, 1.0) == pytest.approx(best, rel=0.05)
