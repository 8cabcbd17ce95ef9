"""Everything on one machine, for evaluation: a Prefect server, a worker, slots, and the example deployments.

Not for production: one SQLite file under many writers, no authentication, and it ends with its terminal.
`docs/operations.md` says what to run instead.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from pubpriv.deployments import processes
from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.flows import allowed
from pubpriv.flows.runtime import ask

HOST = "127.0.0.1"
PATIENCE = 90
"""Seconds within which the server has to answer, and the worker to be seen: a first start makes a database."""

HEARTBEAT_SECONDS = 30

RUNS_AT_ONCE = 4
"""Of the worker: a run that waits for its dataset's slot is a process too, and must not keep out other datasets."""


Prepare = Callable[[], tuple[str, Callable[[], None]]]
"""Reads what is to be deployed: the work pool, and a function that puts it on the server once that answers."""


@dataclass(frozen=True)
class Served:
    """Where everything is; written to a ready file as JSON.

    Attributes:
        ui: address for a browser.
        api: value for PREFECT_API_URL.
        home: folder of all files: `prefect` (its database, PREFECT_HOME), `ledger.db`, `data`, logs.
        ledger: value for PUBPRIV_LEDGER, without a password.
        output: folder of released models, if no dataset names one.
        server, worker: numbers of the processes.
        pool: the work pool.
    """

    ui: str
    api: str
    home: str
    ledger: str
    output: str
    server: int
    worker: int
    pool: str

    def fault(self) -> str | None:
        """What has ended by itself, and where to read why."""
        for name, pid in (("server", self.server), ("worker", self.worker)):
            if not processes.alive(pid):
                return f"the {name} has ended: its log is {Path(self.home) / f'{name}.log'}"
        return None

    def write(self, file: Path) -> None:
        """For programs: a whole file or none."""
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        partial.replace(file)


def settings(home: Path, port: int, ledger: str, output: Path, files: Sequence[Path] = ()) -> dict[str, str]:
    """Environment of server, worker and registration: on loopback, to nobody else, and strict.

    Args:
        home: folder of all files.
        port: of the server.
        ledger: its URL.
        output: folder of released models.
        files: dataset files and folders of them, which say what runs may name.
    """
    return {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_API_PORT": str(port),
        # a worker or a command that lost its server must fail, not write to a database of its own
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
        # nothing leaves this machine
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_V2_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        # SQLite has one writer at a time: task states come in few transactions
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "0.5",
        # slots survive a restart of the server, and a killed run is noticed
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
        "PREFECT_WORKER_QUERY_SECONDS": "5",
        # a run that waits for another of its deployment tries again so soon
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "5",
        "PREFECT_CLI_PROMPT": "false",
        "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"),
        "PUBPRIV_LEDGER": ledger,
        "PUBPRIV_OUTPUT": str(output),
        "PUBPRIV_DATA": str(home / "data"),
        allowed.VARIABLE: os.pathsep.join(str(file.expanduser().resolve()) for file in files),
    }


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without other people's settings of Prefect: their server, database, profile or key."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("PREFECT_") or name.startswith("PREFECT_LOGGING_")
    }


def check(port: int) -> None:
    """Refuse what cannot work, before anything is made.

    Raises:
        InvalidInput: Prefect's debug mode is on, or the port is taken.
    """
    told = os.environ.get("PREFECT_DEBUG_MODE", "").strip().lower()
    if told in ("1", "true", "t", "yes", "y", "on"):
        raise InvalidInput(
            "PREFECT_DEBUG_MODE is on: Prefect would write what every task returns to its log table. Unset it; "
            "PREFECT_LOGGING_LEVEL=DEBUG gives the same detail without values"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            taken = True
        else:
            taken = False
    if taken:
        raise InvalidInput(f"port {port} of {HOST} is taken: choose another with --port, or stop what listens there")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server((HOST, 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def serving(home: Path, port: int, environment: dict[str, str], prepare: Prepare) -> Iterator[Served]:
    """A server and a worker, with deployments; both processes are ended at the end.

    Args:
        home: folder of all files.
        port: of the server.
        environment: made by `settings`, and in this process's own environment too.
        prepare: called while the server starts.

    Raises:
        Unavailable: one of them did not start; their logs are in `home`.
    """
    from pubpriv.privacy.ledger.urls import without_password

    everything = clean(os.environ) | environment
    server = ["server", "start", "--host", HOST, "--port", str(port)]
    with ExitStack() as stack:
        # the server sees neither the ledger nor where the tables are
        alone = {name: value for name, value in everything.items() if not name.startswith("PUBPRIV_")}
        serves = _started(stack, server, alone, home / "server.log")
        pool, register = prepare()
        _await(lambda: _answers(port), serves, home / "server.log", "Prefect's server")
        worker = ["worker", "start", "--pool", pool, "--type", "process", "--install-policy", "never"]
        worker += ["--limit", str(RUNS_AT_ONCE)]
        works = _started(stack, worker, everything, home / "worker.log")
        register()
        _await(lambda: _has_worker(port, pool), works, home / "worker.log", "the worker")
        yield Served(
            ui=f"http://{HOST}:{port}",
            api=environment["PREFECT_API_URL"],
            home=str(home),
            ledger=without_password(environment["PUBPRIV_LEDGER"]),
            output=environment["PUBPRIV_OUTPUT"],
            server=serves.pid,
            worker=works.pid,
            pool=pool,
        )


def _started(
    stack: ExitStack, arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    process = processes.start("prefect", arguments, environment, log)
    stack.callback(processes.end, process)
    return process


def _await(ready: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None:
            raise Unavailable(f"{what} ended at once: its log is {log}")
        if time.monotonic() > deadline:
            raise Unavailable(f"{what} was not ready within {PATIENCE} s: its log is {log}")
        time.sleep(0.1)


def _answers(port: int) -> bool:
    return ask(port, "GET", "/api/health", timeout=5) is True


def _has_worker(port: int, pool: str) -> bool:
    found = ask(port, "POST", f"/api/work_pools/{pool}/workers/filter", {}, timeout=5)
    return isinstance(found, list) and any(worker.get("status") == "ONLINE" for worker in found)


def wait_until_told(alive: Callable[[], str | None]) -> None:
    """Until Ctrl-C or SIGTERM, or until `alive` says what has ended.

    Raises:
        Unavailable: a child ended by itself.
    """
    told: list[int] = []
    before = {number: signal.signal(number, lambda number, _: told.append(number)) for number in _STOP}
    try:
        while not told:
            ended = alive()
            if ended is not None:
                raise Unavailable(ended)
            time.sleep(0.2)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_STOP: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
if sys.platform != "win32":
    _STOP = (*_STOP, signal.SIGHUP)
