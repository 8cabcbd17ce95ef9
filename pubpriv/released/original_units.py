"""Numbers of columns like `sqrt(cost)` and `log1p(cost)` in the units of `cost`: post-processing of released ones.

| column | number | from | holds |
|---|---|---|---|
| `sqrt(x)` | mean of x | mu^2 + sigma^2, released mean and variance of sqrt(x) | for rows of any law: x is the square |
| `log(x)` | geometric mean of x | exp(mu) | for rows of any law: ends of the interval are mapped |
| `log1p(x)` | geometric mean of 1 + x, less 1 | exp(mu) - 1 | the same |

The mean of x itself does not follow from a mean and variance of log1p(x) unless that is Gaussian, and nothing that is
released shows this well enough: with 2,000 rows of a gamma law (shape 2) at rho 0.5, of which the histogram of lengths
agrees with a Gaussian, 40% of the intervals of exp(mu + sigma^2 / 2) - 1 hold the mean. So it is not given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, expm1, hypot
from typing import Any

import numpy as np

from pubpriv.data.columns import Column, parse_columns
from pubpriv.released.estimate import Estimate
from pubpriv.released.numbers import SOURCES, Z95, Number, State, of_all

MEAN, GEOMETRIC, SHIFTED = "mean", "geometric mean", "geometric mean of 1 + the value, less 1"

LARGEST = 700.0
"""Logarithm of a number that floats still hold."""

_MIDDLE = {"log": (GEOMETRIC, exp), "log1p": (SHIFTED, expm1)}


@dataclass(frozen=True)
class OriginalNumber:
    """A number of a column in its original units.

    Attributes:
        column: the original column, `cost` of `log1p(cost)`.
        what: which number.
        value: the estimate.
        low, high: ends of its 95% interval.
        state: the worst of the numbers that it follows from; None: the file does not say.
    """

    column: str
    what: str
    value: float
    low: float
    high: float
    state: State | None = None


def variances_for_squares(columns: Sequence[str], variances: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return variances and their errors of the columns that are square roots, for the diagnostics of a mean.

    Args:
        columns: names.
        variances: values (d,) under `value`, and errors by source.
    """
    roots = [i for i, column in enumerate(parse_columns(list(columns))) if column.function == "sqrt"]
    return {columns[i]: {name: float(each[i]) for name, each in variances.items()} for i in roots}


def in_original_units(estimate: Estimate) -> tuple[OriginalNumber, ...]:
    """Give the numbers of mapped columns of a mean or a Gaussian in original units; none for other columns."""
    return tuple(_numbers(estimate)) if estimate.n_components is None else ()


def in_file(estimate: Estimate) -> dict[str, Any]:
    """Return the part of a model file about these numbers, which is calculated anew when the file is read.

    Releases of older versions, which have no findings, are written as they were.
    """
    numbers = () if estimate.findings is None else in_original_units(estimate)
    found = [{name: value for name, value in asdict(each).items() if value is not None} for each in numbers]
    return {"original_units": found} if found else {}


def _numbers(estimate: Estimate) -> Iterator[OriginalNumber]:
    numbers = of_all(estimate.numbers())
    means = {number.column: number for number in numbers if number.quantity == "mean"}
    variances = {number.column: number for number in numbers if number.is_variance}
    for column in parse_columns(list(estimate.columns)):
        mean = means.get(column.name)
        if mean is None:
            continue
        if column.function in _MIDDLE:
            yield from _middle(column, mean)
        elif column.function == "sqrt":
            variance = variances.get(column.name) or _variance_beside(estimate, column.name)
            if variance is not None:
                yield _mean_square(column, mean, variance)


def _middle(column: Column, mean: Number) -> Iterator[OriginalNumber]:
    what, back = _MIDDLE[str(column.function)]
    low, high = mean.interval
    if high < LARGEST:
        yield OriginalNumber(column.original, what, back(mean.value), back(low), back(high), mean.state)


def _mean_square(column: Column, mean: Number, variance: Number) -> OriginalNumber:
    """Give the mean of the squares.

    Errors by sampling of a mean and of a variance depend on each other where rows are skewed, so they are added; the
    others are independent.
    """
    slope = 2 * abs(mean.value)
    sampling = slope * mean.sampling + variance.sampling
    others = [(slope * getattr(mean, source), getattr(variance, source)) for source in SOURCES if source != "sampling"]
    value, error = mean.value**2 + variance.value, hypot(sampling, *(each for pair in others for each in pair))
    states = [number.state for number in (mean, variance) if number.state is not None]
    worst = max(states, key=list(State).index, default=None)
    return OriginalNumber(column.original, MEAN, value, max(value - Z95 * error, 0.0), value + Z95 * error, worst)


def _variance_beside(estimate: Estimate, name: str) -> Number | None:
    """Find the variance that a run of a mean alone has learnt."""
    known = estimate.diagnostics.get("variances", {})
    found = known.get(name) if isinstance(known, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    errors = [float(found.get(source, 0.0)) for source in SOURCES]
    return Number.at(("covariance", None, name, name), float(found["value"]), errors)
