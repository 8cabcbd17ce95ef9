"""The server of the pages: a socket of this machine, and a browser that is shown in without a trace."""

import contextlib
import os
import socket
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn

from pubpriv.errors import Unavailable
from pubpriv.web.application import Pages
from pubpriv.web.catalogue import Entry
from pubpriv.web.guard import Keys
from pubpriv.web.runs import Runs

_HOST = "127.0.0.1"


def serve(entries: dict[str, Entry], port: int | None, ready: Callable[[str], None], browser: bool) -> None:
    """Serve pages until the process is interrupted.

    Args:
        entries: datasets by name.
        port: port; None: a free one.
        ready: is told the link when the server listens.
        browser: whether to open it.

    Raises:
        Unavailable: the port is taken.
    """
    with _listening(port) as listening, TemporaryDirectory(prefix="pubpriv-open-") as folder:
        keys = Keys(listening.getsockname()[1])
        runs = Runs(Path(folder))
        application = Pages(entries, runs, keys).application()
        server = uvicorn.Server(
            uvicorn.Config(application, log_level="error", access_log=False, server_header=False, lifespan="off")
        )
        ready(keys.link)
        if browser:
            _show(keys.link, Path(folder))
        try:
            with contextlib.suppress(KeyboardInterrupt):  # how it is ended
                server.run(sockets=[listening])
        finally:
            runs.stop_all()


def _listening(port: int | None) -> socket.socket:
    with contextlib.suppress(OSError):
        return socket.create_server((_HOST, port or 0))
    raise Unavailable(f"port {port} is taken: name another with --port, or none")


def _show(link: str, folder: Path) -> None:
    """Open a browser at a file that leads to the link, which a command line would show to everybody here."""
    file = folder / "open.html"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as page:
        page.write(f'<!doctype html><title>pubpriv</title><meta http-equiv="refresh" content="0;url={escape(link)}">')
    webbrowser.open(file.as_uri())
