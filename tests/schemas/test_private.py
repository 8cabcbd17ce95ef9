import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput
from pubpriv.schemas.private import validate_private_declaration


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"age": [40, None, 60], "cost": [1.5, 7391.54821, None]}), path)
    return PrivateTable.open(path, ["age", "log1p(cost)"])


def test_the_declared_columns_pass(table):
    validate_private_declaration(table, ["age", "log1p(cost)"])


@pytest.mark.parametrize("wanted", [["age"], ["age", "cost"], ["log1p(cost)", "age"]])
def test_other_columns_or_another_order_fail(table, wanted):
    with pytest.raises(InvalidInput, match="declaration"):
        validate_private_declaration(table, wanted)


def test_rows_are_never_read(table, monkeypatch):
    monkeypatch.setattr(PrivateTable, "chunks", None)
    validate_private_declaration(table, ["age", "log1p(cost)"])
