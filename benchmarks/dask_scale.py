"""How a scan grows with the workers of a Dask cluster: rate, memory, and that the bits stay those of threads.

Scheduler, workers and whoever asks are processes of their own, whose peaks are the kernel's figures for them. Each
cluster scans a tenth of the table first, then all of it. The table is Parquet in parts, made row group by row group.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np

from benchmarks.dask_cluster import running
from benchmarks.memory import peak
from benchmarks.scan import gram, write
from pubpriv.data.cluster import Cluster
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput

BOUNDS = {2: 1.7, 4: 3.0}
"""Times the rate of one worker that so many must have, on as many processors with nothing else to do."""

_FLAT = 1.2
"""Times the peak of a process after a tenth of the rows that it may have after all of them."""

_PARTS, _FIRST = 20, 2
"""Files of the table, and those that are a tenth of it."""

_REPEATS = 2
"""Scans of the whole table, of which the quicker counts."""

_JOIN_SECONDS = 60
_MEBIBYTE, _GIGABYTE = 1 << 20, 1e9


def bench(
    rows: int, columns: int, workers: Sequence[int], folder: Path | None, say: Callable[[str], None]
) -> dict[str, Any]:
    """Measure scans by threads and by clusters beside their bounds; the machine should have nothing else to do.

    Args:
        rows: of the table, eight bytes a cell.
        columns: of floats.
        workers: of each cluster in turn, of one thread each; the first must be one worker.
        folder: where the table is written, and deleted at the end; None: where temporary files are.
        say: told what is done now.

    Raises:
        InvalidInput: no cluster of one worker first, or no room for the table.
    """
    if not workers or workers[0] != 1:
        raise InvalidInput("--workers begins with 1: the others are compared with it")
    _check_room(rows * columns * 8, folder)
    names = [f"x{i}" for i in range(columns)]
    with TemporaryDirectory(dir=folder) as made:
        _write(Path(made), rows, names, say)
        say("threads: one")
        threads = _in_process("threads", made, *names)
        found = [threads | {"workers": 0}]
        for count in workers:
            say(f"Dask workers: {count}")
            with running(count) as cluster:
                found.append(_in_process(cluster.address, made, *names, count=count) | {"workers": count})
    cores = len(os.sched_getaffinity(0))
    told = [_row(each, found[1], rows, cores) for each in found]
    most = max(told, key=lambda row: float(row["ratio"] or 0.0))
    return {
        "bench": "fleet dask",
        "rows_of_table": rows,
        "columns": columns,
        "processors": cores,
        "load": os.getloadavg()[0],
        "ratio": most["ratio"],
        "ratio_of": f"rate of {most['workers']} workers over that of one",
        "million_rows_per_second_of_one_thread": told[0]["million_rows_per_second"],
        "same_bits": all(row["same_bits"] for row in told),
        "met": all(row["met"] for row in told),
        "rows": told,
    }


def _row(measured: dict[str, Any], one: dict[str, Any], rows: int, cores: int) -> dict[str, Any]:
    """What is told of one cluster, or of threads; a ratio is judged where there are as many processors."""
    count, same = measured["workers"], measured["digests"] == one["digests"]
    ratio = one["seconds"] / measured["seconds"] if count else None
    flat = max((after / before for before, after in zip(*measured["worker_peaks"], strict=True)), default=None)
    bound = BOUNDS.get(count) if count <= cores else None
    small, large = measured["client_peaks"]
    met = [same, flat is None or max(flat, large / small) < _FLAT, bound is None or ratio is None or ratio >= bound]
    return {
        "of": f"{count} worker{'s' * (count > 1)}" if count else "one thread",
        "workers": count,
        "seconds": measured["seconds"],
        "million_rows_per_second": rows / measured["seconds"] / 1e6,
        "ratio": ratio,
        "bound": bound,
        "judged": count <= cores if count else None,
        "worker_mebibytes": max(measured["worker_peaks"][1], default=0) / _MEBIBYTE if count else None,
        "worker_growth": flat,
        "client_mebibytes": large / _MEBIBYTE,
        "client_growth": large / small,
        "gigabytes_from_disk": measured["from_disk"] / _GIGABYTE,
        "same_bits": same,
        "met": all(met),
    }


def _check_room(size: int, folder: Path | None) -> None:
    free = shutil.disk_usage(folder or gettempdir()).free
    if free < 1.1 * size:
        raise InvalidInput(
            f"the table takes {size / _GIGABYTE:.1f} GB and {free / _GIGABYTE:.1f} GB are free: name another --folder, "
            "or fewer --rows"
        )


def _write(folder: Path, rows: int, names: list[str], say: Callable[[str], None]) -> None:
    """The table in parts, of which those of the first tenth have names of their own."""
    for part in range(_PARTS):
        own = rows * (part + 1) // _PARTS - rows * part // _PARTS
        kind = "first" if part < _FIRST else "other"
        write(folder / f"{kind}-{part:02}.parquet", own, names, np.random.default_rng(part))
        say(f"written: part {part + 1} of {_PARTS}")


def _in_process(*words: str, count: int = 0) -> dict[str, Any]:
    """What `main` prints, run in a new process."""
    command = [sys.executable, "-P", "-m", "benchmarks.dask_scale", str(count), *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Scan a tenth of a table and all of it, and print seconds, peaks and digests of the totals as JSON."""
    count, where, folder, *names = sys.argv[1:]
    question = gram(len(names))
    executor = ThreadPoolExecutor(1) if where == "threads" else _joined(where, int(count))
    tenth, whole = (PrivateTable.open(f"{folder}/{name}*.parquet", names) for name in ("first", ""))
    digests = [_digest(scan(tenth, question, executor))]
    peaks = [_peaks(executor)]
    seconds, before = [], _from_disk(executor)
    for _ in range(_REPEATS):
        began = time.perf_counter()
        digests.append(_digest(scan(whole, question, executor)))
        seconds.append(time.perf_counter() - began)
    peaks.append(_peaks(executor))
    told = {"seconds": min(seconds), "digests": digests, "from_disk": _from_disk(executor) - before}
    print(json.dumps(told | {"client_peaks": [own for own, _ in peaks], "worker_peaks": [each for _, each in peaks]}))


