"""The long table of a release: every number once, beside its own errors, and nobody takes an estimate apart again."""

import ast
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from helpers.releases import clipped, gaussian_release, mean_release, mixture_release

from pubpriv.errors import InvalidInput
from pubpriv.released.numbers import Number, State, by_component, of_quantity, sources_of

MAKERS = {"mean": mean_release, "gaussian": gaussian_release, "gaussian-mixture": mixture_release}
COLUMNS = ("age", "cost", "visits")


def distinct(kind):
    """A release in which no two numbers or errors are equal, and the same as plain data."""
    generator = np.random.default_rng(5)
    told = MAKERS[kind](COLUMNS).to_json()
    parts = list(told["standard_errors"])
    for name in parts:
        shape = np.shape(told[name])
        cells = [told, *[told["standard_errors"][name]] * 2]
        for cell, key in zip(cells, (name, "sampling", "privacy"), strict=True):
            values = generator.uniform(1.0, 2.0, shape)
            if name.startswith("covariance"):
                values = (values + np.swapaxes(values, -1, -2)) / 2
            cell[key] = values.tolist()
    return type(MAKERS[kind](COLUMNS)).from_json(told), told


def entries(told, plural, where):
    """A number, its sampling and its privacy error, looked up in the plain data one by one."""
    for source in (told, *(told["standard_errors"][plural][part] for part in ("sampling", "privacy"))):
        found = source[plural] if source is told else source
        for i in where:
            found = found[i]
        yield found


good = partial(Number, state=State.GOOD)


def spelled_out(kind, told):
    """The table by the names of the model file, written without any of the product's own code."""
    several = kind == "gaussian-mixture"
    s = "s" if several else ""
    for j in range(len(told["weights"])) if several else [None]:
        at = () if j is None else (j,)
        component = None if j is None else j + 1
        if several:
            yield good("weight", component, None, None, *entries(told, "weights", at))
        for i, name in enumerate(COLUMNS):
            yield good("mean", component, name, None, *entries(told, f"mean{s}", (*at, i)))
        for a, b in combinations_with_replacement(range(3), 2) if kind != "mean" else []:
            yield good("covariance", component, COLUMNS[a], COLUMNS[b], *entries(told, f"covariance{s}", (*at, a, b)))


@pytest.mark.parametrize("kind", MAKERS)
def test_every_number_is_there_once_beside_its_errors(kind):
    """In the order of components and columns, as the model file has it."""
    estimate, told = distinct(kind)
    assert estimate.numbers() == tuple(spelled_out(kind, told))


@pytest.mark.parametrize("kind", MAKERS)
def test_rows_are_plain_values(kind):
    """A row holds Python's own numbers and texts: any library takes it, none leaves a trace in it."""
    for number in distinct(kind)[0].numbers():
        assert {type(getattr(number, name)) for name in ("value", "sampling", "privacy")} == {float}
        assert type(number.component) is (int if kind == "gaussian-mixture" else type(None))


def test_deviations_come_from_variances():
    """The square root, its errors to first order; where the variance is zero, the roots of its errors."""
    variance = Number("covariance", 2, "age", "age", 9.0, 0.6, 0.3)
    assert variance.deviation() == Number("sd", 2, "age", None, 3.0, pytest.approx(0.1), pytest.approx(0.05))
    assert variance.error == pytest.approx(np.hypot(0.6, 0.3))
    flat = Number("covariance", None, "age", "age", 0.0, 0.04, 0.0).deviation()
    assert (flat.value, flat.sampling, flat.privacy) == (0.0, pytest.approx(0.2), 0.0)


@pytest.mark.parametrize("kind", MAKERS)
def test_errors_of_clipping_are_part_of_the_whole(kind):
    """In quadrature, in deviations too; what a file does not tell is zero, and no source."""
    before, after = (make(MAKERS[kind](COLUMNS)).numbers() for make in (lambda estimate: estimate, clipped))
    assert sources_of(before) == ("sampling", "privacy")
    assert sources_of(after) == ("sampling", "privacy", "clipping")
    for quantity in ("weight", "mean", "covariance", "sd"):
        for one, other in zip(of_quantity(before, quantity), of_quantity(after, quantity), strict=True):
            assert one.error == pytest.approx(other.error)
            assert (one.clipping, other.clipping) == (0.0, pytest.approx(0.8 * one.error))


@pytest.mark.parametrize("damage", [None, [0.1], [0.1, float("nan"), 0.2]])
def test_errors_of_clipping_that_cannot_be_are_damage(damage):
    """They may be left out; once told they are there for every number."""
    told = clipped(mean_release(COLUMNS)).to_json()
    type(mean_release()).from_json(told).check_whole()
    told["standard_errors"]["mean"]["clipping"] = damage
    with pytest.raises(InvalidInput, match=r"standard errors of mean \(clipping\)"):
        type(mean_release()).from_json(told).check_whole()


def test_numbers_are_chosen_by_quantity_and_component():
    """Of a mixture, deviations are of variances only, and each component has all of its numbers."""
    numbers = mixture_release(COLUMNS).numbers()
    assert [(n.component, n.column) for n in of_quantity(numbers, "sd")] == [
        (j, name) for j in (1, 2, 3) for name in COLUMNS
    ]
    assert {component: len(part) for component, part in by_component(numbers).items()} == dict.fromkeys((1, 2, 3), 10)
    assert list(by_component(mean_release().numbers())) == [None]


def test_nobody_takes_an_estimate_apart_again():
    """Whatever shows, writes or compares a release reads its table: `standard_errors` is opened in one place."""
    root = Path(__file__).parents[2]
    folders = ("released", "cli", "tasks", "flows", "schemas")
    files = [path for folder in folders for path in (root / "pubpriv" / folder).rglob("*.py")]
    readers = {
        path.name
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "standard_errors"
    }
    assert readers == {"estimate.py"}
