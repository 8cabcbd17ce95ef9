"""The bounded search gives the bits of scipy's, which it stands in for."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pubpriv.estimators.gaussian import clipping
from pubpriv.estimators.gaussian.clipping import _bounded_minimum

FUNCTIONS = {
    "parabola": lambda x, a: (x - a) ** 2,
    "kink": lambda x, a: abs(x - a) + 0.1 * x * x,
    "waves": lambda x, a: math.sin(3 * x + a) + 0.01 * x * x,
    "flat": lambda x, a: 1.0,
    "at an end": lambda x, a: a * x,
    "steps": lambda x, a: math.floor(4 * (x - a)) ** 2,
    "steep": lambda x, a: math.exp(8 * (x - a)) - x,
    "quartic": lambda x, a: (x - a) ** 4,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_evaluation_is_scipys(name):
    """Not only the minimum: each point at which the function is asked has the same bits."""
    generator = np.random.default_rng(0)
    for _ in range(30):
        a, low, width = generator.normal(), generator.normal() - 2, generator.uniform(0.01, 10)
        ours, theirs = [], []

        def noted(seen, a, x):
            seen.append(float(x))
            return FUNCTIONS[name](float(x), a)

        found = _bounded_minimum(partial(noted, ours, a), low, low + width)
        expected = minimize_scalar(partial(noted, theirs, a), bounds=(low, low + width), method="bounded")
        assert ours == theirs
        assert found == float(expected.x)


@pytest.mark.parametrize("d", [1, 3, 50])
def test_radii_are_those_that_scipy_finds(d, monkeypatch):
    """Released numbers keep their bits: clip radii shape every question."""

    def scipys(function, low, high):
        return float(minimize_scalar(function, bounds=(low, high), method="bounded").x)

    ours = [clipping.best_moment_radius(n, d, 0.1) for n in (200, 10**5)]
    monkeypatch.setattr(clipping, "_bounded_minimum", scipys)
    theirs = [clipping.best_moment_radius(n, d, 0.1) for n in (200, 10**5)]
    assert ours == theirs
