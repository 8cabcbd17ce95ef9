"""The one function that validates with pandera."""

from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from pubpriv.errors import InvalidInput


def require(schema: pa.DataFrameSchema, frame: pd.DataFrame, what: str) -> None:
    """Raise `InvalidInput` with one line about the first failure; only for frames of public values."""
    reason = None
    try:
        schema.validate(frame, lazy=True)
    except SchemaErrors as errors:
        reason = _reason(errors.failure_cases.iloc[0])
    if reason is not None:
        raise InvalidInput(f"{what}: {reason}")


def _reason(failure: Any) -> str:
    value = failure.failure_case
    found = "" if isinstance(value, bool | np.bool_) or pd.isna(value) else f" (found {value})"
    where = f"column {failure.column!r}: " if failure.schema_context == "Column" and failure.column else ""
    row = f" in row {failure['index']}" if pd.notna(failure["index"]) else ""
    return f"{where}{failure.check}{row}{found}"
