"""What a plain run leaves out: a table that opens fulfils its schema, so pandera would have nothing to say."""

import numpy as np
import pandas as pd
import pytest

from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.schemas.private import validate_private_declaration
from pubpriv.schemas.public import validate_public

GOOD = {
    "whole": {"a": [1.0, 2.0], "b": [3, 4]},
    "nulls": {"a": [1.0, None, 2.0], "b": [3, 4, None]},
    "infinite": {"a": [1.0, np.inf, 2.0], "b": [3.0, 4.0, -np.inf]},
    "other columns": {"a": [1.0], "b": [2.0], "name": ["x"], "flag": [True]},
}
BAD = {
    "no rows": {"a": np.array([], dtype=float), "b": np.array([], dtype=float)},
    "no whole row": {"a": [np.nan, 1.0], "b": [1.0, np.nan]},
    "text": {"a": ["1", "2"], "b": [1.0, 2.0]},
    "missing": {"a": [1.0]},
}


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("case", GOOD)
def test_a_public_table_that_opens_fulfils_its_schema(case, suffix, tmp_path):
    """From either kind of file, with all its numeric columns and with some; pandera agrees."""
    path, frame = tmp_path / f"public.{suffix}", pd.DataFrame(GOOD[case])
    frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    for columns in (None, ["a", "b"], ["b"], ["log1p(a)"]):
        table = PublicTable.open(path, columns)
        validate_public(table, table.columns)


@pytest.mark.parametrize("columns", [None, ["a", "b"]])
@pytest.mark.parametrize("case", BAD)
def test_a_public_table_that_breaks_its_schema_does_not_open(case, columns, tmp_path):
    """It is refused where it is opened; a column that is missing, or no number, only where it is named."""
    path = tmp_path / "public.parquet"
    pd.DataFrame(BAD[case]).to_parquet(path)
    if columns is None and case in ("text", "missing"):
        columns = ["b"] if case == "text" else ["a"]
        validate_public(PublicTable.open(path), columns)
        return
    with pytest.raises(InvalidInput):
        PublicTable.open(path, columns)


@pytest.mark.parametrize("columns", [["a"], ["b", "a"], ["log(a)", "b"]])
def test_a_private_handle_declares_what_its_schema_says(columns, tmp_path):
    """Names and order come from one place."""
    path = tmp_path / "private.parquet"
    pd.DataFrame(GOOD["whole"]).to_parquet(path)
    validate_private_declaration(PrivateTable.open(path, columns), columns)
    with pytest.raises(InvalidInput, match=r"more than once|twice"):
        PrivateTable.open(path, [*columns, columns[0]])
