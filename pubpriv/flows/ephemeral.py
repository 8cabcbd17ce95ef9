"""Prefect's API for the length of one command: ``python -P -m pubpriv.flows.ephemeral FD``, started by `runtime`.

It serves on a listening socket that its parent made, and ends when its parent does: standard input is a pipe
from there, so even a killed parent leaves no server behind.
"""

import os
import signal
import socket
import sys
import threading

import uvicorn
from prefect.server.api.server import create_app


def main() -> None:
    """Serve until the parent closes the pipe or sends SIGTERM."""
    listening = socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=_end_with_parent, daemon=True).start()

    # what Prefect itself would start without PREFECT_API_URL: no UI, only the services a single run needs
    config = uvicorn.Config(create_app(ephemeral=True, final=True), log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


def _end_with_parent() -> None:
    # the descriptor itself: a buffered reader would hold a lock that the interpreter wants at its end
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
