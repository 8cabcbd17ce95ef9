"""What released estimates promise to whoever reads them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from schemas.checks import require
from schemas.public import FINITE, SOME_ROWS

TOLERANCE = 1e-6

RELEASED = pa.DataFrameSchema(
    {
        "component": pa.Column(int, pa.Check.ge(1), unique=True),
        "weight": pa.Column(
            float,
            [
                pa.Check.in_range(0, 1),
                pa.Check(lambda w: abs(w.sum() - 1) <= TOLERANCE, error="weights must sum to one"),
            ],
        ),
        r"^mean of .+": pa.Column(float, FINITE, regex=True),
    },
    checks=SOME_ROWS,
    strict=True,
    unique_column_names=True,
)


NUMBERS = pa.DataFrameSchema(
    {
        "dataset": pa.Column(str),
        "release_id": pa.Column(str),
        "created": pa.Column(str),
        "quantity": pa.Column(str, pa.Check.isin(["weight", "mean", "covariance"])),
        "component": pa.Column("float64", pa.Check.ge(1), nullable=True, coerce=True),
        "column": pa.Column(str, nullable=True),
        "other_column": pa.Column(str, nullable=True),
        "value": pa.Column(float, FINITE),
        r"^error_(sampling|privacy)$": pa.Column(float, [FINITE, pa.Check.ge(0)], regex=True),
    },
    checks=SOME_ROWS,
    strict=True,
    ordered=True,
    unique=["quantity", "component", "column", "other_column"],
    unique_column_names=True,
)
"""Every released number as a row: what `<release id>.parquet` of the output tree holds (`pubpriv.outputs`)."""


ESTIMATES = pa.DataFrameSchema(
    {
        "column": pa.Column(str, unique=True),
        "mean": pa.Column(float, FINITE),
        r"^error of mean": pa.Column(float, [FINITE, pa.Check.ge(0)], regex=True),
        "variance": pa.Column(float, [FINITE, pa.Check.gt(0)], required=False),
        r"^error of variance": pa.Column(float, [FINITE, pa.Check.ge(0)], required=False, regex=True),
    },
    checks=SOME_ROWS,
    strict=True,
    unique_column_names=True,
)


def validate_numbers(frame: pd.DataFrame) -> None:
    """Check the table of an output tree, as it reads back from its Parquet file.

    Raises:
        InvalidInput: the first failure, in one line.
    """
    require(NUMBERS, frame, "the released numbers")


def estimates_table(estimate: Any) -> pd.DataFrame:
    """A mean or a Gaussian as a table: of each column its mean and variance, with standard errors.

    Args:
        estimate: a `MeanEstimate` or `GaussianEstimate`; a mean has no variance.
    """
    told: dict[str, Any] = {"column": list(estimate.columns), "mean": np.asarray(estimate.mean, dtype=float)}
    for part in ("sampling", "privacy"):
        told[f"error of mean ({part})"] = np.asarray(estimate.standard_errors["mean"][part], dtype=float)
    if hasattr(estimate, "covariance"):
        told["variance"] = np.diag(estimate.covariance)
        for part in ("sampling", "privacy"):
            told[f"error of variance ({part})"] = np.diag(np.asarray(estimate.standard_errors["covariance"][part]))
    return pd.DataFrame(told)


def validate_estimates(frame: pd.DataFrame) -> None:
    """Check a table of `estimates_table`.

    Raises:
        InvalidInput: the first failure, in one line.
    """
    require(ESTIMATES, frame, "the released estimates")


def released_table(weights: np.ndarray, means: np.ndarray, columns: Sequence[str]) -> pd.DataFrame:
    """A mixture as a table: component, weight, and the mean of every column.

    Args:
        weights: (k,).
        means: (k, d).
        columns: the d names.
    """
    frame = pd.DataFrame(np.asarray(means, dtype=float), columns=[f"mean of {name}" for name in columns])
    frame.insert(0, "component", np.arange(1, len(frame) + 1))
    frame.insert(1, "weight", np.asarray(weights, dtype=float))
    return frame


def validate_released(frame: pd.DataFrame) -> None:
    """Check a released table.

    Raises:
        InvalidInput: the first failure, in one line.
    """
    require(RELEASED, frame, "the released mixture")
