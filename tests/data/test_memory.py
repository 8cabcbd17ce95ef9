"""What a scan holds in memory does not grow with the table."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.memory import bench
from pubpriv.data.tables import PrivateTable

COLUMNS = ["a", "b", "c", "d"]


def test_a_long_row_group_is_never_held_whole(tmp_path):
    """Of a row group of 64 MB, Arrow holds less than a third while its blocks are read, and all rows come by."""
    rows = 2_000_000
    generator = np.random.default_rng(0)
    path = tmp_path / "one-group.parquet"
    pq.write_table(pa.table({name: generator.standard_normal(rows) for name in COLUMNS}), path, row_group_size=rows)
    (chunk,) = PrivateTable.open(path, COLUMNS).chunks()
    before = pa.total_allocated_bytes()
    held, seen = 0, 0
    for block in chunk.blocks():
        held = max(held, pa.total_allocated_bytes() - before)
        seen += int(np.isfinite(block[0]).sum())
    assert seen == rows
    assert held < rows * len(COLUMNS) * 8 / 3


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_times_the_rows_take_the_same_memory():
    """The peak of a scan of 1e7 rows is within 20% of one of 1e6 rows, and a scan does hold something."""
    found = bench(10_000_000, 10)
    assert found["ratio"] <= 1.2
    assert found["smaller_peak_mebibytes"] > found["before_scan_mebibytes"]
