"""The Prefect server of flows: `PREFECT_API_URL` if it is set, else a server only for this command.

`running` is entered before Prefect is imported, because Prefect reads its settings on import. The private server has
its database in `.pubpriv/prefect` next to the ledger, starts while Prefect is being imported, sends nothing to other
machines, and prints nothing.
"""

import http.client
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pubpriv.errors import Unavailable
from pubpriv.flows import processes

PATIENCE = 90
"""Seconds within which a server has to answer: the first start in a folder makes its database."""

QUIET_SERVER = {
    # nothing leaves this machine, and the UI contacts no other host
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    # SQLite has one writer at a time: task states come in few transactions, a second after they are made; below a
    # second the server never waits, and a processor is busy for as long as it runs
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
"""Environment of the Prefect servers that we start."""

HEARTBEAT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
"""Seconds between signs of life of our deployments' runs: the least that Prefect allows; its default is 180."""

_SHUTDOWN_SECONDS = 10
_CONSOLE_LEVEL = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"


@contextmanager
def environment(values: Mapping[str, str], alone: bool = False) -> Iterator[None]:
    """Set environment variables for a while.

    Args:
        values: values by name.
        alone: unset all other variables meanwhile.
    """
    before = {name: os.environ.get(name) for name in ({*os.environ, *values} if alone else values)}
    for name in before:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def running(ledger_url: str, verbose: bool = False) -> Iterator[None]:
    """Provide an API for the flows of one command, and Prefect's settings for them.

    Args:
        ledger_url: ledger, next to whose file Prefect's files are kept.
        verbose: show Prefect's own log lines on the console, from INFO on.

    Raises:
        Unavailable: the private server did not start; its log is `server.log` in the folder of Prefect's files.
    """
    level = os.environ.get("PREFECT_LOGGING_LEVEL", "INFO" if verbose else "WARNING")
    shared = {"DO_NOT_TRACK": "1", "PREFECT_LOGGING_LEVEL": level, "PYTHONSAFEPATH": "1"}
    if not verbose:
        # a refusal is one line; Prefect would print a traceback before it (which its own log keeps)
        shared[_CONSOLE_LEVEL] = os.environ.get(_CONSOLE_LEVEL, "CRITICAL")
    if os.environ.get("PREFECT_API_URL"):
        with environment(shared):
            yield
        return
    home = _prefect_home(ledger_url)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    private = QUIET_SERVER | {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(PATIENCE),
    }
    with environment(shared | private), _server(home) as port:
        api = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
        with environment(api), _settings(private | api):
            _await_health(port, home)
            started = datetime.now(UTC)
            try:
                yield
            finally:
                _send_what_is_queued()
                _await_records(port, started)


def _prefect_home(ledger_url: str) -> Path:
    """Return the folder of Prefect's own files: `.pubpriv/prefect` next to an SQLite ledger, else here."""
    scheme, _, rest = ledger_url.partition("://")
    file = rest.partition("?")[0].removeprefix("/")
    local = scheme.partition("+")[0] == "sqlite" and file not in ("", ":memory:")
    beside = Path(file).expanduser().resolve().parent if local else Path.cwd()
    return beside / ".pubpriv" / "prefect"


@contextmanager
def _server(home: Path) -> Iterator[int]:
    """Start a server process and yield its port; the process ends with the block."""
    log = home / "server.log"
    log.write_bytes(b"")  # that of this command
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, number = listening.getsockname()[1], listening.fileno()
        # it works in a folder of ours: Prefect looks for files of settings in the current one
        process = processes.start("pubpriv.flows._ephemeral", [str(number)], os.environ, log, pass_fds=[number])
    try:
        yield port
    finally:
        processes.end(process)


@contextmanager
def _settings(values: dict[str, str]) -> Iterator[None]:
    """Set Prefect's settings, even if it was imported before; without heartbeats, which cost a second per flow."""
    from prefect import settings

    updates = {getattr(settings, name): value for name, value in values.items() if name.startswith("PREFECT_")}
    with settings.temporary_settings({**updates, settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


def _await_health(port: int, home: Path) -> None:
    """Wait for the first answer; the socket is open, so a request simply waits until someone serves it."""
    if ask(port, "GET", "/api/health") is not True:
        raise Unavailable(
            f"Prefect's server did not start, see {home / 'server.log'}: run again, point PREFECT_API_URL at "
            "a running server, or run without Prefect (--plain)"
        )


def _send_what_is_queued() -> None:
    """Send queued states and log lines, before the server ends."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=_SHUTDOWN_SECONDS, at_exit=False)
    EventsWorker.drain_all(timeout=_SHUTDOWN_SECONDS, at_exit=False)


def _await_records(port: int, started: datetime) -> None:
    """Wait until the server has stored how our tasks ended, because it keeps them in memory at first."""
    ours = {"expected_start_time": {"after_": started.isoformat()}}
    pending = {**ours, "state": {"type": {"any_": ["SCHEDULED", "PENDING", "RUNNING"]}}}
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    seen = -1
    while time.monotonic() < deadline:
        total = ask(port, "POST", "/api/task_runs/count", {"task_runs": ours})
        unfinished = ask(port, "POST", "/api/task_runs/count", {"task_runs": pending})
        if total is None or (total == seen and not unfinished):
            return
        seen = total
        time.sleep(0.2)


def ask(port: int, method: str, path: str, body: Any = None, timeout: float = PATIENCE) -> Any:
    """Return the answer of this machine's server as JSON data, or None without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return json.loads(response.read()) if response.status == http.client.OK else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
