"""What persons cost in time and memory: the pass over their ids, and scans of weighted rows beside plain ones.

Memory is that of a process of its own, which does the pass and nothing else: its peak above what it held before.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.memory import peak
from benchmarks.scan import gram
from pubpriv.data.id_pass import IdPass
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import PerPerson
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable

_ROW_GROUP = 100_000
_EACH = 5
"""Rows of a person, in the mean."""

_BOUNDS = {"pass_microseconds": 0.6, "text_over_integers": 3.0, "scan_ratio": 1.5, "pass_bytes_a_row": 32.0}
_GRAIN = 64


def bench(rows: int, dims: int, repeats: int = 3) -> dict[str, Any]:
    """Processor time of the pass over ids, of texts over integers, and of a weighted scan over a plain one.

    Args:
        rows: of the table; its persons have five each, anywhere in it.
        dims: columns.
        repeats: measurements, in turns; medians are told.
    """
    names = [f"x{i}" for i in range(dims)]
    plain = gram(dims)
    weighed = PerPerson(plain, 1, _GRAIN)
    with TemporaryDirectory() as folder, threadpool_limits(1), ThreadPoolExecutor(1) as thread:
        path = _written(Path(folder) / "persons.parquet", rows, names)
        by_row = PrivateTable.open(path, names)
        passes, found = [], []
        for _ in range(repeats):
            tables = [PersonTable(PrivateTable.open(path, names, person=who), most_bytes=0) for who in ("who", "text")]
            passes.append([_seconds(lambda t=table: t.asked(weighed)) for table in tables])  # type: ignore[misc]
            asked = tables[0].asked(weighed)
            found.append(
                [
                    _seconds(lambda: scan(by_row, plain, thread)),
                    _seconds(lambda a=asked: scan(a, weighed, thread)),  # type: ignore[misc]
                ]
            )
        above = _above(path, names)
    integers, texts = (median(each[kind] for each in passes) for kind in (0, 1))
    told = {
        "pass_microseconds": 1e6 * integers / rows,
        "text_over_integers": texts / integers,
        "scan_ratio": median(weighted / by_row for by_row, weighted in found),
        "pass_bytes_a_row": above / rows,
    }
    return {
        "bench": "persons, speed",
        "rows": rows,
        "dims": dims,
        "ratio": told["scan_ratio"],
        "ratio_of": "a scan of weighted rows, ids read and compared, over one of the same rows by themselves, median",
        **told,
        "met": all(told[name] <= bound for name, bound in _BOUNDS.items()),
    }


def _above(path: Path, names: list[str]) -> int:
    """Bytes that the pass over ids holds at most, of a new process."""
    command = [sys.executable, "-P", "-m", "benchmarks.person_speed", str(path), *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return int(json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout))


def main() -> None:
    """Do pass 0 over the table and columns that are named, and print by how many bytes the peak rose."""
    path, *names = sys.argv[1:]
    found = IdPass(PrivateTable.open(path, names, person="who"))
    next(iter(found.chunks[0].keys()))  # libraries that read are loaded, and one batch was held
    before = peak()
    found.weights(1, _GRAIN)
    print(json.dumps(peak() - before))


def _seconds(work: Callable[[], Any]) -> float:
    """Measure processor time of all threads: other processes do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _written(path: Path, rows: int, names: list[str]) -> Path:
    """A table of numbers, written group by group, whose persons are told by integers and by texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random, writer = np.random.default_rng(0), None
    for start in range(0, rows, _ROW_GROUP):
        count = min(_ROW_GROUP, rows - start)
        who = random.integers(0, max(rows // _EACH, 1), count)
        cells = {name: random.standard_normal(count) for name in names}
        texts = pa.array(who).cast(pa.string())
        piece = pa.table(cells | {"who": who, "text": texts})
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    if writer is not None:
        writer.close()
    return path


if __name__ == "__main__":
    main()
