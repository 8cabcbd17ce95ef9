"""Schema of a private table's declaration. Its rows are never validated, because a failure would quote them."""

from collections.abc import Sequence

import pandas as pd
import pandera.pandas as pa

from pubpriv.data.tables import PrivateTable
from pubpriv.schemas._checks import require


def _declared_schema(columns: Sequence[str]) -> pa.DataFrameSchema:
    """Schema: exactly these float columns, in this order, nulls allowed."""
    return pa.DataFrameSchema(
        {name: pa.Column(float, nullable=True) for name in columns},
        strict=True,
        ordered=True,
        unique_column_names=True,
    )


def validate_private_declaration(table: PrivateTable, columns: Sequence[str]) -> None:
    """Check that `table` declares exactly `columns`, by validating an empty frame of the declared types.

    Raises:
        InvalidInput: other columns, another order, or a column twice; the text has only names.
    """
    declared = pd.concat([pd.Series(dtype=float, name=name) for name in table.column_names], axis=1)
    require(_declared_schema(columns), declared, "the private table's declaration")
