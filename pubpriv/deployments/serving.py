"""Run everything on one machine, for evaluation: a Prefect server, a worker, slots, and the example deployments.

Not for production: one SQLite file under many writers, no authentication, and it ends with its terminal.
`docs/operations.md` says what to run instead.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.flows import allowed, processes
from pubpriv.flows.runtime import HEARTBEAT, PATIENCE, QUIET_SERVER, ask

_HOST = "127.0.0.1"
_PORTS, _TRIES = range(20_000, 30_000), 100
"""Ports below those that systems give to connections, and how many are tried."""

_RUNS_AT_ONCE = 4
"""Most runs of the worker: runs that wait for their dataset's slot are processes too, and must not block others."""


@dataclass(frozen=True)
class _Served:
    """Addresses and processes of a running `pubpriv serve`, as in its ready file in JSON.

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

    def write(self, file: Path) -> None:
        """Write the JSON file for programs, atomically."""
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        partial.replace(file)


def settings(home: Path, port: int, ledger: str, output: Path, files: Sequence[Path] = ()) -> dict[str, str]:
    """Make the environment of server, worker and registration: only on loopback, and strict.

    Args:
        home: folder of all files.
        port: port of the server.
        ledger: URL of the ledger.
        output: folder of released models.
        files: dataset files and folders of them, to which runs are restricted.
    """
    return QUIET_SERVER | {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_API_URL": f"http://{_HOST}:{port}/api",
        "PREFECT_SERVER_API_HOST": _HOST,
        "PREFECT_SERVER_API_PORT": str(port),
        # a worker or a command that lost its server must fail, not write to a database of its own
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
        # slots survive a restart of the server, and a killed run is noticed
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        **HEARTBEAT,
        "PREFECT_WORKER_QUERY_SECONDS": "5",
        # interval at which a run that waits for another one of its deployment tries again
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "5",
        "PREFECT_CLI_PROMPT": "false",
        "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"),
        "PUBPRIV_LEDGER": ledger,
        "PUBPRIV_OUTPUT": str(output),
        # links to report pages lead to a web server on loopback, which serves this folder
        "PUBPRIV_OUTPUT_URL": f"http://{_HOST}:{free_port()}",
        "PUBPRIV_DATA": str(home / "data"),
        allowed.VARIABLE: os.pathsep.join(str(file.expanduser().resolve()) for file in files),
    }


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without inherited settings of Prefect: server, database, profile or key."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("PREFECT_") or name.startswith("PREFECT_LOGGING_")
    }


def check(port: int) -> None:
    """Check preconditions before anything is made.

    Raises:
        InvalidInput: Prefect's debug mode is on, or the port is taken.
    """
    debug = os.environ.get("PREFECT_DEBUG_MODE", "").strip().lower()
    if debug in ("1", "true", "t", "yes", "y", "on"):
        raise InvalidInput(
            "PREFECT_DEBUG_MODE is on: Prefect would write what every task returns to its log table. Unset it; "
            "PREFECT_LOGGING_LEVEL=DEBUG gives the same detail without values"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            taken = True
        else:
            taken = False
    if taken:
        raise InvalidInput(f"port {port} of {_HOST} is taken: choose another with --port, or stop what listens there")


def free_port() -> int:
    """Find a port that nobody listens on now, and that systems do not give to those who ask for any.

    A server takes seconds to start, and in these seconds such a one would have it.

    Raises:
        Unavailable: all that were tried are taken.
    """
    for _ in range(_TRIES):
        port = secrets.choice(_PORTS)
        with suppress(OSError), socket.create_server((_HOST, port)):
            return port
    raise Unavailable(f"no port between {_PORTS.start} and {_PORTS.stop} is free: name one with --port")


@contextmanager
def serving(
    home: Path, port: int, environment: dict[str, str], prepare: Callable[[], tuple[str, Callable[[], None]]]
) -> Iterator[tuple[_Served, Callable[[], None]]]:
    """Start a server and a worker, with deployments; both processes are ended at the end.

    Args:
        home: folder of all files.
        port: port of the server.
        environment: result of `settings`, which is also in this process's own environment.
        prepare: called while the server starts; returns the work pool, and a function that registers deployments on
            the server once it answers.

    Yields:
        Addresses and processes, and a function that waits until Ctrl-C or SIGTERM, or until one of the two processes
        ends by itself, which is `Unavailable`.

    Raises:
        Unavailable: one of them did not start; their logs are in `home`.
    """
    from pubpriv.privacy.ledger.urls import without_password

    everything = clean(os.environ) | environment
    server = ["server", "start", "--host", _HOST, "--port", str(port)]
    with ExitStack() as stack:
        # the server gets neither the ledger nor the locations of tables
        alone = {name: value for name, value in everything.items() if not name.startswith("PUBPRIV_")}
        serves = _started(stack, server, alone, home / "server.log")
        _started(stack, _shows(environment), alone, home / "reports.log", "http.server")
        pool, register = prepare()
        _await(lambda: _answers(port), serves, home / "server.log", "Prefect's server")
        worker = ["worker", "start", "--pool", pool, "--type", "process", "--install-policy", "never"]
        worker += ["--limit", str(_RUNS_AT_ONCE)]
        works = _started(stack, worker, everything, home / "worker.log")
        register()
        _await(lambda: _has_worker(port, pool), works, home / "worker.log", "the worker")
        served = _Served(
            ui=f"http://{_HOST}:{port}",
            api=environment["PREFECT_API_URL"],
            home=str(home),
            ledger=without_password(environment["PUBPRIV_LEDGER"]),
            output=environment["PUBPRIV_OUTPUT"],
            server=serves.pid,
            worker=works.pid,
            pool=pool,
        )
        yield served, lambda: _wait_for_signal({"server": serves, "worker": works}, home)


def _shows(environment: Mapping[str, str]) -> list[str]:
    """Arguments of Python's own web server, which serves released models and report pages; both are public."""
    Path(environment["PUBPRIV_OUTPUT"]).mkdir(parents=True, exist_ok=True)
    port = environment["PUBPRIV_OUTPUT_URL"].rpartition(":")[2]
    return ["--bind", _HOST, "--directory", environment["PUBPRIV_OUTPUT"], port]


def _started(
    stack: ExitStack, arguments: Sequence[str], environment: Mapping[str, str], log: Path, module: str = "prefect"
) -> "subprocess.Popen[bytes]":
    process = processes.start(module, arguments, environment, log)
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


def _wait_for_signal(children: "Mapping[str, subprocess.Popen[bytes]]", home: Path) -> None:
    stop = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if sys.platform != "win32" else ()))
    received: list[int] = []
    before = {number: signal.signal(number, lambda number, _: received.append(number)) for number in stop}
    try:
        while not received:
            for name, child in children.items():
                if child.poll() is not None:
                    raise Unavailable(f"the {name} has ended: its log is {home / f'{name}.log'}")
            time.sleep(0.2)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
