"""Schemas of tables of released estimates."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from pubpriv.released.findings import states_of_columns, worst_of
from pubpriv.released.kinds import GaussianEstimate
from pubpriv.released.numbers import QUANTITIES, Number, State, by_component, of_columns, of_quantity, sources_of
from pubpriv.schemas._checks import require
from pubpriv.schemas.public import FINITE, SOME_ROWS

_TOLERANCE = 1e-6
_LOCATION = f"^({'|'.join(name for name, columns in QUANTITIES.items() if columns == 1)})$"
"""Pattern of location columns: the mean, or the location that another kind of release has instead."""

_RELEASED = pa.DataFrameSchema(
    {
        "component": pa.Column(int, pa.Check.ge(1), unique=True),
        "weight": pa.Column(
            float,
            [
                pa.Check.in_range(0, 1),
                pa.Check(lambda w: abs(w.sum() - 1) <= _TOLERANCE, error="weights must sum to one"),
            ],
        ),
        r"^mean of .+": pa.Column(float, FINITE, regex=True),
        "state": pa.Column(str, pa.Check.isin(list(State)), required=False),
    },
    checks=SOME_ROWS,
    strict=True,
    unique_column_names=True,
)


_ESTIMATES = pa.DataFrameSchema(
    {
        "column": pa.Column(str, unique=True),
        _LOCATION: pa.Column(float, FINITE, regex=True),
        rf"^error of {_LOCATION[1:-1]}": pa.Column(float, [FINITE, pa.Check.ge(0)], regex=True),
        "variance": pa.Column(float, [FINITE, pa.Check.gt(0)], required=False),
        r"^error of variance": pa.Column(float, [FINITE, pa.Check.ge(0)], required=False, regex=True),
        "state": pa.Column(str, pa.Check.isin(list(State)), required=False),
        "target": pa.Column(str, pa.Check.isin(list(GaussianEstimate.targets)), required=False),
    },
    checks=SOME_ROWS,
    strict=True,
    unique_column_names=True,
)


def estimates_table(numbers: Sequence[Number], target: str | None = None) -> pd.DataFrame:
    """Make and check a table of a mean or a Gaussian: mean and variance of each column, with standard errors.

    Args:
        numbers: all numbers of a release without components; a mean has no variance.
        target: the release's target; None leaves the column out.

    Raises:
        InvalidInput: the table does not fit its schema; the text has the first failure, in one line.
    """
    means = of_columns(numbers)
    found = _with_errors(means[0].quantity, means)
    table: dict[str, Any] = {"column": [mean.column for mean in means], **found}
    variances = [number for number in numbers if number.is_variance]
    frame = pd.DataFrame(table | (_with_errors("variance", variances) if variances else {}))
    if means[0].state is not None:
        worst = states_of_columns([str(mean.column) for mean in means], numbers)
        frame["state"] = [str(state) for state in worst.values()]
    if target is not None:
        frame["target"] = target
    require(_ESTIMATES, frame, "the released estimates")
    return frame


_COEFFICIENTS = pa.DataFrameSchema(
    {
        "quantity": pa.Column(str, pa.Check.isin(["intercept", "coefficient", "R2", "residual_sd"])),
        "column": pa.Column(str, nullable=True),
        "value": pa.Column(float, FINITE),
        "error": pa.Column(float, [FINITE, pa.Check.ge(0)]),
        "low": pa.Column(float, FINITE),
        "high": pa.Column(float, FINITE),
        "state": pa.Column(str, pa.Check.isin(list(State)), nullable=True),
    },
    checks=SOME_ROWS,
    strict=True,
    unique_column_names=True,
)


def coefficients_table(numbers: Sequence[Number]) -> pd.DataFrame:
    """Make and check a table of a regression: coefficients, R^2 and scatter, with standard errors and intervals.

    Args:
        numbers: all numbers of a released regression.

    Raises:
        InvalidInput: the table does not fit its schema; the text has the first failure, in one line.
    """
    names = [*_COEFFICIENTS.columns]
    cells = [[getattr(number, name) for name in names] for number in numbers]
    frame = pd.DataFrame(cells, columns=names, dtype=object)  # what has no column keeps its None
    frame = frame.astype(dict.fromkeys(("value", "error", "low", "high"), float))
    require(_COEFFICIENTS, frame, "the released regression")
    return frame


_QUANTILES = pa.DataFrameSchema(
    {
        "quantity": pa.Column(str, pa.Check.isin(["quantile", "share"])),
        "column": pa.Column(str),
        "rank": pa.Column(float, pa.Check.in_range(0, 1, include_min=False, include_max=False), nullable=True),
        "level": pa.Column(str, nullable=True),
        "value": pa.Column(float, FINITE),
        "low": pa.Column(float, FINITE),
        "high": pa.Column(float, FINITE),
        "state": pa.Column(str, pa.Check.isin(list(State)), nullable=True),
    },
    checks=[
        SOME_ROWS,
        pa.Check(lambda t: (t["low"] <= t["value"]) & (t["value"] <= t["high"]), error="in its interval"),
    ],
    strict=True,
    unique_column_names=True,
)


def quantiles_table(numbers: Sequence[Number]) -> pd.DataFrame:
    """Make and check a table of quantiles and shares, with the ends of their intervals.

    Args:
        numbers: all numbers of a release of quantiles.

    Raises:
        InvalidInput: the table does not fit its schema; the text has the first failure, in one line.
    """
    names = [*_QUANTILES.columns]
    frame = pd.DataFrame([[getattr(number, name) for name in names] for number in numbers], columns=names)
    frame = frame.astype({"rank": float, "level": object, "state": object})
    require(_QUANTILES, frame, "the released quantiles")
    return frame


def _with_errors(name: str, numbers: Sequence[Number]) -> dict[str, list[float]]:
    errors = {
        f"error of {name} ({part})": [getattr(number, part) for number in numbers] for part in sources_of(numbers)
    }
    return {name: [number.value for number in numbers], **errors}


def released_table(numbers: Sequence[Number]) -> pd.DataFrame:
    """Make and check a table of a mixture: component, weight, and the mean of every column.

    Args:
        numbers: all numbers of a release with components.

    Raises:
        InvalidInput: the table does not fit its schema; the text has the first failure, in one line.
    """
    weights = of_quantity(numbers, "weight")
    means: dict[str, list[float]] = {}
    for number in of_quantity(numbers, "mean"):
        means.setdefault(f"mean of {number.column}", []).append(number.value)
    components = {"component": [weight.component for weight in weights], "weight": [weight.value for weight in weights]}
    frame = pd.DataFrame(components | means).astype({"component": int, "weight": float})
    if numbers and numbers[0].state is not None:
        frame["state"] = [str(worst_of(part)) for part in by_component(numbers).values()]
    require(_RELEASED, frame, "the released mixture")
    return frame
