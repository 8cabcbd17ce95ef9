"""A bad line between a worker and its server: slow, losing connections, or down for a while."""

import select
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from urllib.parse import urlsplit


class BadLine(socketserver.ThreadingTCPServer):
    """Passes bytes on to a server of this machine, and not always.

    Args:
        target: the server's address, as `http://127.0.0.1:4200/api`.
        delay: seconds before each piece of an answer.
        lost: each so manieth connection is closed when its first answer is due; 0: none is.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, target: str, delay: float = 0.0, lost: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        split = urlsplit(target)
        self.target, self.path = (split.hostname, split.port), split.path
        self.delay, self.lost = delay, lost
        self.numbers = count(1)
        self.down = False
        self.refused = self.cut = 0

    @property
    def api(self) -> str:
        """The server's address through this line."""
        return f"http://127.0.0.1:{self.server_address[1]}{self.path}"


class _Passing(socketserver.BaseRequestHandler):
    server: BadLine

    def handle(self) -> None:
        line = self.server
        cut = line.lost and next(line.numbers) % line.lost == 0
        if line.down:
            line.refused += 1
            return
        with socket.create_connection(line.target) as there, suppress(OSError):
            ends = {self.request: there, there: self.request}
            while not line.down:
                for end in select.select(list(ends), [], [], 0.2)[0]:
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    if end is there:
                        time.sleep(line.delay)
                        if cut:
                            line.cut += 1
                            return
                    ends[end].sendall(data)


@contextmanager
def bad_line(target: str, delay: float = 0.0, lost: int = 0) -> Iterator[BadLine]:
    """Have one for a while."""
    with BadLine(target, delay, lost) as line:
        threading.Thread(target=line.serve_forever, daemon=True).start()
        try:
            yield line
        finally:
            line.shutdown()