def _joined(address: str, workers: int) -> Cluster:
    """The cluster, once all its workers are there.

    Raises:
        TimeoutError: they are not after a minute.
    """
    until = time.monotonic() + _JOIN_SECONDS
    while len(_on_workers(address, peak)) < workers:
        if time.monotonic() > until:
            raise TimeoutError("the Dask workers of this machine did not start")
        time.sleep(0.2)
    cluster = Cluster(address)
    cluster.check()
    return cluster


def _on_workers(address: str, asked: Callable[[], int]) -> list[int]:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return [int(value) for _, value in sorted(client.run(asked).items())]


def _digest(totals: Any) -> str:
    return hashlib.sha256(b"".join(totals[name].tobytes() for name in totals)).hexdigest()


def _peaks(executor: Executor) -> tuple[int, list[int]]:
    """Largest resident bytes so far, of this process and of each worker."""
    return peak(), _on_workers(executor.address, peak) if isinstance(executor, Cluster) else []


def _from_disk(executor: Executor) -> int:
    """Bytes that were not in the page cache, of all that read."""
    return sum(_on_workers(executor.address, _bytes_read)) if isinstance(executor, Cluster) else _bytes_read()


def _bytes_read() -> int:
    """Bytes that this process has had fetched from a disk; 0 where the kernel does not tell."""
    told = Path("/proc/self/io")
    if not told.exists():
        return 0
    return int(next(line for line in told.read_text().splitlines() if line.startswith("read_bytes")).split()[1])


if __name__ == "__main__":
    main()
