"""A web server of this machine's that keeps what it is sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Inbox:
    """What arrived.

    Attributes:
        url: where messages go.
        messages: JSON bodies, oldest first.
    """

    url: str
    messages: list[dict[str, Any]] = field(default_factory=list)

    def about(self, words: str) -> list[dict[str, Any]]:
        """Messages with these words in their subject."""
        return [each for each in self.messages if words in each["subject"]]


@contextmanager
def inbox() -> Iterator[Inbox]:
    """Listen on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            told.messages.append(json.loads(self.rfile.read(length)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told = Inbox(f"http://127.0.0.1:{server.server_port}/told")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
