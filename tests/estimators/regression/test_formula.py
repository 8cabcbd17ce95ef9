"""Formulas: what they stand for, and that nothing in them is evaluated."""

import pytest

from pubpriv.errors import InvalidInput
from pubpriv.estimators.regression._formula import Design

LEVELS = {"region": ("east", "north", "west"), "a": (), "b": (), "hours": (), "one": ("only",)}


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("log1p(y) ~ a + b + a:b", ("a", "b", "product(a, b)", "log1p(y)")),
        ("y ~ a*b", ("a", "b", "product(a, b)", "y")),
        ("y ~ 1 + a + a**2 + b^2", ("a", "product(a, a)", "product(b, b)", "y")),
        ("y ~ region", ("level(region, north)", "level(region, west)", "y")),
        ("y ~ levels(region, west, east) + log(a)", ("level(region, east)", "log(a)", "y")),
        (
            "y ~ levels(region):hours",
            ("product(level(region, north), hours)", "product(level(region, west), hours)", "y"),
        ),
        ("`my y` ~ a + a", ("a", "my y")),
    ],
)
def test_columns_of_a_formula(formula, columns):
    """Terms in their order, each once, and last the outcome; levels but the first."""
    assert Design.parse(formula).columns(LEVELS) == columns


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("y ~ exp(a)", "exp is no function of columns"),
        ("y ~ __import__('os').system('true')", "__import__ is no function"),
        ("y ~ I(a**2)", "I is no function"),
        ("y ~ (a + b)", "parentheses make no term"),
        ("y ~ a - 1", "the intercept stays"),
        ("y ~ 0 + a", "the intercept stays"),
        ("y ~", "the intercept stays"),
        ("y ~ 1", "no terms"),
        ("y", "an outcome, ~ and terms"),
        ("y ~ a ~ b", "an outcome, ~ and terms"),
        ("~ a", "an outcome"),
        ("y ~ a*b*hours", "at most two"),
        ("y ~ log(a):b", "a product is of two columns"),
        ("a ~ a + b", "a is the outcome"),
        ("y ~ one", "one level"),
        ("y ~ levels(a)", "a has numbers"),
    ],
)
def test_what_is_no_formula_is_refused(formula, why):
    """With a reason, before anything is opened but the public rows."""
    with pytest.raises(InvalidInput, match=why):
        Design.parse(formula).columns(LEVELS)
