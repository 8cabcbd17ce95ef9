"""Where flows run: against `PREFECT_API_URL` if it is set, else against a server for this command alone.

`running` is entered before Prefect is imported, because Prefect reads its settings on import. The private
server keeps its database in `.pubpriv/prefect` beside the ledger, starts while Prefect is being imported,
sends nothing to anybody, and prints nothing.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pubpriv.errors import Unavailable

STARTUP_SECONDS = 90
"""How long a server may take to answer: the first start in a folder makes its database."""

SHUTDOWN_SECONDS = 10

CONSOLE_LEVEL = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"

SAFE_PATH = "PYTHONSAFEPATH"
"""Set, no Python process puts its current folder, or the folder of its script, on its search path."""


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs an installed module: `python -m` alone would look for it in the current folder first.

    Isolated mode (`-I`) would go too far: it drops PYTHONPATH, where operators may keep the drivers of their object
    stores, and what the process starts would not inherit it.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which no Python process, and none that it starts, imports from its current folder.

    PYTHONPATH stays, but for entries that are empty or relative: they mean the current folder, or lie in it.
    """
    kept = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    others = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return others | {SAFE_PATH: "1"} | ({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})


def prefect_home(ledger_url: str) -> Path:
    """The folder of Prefect's own files: `.pubpriv/prefect` beside an SQLite ledger, else here."""
    scheme, _, rest = ledger_url.partition("://")
    file = rest.partition("?")[0].removeprefix("/")
    local = scheme.partition("+")[0] == "sqlite" and file not in ("", ":memory:")
    beside = Path(file).expanduser().resolve().parent if local else Path.cwd()
    return beside / ".pubpriv" / "prefect"


@contextmanager
def running(ledger_url: str, verbose: bool = False) -> Iterator[None]:
    """An API for the flows of one command, and Prefect's settings for them.

    Args:
        ledger_url: tells where Prefect's files go.
        verbose: Prefect's own log lines on the console, from INFO on; otherwise none.

    Raises:
        Unavailable: the private server did not start; its log is in `server.log` of `prefect_home`.
    """
    level = os.environ.get("PREFECT_LOGGING_LEVEL", "INFO" if verbose else "WARNING")
    shared = {"DO_NOT_TRACK": "1", "PREFECT_LOGGING_LEVEL": level, SAFE_PATH: "1"}
    if not verbose:
        # a refusal is one line of ours; Prefect would put a traceback before it (its own log keeps that)
        shared[CONSOLE_LEVEL] = os.environ.get(CONSOLE_LEVEL, "CRITICAL")
    if os.environ.get("PREFECT_API_URL"):
        with _environment(shared):
            yield
        return
    home = prefect_home(ledger_url)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    private = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        "PREFECT_SERVER_UI_V2_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(STARTUP_SECONDS),
        # task states in few transactions, soon: one transaction each would lag behind the run
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "0.1",
    }
    with _environment(shared | private), _server(home) as port:
        api = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
        with _environment(api), _settings(private | api):
            _await_health(port, home)
            started = datetime.now(UTC)
            try:
                yield
            finally:
                _send_what_is_queued()
                _await_records(port, started)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in values}
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
def _server(home: Path) -> Iterator[int]:
    """The port of a server process, which is ended at the end."""
    with socket.create_server(("127.0.0.1", 0)) as listening, (home / "server.log").open("wb") as log:
        port = listening.getsockname()[1]
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            python_command("pubpriv.flows.ephemeral", str(listening.fileno())),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=python_environment(os.environ),
            cwd=home,  # a folder of ours: Prefect looks for files of settings in the current one
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C is for us: the server has to hear how the run ended
        )
    try:
        yield port
    finally:
        process.terminate()
        try:
            process.wait(SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()


@contextmanager
def _settings(values: dict[str, str]) -> Iterator[None]:
    """Prefect's settings, also where it was imported before; no heartbeat, which costs a second per flow."""
    from prefect import settings

    updates = {getattr(settings, name): value for name, value in values.items()}
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
    """States and log lines travel in the background; the server has to outlive them."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=SHUTDOWN_SECONDS, at_exit=False)
    EventsWorker.drain_all(timeout=SHUTDOWN_SECONDS, at_exit=False)


def _await_records(port: int, started: datetime) -> None:
    """Wait until the server has written how our tasks ended; it would forget what it still has in memory."""
    ours = {"expected_start_time": {"after_": started.isoformat()}}
    pending = {**ours, "state": {"type": {"any_": ["SCHEDULED", "PENDING", "RUNNING"]}}}
    deadline = time.monotonic() + SHUTDOWN_SECONDS
    seen = -1
    while time.monotonic() < deadline:
        total = ask(port, "POST", "/api/task_runs/count", {"task_runs": ours})
        unfinished = ask(port, "POST", "/api/task_runs/count", {"task_runs": pending})
        if total is None or (total == seen and not unfinished):
            return
        seen = total
        time.sleep(0.2)


def ask(port: int, method: str, path: str, body: Any = None, timeout: float = STARTUP_SECONDS) -> Any:
    """The answer of this machine's server as JSON data, or None if it gives none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return json.loads(response.read()) if response.status == http.client.OK else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
