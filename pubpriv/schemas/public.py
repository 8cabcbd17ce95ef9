"""Schema of a public table for a run."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pandera.pandas as pa

from pubpriv.data.tables import PublicTable
from pubpriv.schemas._checks import require

FINITE = pa.Check(np.isfinite, name="finite", error="must be finite")
SOME_ROWS = pa.Check(lambda frame: len(frame) > 0, name="rows", error="must have at least one row")


def _public_schema(columns: Sequence[str]) -> pa.DataFrameSchema:
    """Schema: float columns of these names, each once, finite, and at least one row."""
    return pa.DataFrameSchema(
        {name: pa.Column(float, FINITE) for name in columns}, checks=SOME_ROWS, unique_column_names=True
    )


def validate_public(table: PublicTable, columns: Sequence[str]) -> None:
    """Check that public rows have the columns of a run.

    Raises:
        InvalidInput: the first failure, in one line; it may quote public values.
    """
    require(_public_schema(columns), pd.DataFrame(table.rows, columns=list(table.columns)), "the public table")
