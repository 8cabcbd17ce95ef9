"""A Dask cluster on this machine whose scheduler and workers are processes of their own, as those of a real one are."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

_SECONDS = 60
"""Time in which a scheduler must be there."""

_IN_MEMORY = {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
}


@dataclass
class Processes:
    """A scheduler and workers of one thread each, any of which may be killed.

    Attributes:
        folder: of files of their own; what they print goes there.
        settings: environment variables beside this process's.
    """

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False)
    scheduler: subprocess.Popen[bytes] | None = field(default=None, init=False)
    address: str = field(default="", init=False)

    def start_scheduler(self) -> None:
        """Start a scheduler on loopback, at the address of the one before if there was one.

        Raises:
            TimeoutError: it is not there after a minute.
        """
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        port = self.address.rpartition(":")[2] or "0"
        self.scheduler = self._started("scheduler", "--port", port, "--scheduler-file", str(told))
        until = time.monotonic() + _SECONDS
        while not self.address or not told.exists():
            if time.monotonic() > until:
                raise TimeoutError("the Dask scheduler of this machine did not start")
            try:
                self.address = json.loads(told.read_text())["address"]
            except (FileNotFoundError, ValueError):  # not there yet, or half of it
                time.sleep(0.05)

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker, which joins a moment later."""
        self.workers.append(
            self._started(
                *("worker", self.address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"),
                *("--local-directory", str(self.folder)),
            )
        )
        return self.workers[-1]

    def _started(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", f"distributed.cli.dask_{kind}", *options]
        command += ["--host", "127.0.0.1", "--no-dashboard"]
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment = {**os.environ, **path, **_IN_MEMORY, **self.settings}
        with (self.folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """End whatever is left; stopped processes too."""
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()


@contextmanager
def running(workers: int, settings: dict[str, str] | None = None) -> Iterator[Processes]:
    """A cluster of so many workers, until the body ends; it is killed with its files."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cluster = Processes(Path(folder), settings or {})
        try:
            cluster.start_scheduler()
            for _ in range(workers):
                cluster.start_worker()
            yield cluster
        finally:
            cluster.kill()
