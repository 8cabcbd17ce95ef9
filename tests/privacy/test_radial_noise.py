"""Radial noise is drawn from its law, and no float decides anything."""

import numpy as np
import pytest
from flint import ctx
from scipy import stats

from pubpriv.privacy import _radial
from pubpriv.privacy._radial import rounded_radial
from pubpriv.privacy.noise import OperatingSystemNoise, SimulatedNoise

LEVEL = 1e-6


def laplace_p(drawn, scale):
    """Of integers under a Laplace law of this scale, rounded."""
    ends = np.arange(-3 * scale, 3 * scale + 1) + 0.5
    masses = np.diff(stats.laplace(scale=scale).cdf(np.r_[-np.inf, ends, np.inf]))
    found = np.bincount(np.searchsorted(ends, drawn), minlength=len(masses))
    return stats.chisquare(found, masses * len(drawn)).pvalue


@pytest.mark.parametrize(("size", "draws"), [(2, 10_000), (5, 5_000), (40, 2_000)])
def test_lengths_are_gamma_and_directions_uniform(size, draws):
    """In units of scales that differ; a scale that is off by a tenth would be seen.

    A tenth is 0.05, 0.09 and 0.25 of distance between laws of lengths, of which draws so many need 0.027, 0.038 and
    0.06 at this level, five standard deviations less and more.
    """
    scales = [1 << (30 + number % 7) for number in range(size)]
    drawn = np.array([rounded_radial(scales) for _ in range(draws)]) / np.array(scales)
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(size).cdf).pvalue > LEVEL
    assert stats.kstest(1.1 * lengths, stats.gamma(size).cdf).pvalue < LEVEL
    law = stats.beta((size - 1) / 2, (size - 1) / 2)
    for place in (0, size - 1):
        assert stats.kstest((drawn[:, place] / lengths + 1) / 2, law.cdf).pvalue > LEVEL
    assert np.var(drawn) == pytest.approx(size + 1, rel=0.2)


def test_few_bits_change_nothing(monkeypatch):
    """Where eight bits seldom decide, more are added to the same strings: still a rounded Laplace law."""
    asked, known = [], _radial._rounded

    def watched(scales, uniforms, bits):
        asked.append(bits)
        return known(scales, uniforms, bits)

    monkeypatch.setattr(_radial, "_BITS", 8)
    monkeypatch.setattr(_radial, "_GUARD", 4)
    monkeypatch.setattr(
        _radial, "_rounded", lambda scales, uniforms, bits: asked.append(bits) or known(scales, uniforms, bits)
    )
    drawn = np.array([rounded_radial([2])[0] for _ in range(20_000)])
    assert asked.count(16) > 500
    assert laplace_p(drawn, 2) > LEVEL
    assert laplace_p(drawn, 3) < LEVEL


def test_bits_that_are_known_are_kept():
    """More bits of the same uniforms say the same integers."""
    uniforms = [0x9E3779B97F4A7C15F39CC0605CEDC834 >> shift for shift in range(6)]
    scales, few = [1 << 40, 3], _radial._rounded([1 << 40, 3], uniforms[:4], 128)
    assert few is not None
    for rest in (0, (1 << 128) - 1):
        assert _radial._rounded(scales, [(known << 128) | rest for known in uniforms[:4]], 256) == few


def test_a_tie_or_an_infinite_value_is_not_decided():
    """A uniform that may be zero has an infinite logarithm: more bits are asked for."""
    assert _radial._rounded([5], [0, 1 << 7, 1 << 7], 8) is None
    assert _radial._rounded([1 << 60], [3 << 6, 1 << 5, 1 << 7], 8) is None


def test_the_precision_of_the_process_is_put_back():
    """Others may use the library too."""
    before, ctx.prec = ctx.prec, 77
    rounded_radial([10, 10])
    assert ctx.prec == 77
    ctx.prec = before


@pytest.mark.parametrize("scales", [[], [0], [-1], [1.0], [True, 3]])
def test_scales_are_positive_integers(scales):
    """Nothing else has a law."""
    with pytest.raises(ValueError, match="positive integer"):
        rounded_radial(scales)


def test_sources_draw_what_is_asked_for():
    """The system's and the simulated one: a vector of scales, saturated where int64 ends; another size is refused."""
    for source in (OperatingSystemNoise(), SimulatedNoise(0)):
        drawn = np.array([source.draw(f"a{i}", "b", (1 << 30, 1 << 40), 2) for i in range(1500)]) / (2.0**30, 2.0**40)
        assert drawn.shape == (1500, 2)
        assert stats.kstest(np.linalg.norm(drawn, axis=1), stats.gamma(2).cdf).pvalue > LEVEL
    huge = [int(OperatingSystemNoise().draw("a", "b", (1 << 70,), 1)[0]) for _ in range(50)]
    assert {-(1 << 63), (1 << 63) - 1} & set(huge)
    with pytest.raises(ValueError, match="each coordinate"):
        OperatingSystemNoise().draw("a", "b", (5, 5), 1)


@pytest.mark.slow
def test_many_draws_at_a_small_scale():
    """Two coordinates of scales 1 and 3: the masses of a grid of squares, integrated apart."""
    from scipy.integrate import dblquad

    drawn = np.array([rounded_radial([1, 3]) for _ in range(400_000)])
    cells = [(a, b) for a in range(-1, 2) for b in range(-3, 4)]
    density = lambda v, u: np.exp(-np.hypot(u, v / 3)) / (2 * np.pi * 3)  # noqa: E731
    masses = [dblquad(density, a - 0.5, a + 0.5, b - 0.5, b + 0.5, epsabs=1e-9)[0] for a, b in cells]
    found = [int(((drawn[:, 0] == a) & (drawn[:, 1] == b)).sum()) for a, b in cells]
    found, masses = [*found, len(drawn) - sum(found)], [*masses, 1 - sum(masses)]
    assert stats.chisquare(found, np.array(masses) * len(drawn)).pvalue > LEVEL


@pytest.mark.slow
def test_ten_million_coordinates_follow_their_law():
    """Lengths of vectors of a thousand coordinates, and the law of all of them."""
    drawn = np.array([rounded_radial([1 << 35] * 1000) for _ in range(10_000)]) / 2.0**35
    assert stats.kstest(np.linalg.norm(drawn, axis=1), stats.gamma(1000).cdf).pvalue > LEVEL
    assert np.var(drawn) == pytest.approx(1001, rel=0.01)
    law = stats.beta(999 / 2, 999 / 2)
    along = drawn[:, 17] / np.linalg.norm(drawn, axis=1)
    assert stats.kstest((along + 1) / 2, law.cdf).pvalue > LEVEL
