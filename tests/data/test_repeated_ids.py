"""Columns of public rows that look like ids and repeat."""

import pandas as pd
import pytest

from pubpriv.common.tables import canonical
from pubpriv.data.repeated_ids import repeated_ids


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_columns_named_like_ids_that_have_a_value_twice_are_named(tmp_path, kind):
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "patient_id": ["a", "a", None, None],
            "nr": [1.0, 2.0, 1.0, float("nan")],
            "visitId": [7, 7, 8, 9],
            "paid": [3, 3, 3, 3],
            "solid": [1, 1, 1, 1],
            "order_no": [None, None, 1.0, 2.0],
        }
    )
    file = tmp_path / f"public.{kind}"
    frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    assert repeated_ids(canonical(str(file))) == ("patient_id", "nr", "visitId")
