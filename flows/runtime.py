"""Where flows run: against `PREFECT_API_URL` if it is set, else against a server for this command alone.

`running` is entered before Prefect is imported, because Prefect reads its settings on import. The private
server keeps its database in `.pubpriv/prefect` beside the ledger, starts while Prefect is being imported,
sends nothing to anybody, and prints nothing.
"""

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pubpriv.errors import Unavailable

STARTUP_SECONDS = 90
"""How long a server may take to answer: the first start in a folder makes its database."""

SHUTDOWN_SECONDS = 10


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
        verbose: Prefect's own log lines from INFO on; otherwise warnings only.

    Raises:
        Unavailable: the private server did not start; its log is in `server.log` of `prefect_home`.
    """
    shared = {"DO_NOT_TRACK": "1", "PREFECT_LOGGING_LEVEL": "INFO" if verbose else "WARNING"}
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
    }
    with _environment(shared | private), _server(home) as port:
        api = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
        with _environment(api), _settings(private | api):
            _await_health(port, home)
            try:
                yield
            finally:
                _send_what_is_queued()


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
            [sys.executable, "-m", "flows.ephemeral", str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTUP_SECONDS)
    try:
        connection.request("GET", "/api/health")
        healthy = connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        healthy = False
    finally:
        connection.close()
    if not healthy:
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
