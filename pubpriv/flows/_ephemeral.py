"""Serve Prefect's API for the length of one command, on a listening socket that its parent made.

`pubpriv.flows.runtime` starts it through `pubpriv.flows.processes`, so it ends when its parent does.
"""

import socket
import sys

import uvicorn
from prefect.server.api.server import create_app


def _main() -> None:
    """Serve until SIGTERM."""
    listening = socket.socket(fileno=int(sys.argv[1]))
    # what Prefect itself would start without PREFECT_API_URL: no UI, only the services a single run needs
    config = uvicorn.Config(create_app(ephemeral=True, final=True), log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    _main()
