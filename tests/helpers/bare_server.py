"""A Prefect server of a test's own, with no worker beside it and on any database: for faults of that database."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from helpers.prefect_database import lay
from helpers.served import PATIENCE, Served, clean_environment
from pubpriv.deployments.serving import free_port, settings
from pubpriv.flows import processes
from pubpriv.flows.runtime import ask
from pubpriv.privacy.ledger.urls import without_password


def own_database(home: Path) -> Path:
    """The file in which a server keeps everything if it is told no other database."""
    return home / "prefect" / "prefect.db"


@contextmanager
def bare_server(served: Served, home: Path, database: str | None = None) -> Iterator[Served]:
    """Start a server, for its own worker and commands to talk to.

    Args:
        served: whose ledger, dataset files and output are used.
        home: folder of all its files.
        database: URL as Prefect wants it; None: an SQLite file in `home`.
    """
    home.mkdir()
    port = free_port()
    own = settings(home, port, without_password(served.ledger), served.output)
    if database is None:
        lay(own_database(home))
    else:
        own["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database
    words = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
    process = processes.start("prefect", words, clean_environment() | own, home / "server.log")
    try:
        deadline = time.monotonic() + PATIENCE
        while ask(port, "GET", "/api/health", timeout=5) is not True:
            assert process.poll() is None, (home / "server.log").read_text()
            assert time.monotonic() < deadline, (home / "server.log").read_text()
            time.sleep(0.1)
        yield replace(served, ui=f"http://127.0.0.1:{port}", api=own["PREFECT_API_URL"], server=process.pid)
    finally:
        processes.end(process)
