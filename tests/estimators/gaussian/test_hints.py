"""A hint names the columns whose logarithm would do better, and no others: from public rows and released numbers."""

import numpy as np
import pytest

from pubpriv.estimators.gaussian.hints import log_hints

DRAW = {
    "lognormal": lambda g, m: g.lognormal(3.0, 1.0, m),
    "prices": lambda g, m: np.round(g.lognormal(2.0, 0.9, m), 2),
    "exponential": lambda g, m: g.exponential(20.0, m),
    "gaussian": lambda g, m: g.normal(40.0, 12.0, m),
    "wide": lambda g, m: g.normal(0.0, 1.0, m),
    "left": lambda g, m: 100 - g.lognormal(2.0, 0.6, m).clip(0, 95),
    "two signs": lambda g, m: g.lognormal(1.0, 1.0, m) * g.choice([-1.0, 1.0], m, p=[0.1, 0.9]),
    "bernoulli": lambda g, m: (g.random(m) < 0.05).astype(float),
    "counts": lambda g, m: g.poisson(4.0, m).astype(float),
    "two tails": lambda g, m: g.standard_t(3, m) + 10,
    "uniform": lambda g, m: g.random(m),
}
NAMED = {"lognormal", "prices", "exponential"}


def hinted(law, m, seed, beyond=0.01):
    """What is said of one column of a law: m public rows, and the moments of many as if they had been released."""
    generator = np.random.default_rng(seed)
    public, table = DRAW[law](generator, m), DRAW[law](generator, 20_000)
    mean, variance = np.array([table.mean()]), np.array([[table.var()]])
    return log_hints(("fare",), public[:, None], mean, variance, beyond)


@pytest.mark.parametrize("law", DRAW)
def test_columns_with_a_long_tail_to_the_right_are_named(law):
    """In most of 40 draws of 100 public rows; a column of another shape in none, though rows lie beyond the clip."""
    share = np.mean([bool(hinted(law, 100, seed)) for seed in range(40)])
    assert share >= 0.75 if law in NAMED else share <= 0.05


def test_a_hint_says_what_to_write():
    """Of several columns those that need it, with the option as it is typed; a mapped one is not mapped again."""
    generator = np.random.default_rng(4)
    names = ("fare", "age", "log1p(area)", "price")
    public = generator.lognormal(3.0, 1.0, (200, 4))
    public[:, 1] = generator.normal(40.0, 9.0, 200)
    (text,) = log_hints(names, public, public.mean(axis=0), np.cov(public.T))
    assert text.startswith("fare and price have a long tail")
    assert "--columns 'log1p(fare),age,log1p(area),log1p(price)'" in text
    (one,) = log_hints(names[:2], public[:, :2], public[:, :2].mean(axis=0), np.cov(public[:, :2].T))
    assert one.startswith("fare has a long tail to the right: its logarithm would")


def test_public_rows_alone_are_no_reason():
    """A released number has to agree: a mass below zero, or rows beyond the clip."""
    public = np.random.default_rng(1).lognormal(0.0, 1.0, (200, 1))
    near, far = (np.array([40.0]), np.array([[9.0]])), (np.array([4.0]), np.array([[9.0]]))
    assert log_hints(("fare",), public, *near) == ()
    assert log_hints(("fare",), public, *near, beyond=0.01)
    assert log_hints(("fare",), public, *far)


@pytest.mark.parametrize("public", [np.zeros((0, 1)), np.ones((40, 1)), np.full((2, 1), 5.0), -2 - np.ones((40, 1))])
def test_odd_public_rows_give_no_hint(public):
    """None, equal ones, two, and values that have no logarithm."""
    assert log_hints(("fare",), public, np.array([1.0]), np.array([[4.0]]), 0.1) == ()


def test_few_gaussian_public_rows_give_no_hint():
    """Of 12 to 40 public rows skewness is a guess: chance alone names no Gaussian column in 2,000 draws."""
    generator = np.random.default_rng(3)
    mean, variance = np.array([3.0]), np.array([[1.0]])
    for m in (12, 40):
        draws = generator.normal(3.0, 1.0, (1000, m, 1))
        assert sum(bool(log_hints(("fare",), rows, mean, variance, 0.01)) for rows in draws) <= 5
