"""The bench of Dask clusters, on a small table: what it tells, and what it refuses before it writes one."""

import pytest

from benchmarks.dask_scale import BOUNDS, bench
from pubpriv.errors import InvalidInput


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_clusters_give_the_bits_of_threads_in_memory_that_does_not_grow(tmp_path):
    """Rates of a table that is read in a moment say nothing, and are not looked at."""
    said = []
    found = bench(40_000, 3, (1, 2), tmp_path, said.append)
    assert [row["of"] for row in found["rows"]] == ["one thread", "1 worker", "2 workers"]
    assert found["same_bits"]
    assert all(row["worker_growth"] < 1.2 for row in found["rows"][1:])
    assert found["rows"][2]["bound"] == (BOUNDS[2] if found["processors"] >= 2 else None)
    assert "Dask workers: 2" in said
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "workers", "why"), [(40_000, (2, 4), "begins with 1"), (10**13, (1,), "name another --folder")]
)
def test_what_cannot_be_measured_is_refused_before_a_table_is_written(rows, workers, why, tmp_path):
    """Without a cluster of one worker there is no ratio; a table has to fit the disk."""
    with pytest.raises(InvalidInput, match=why):
        bench(rows, 20, workers, tmp_path, print)
    assert not any(tmp_path.iterdir())
