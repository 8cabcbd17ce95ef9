"""What a released mixture promises to whoever reads it."""

from collections.abc import Sequence

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
