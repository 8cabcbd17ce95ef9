"""What a scan holds in memory: the peak of a process that scans many rows over one that scans a tenth of them.

Each scan runs in a process of its own, whose peak is the kernel's own figure for it. The tables are written
row group by row group, so that nobody holds one, and every process imports and opens the same things first.
Both use the same number of threads: memory grows with those, by a few blocks and buffers each.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.scan import gram, write
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable

_MEBIBYTE = 1 << 20
_THREADS = 2


def bench(rows: int, dims: int) -> dict[str, Any]:
    """Peak resident bytes of an exact lifted Gram over `rows` rows, over those of `rows` // 10.

    Args:
        rows: of the larger table; at least 20 row groups, or the smaller scan has no work for both threads.
        dims: columns of both.
    """
    names = [f"x{i}" for i in range(dims)]
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{count}.parquet" for count in (rows // 10, rows)]
        for path, count in zip(paths, (rows // 10, rows), strict=True):
            write(path, count, names, np.random.default_rng(0))
        small, large = (_in_process(path, names) for path in paths)
    return {
        "bench": "memory",
        "rows": rows,
        "dims": dims,
        "threads": _THREADS,
        "ratio": large["peak"] / small["peak"],
        "ratio_of": f"peak resident memory of a scan of {rows} rows over one of {rows // 10} rows",
        "peak_mebibytes": large["peak"] / _MEBIBYTE,
        "smaller_peak_mebibytes": small["peak"] / _MEBIBYTE,
        "before_scan_mebibytes": large["before"] / _MEBIBYTE,
        "above_before_ratio": (large["peak"] - large["before"]) / (small["peak"] - small["before"]),
    }


def _in_process(path: Path, names: list[str]) -> dict[str, int]:
    """What `main` prints, run in a new process."""
    command = [sys.executable, "-P", "-m", "benchmarks.memory", str(path), *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    found: dict[str, int] = json.loads(printed)
    return found


def main() -> None:
    """Scan the table and columns that are named, and print the peak in bytes before and after as JSON."""
    path, *names = sys.argv[1:]
    table = PrivateTable.open(path, names)
    next(iter(table.chunks()[0].blocks()))  # libraries that read are loaded, and one batch was held
    before = peak()
    with ThreadPoolExecutor(_THREADS) as threads:
        scan(table, gram(len(names)), threads)
    print(json.dumps({"before": before, "peak": peak()}))


def peak() -> int:
    """The largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # `getrusage` would count the parent's memory too, from before this program replaced it
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


if __name__ == "__main__":
    main()
