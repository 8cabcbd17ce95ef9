"""An S3 server on loopback (moto), which may be slow, or fail from some read on."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow.fs
import pytest

from pubpriv.data import stores

SECRET = "wJalrXUtnFEMI"


@dataclass
class ObjectStore:
    """A server while it runs.

    Attributes:
        delay: seconds before each answer.
        fails_after: reads of objects that are answered, those to come; None: all. Then each answer is an error 503.
        environment: what finds it and has its credentials.
        reads: bytes of objects that were asked for, read by read; those of HEAD requests are none.
    """

    delay: float = 0.0
    fails_after: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    reads: list[int] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def over(self, app: Any) -> Any:
        """A WSGI application with these faults in front of it."""

        def answer(environ: Any, start_response: Any) -> Any:
            time.sleep(self.delay)
            if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"].endswith(".parquet"):
                first, last = environ["HTTP_RANGE"].removeprefix("bytes=").split("-")
                with self._lock:
                    self.reads.append(int(last) - int(first) + 1)
                    if self.fails_after is not None:
                        self.fails_after -= 1
            if self.fails_after is not None and self.fails_after < 0:
                start_response("503 Service Unavailable", [("Content-Length", "0")])
                return []
            return app(environ, start_response)

        return answer

    @property
    def filesystem(self) -> Any:
        """As Arrow's."""
        endpoint = self.environment["AWS_ENDPOINT_URL"].removeprefix("http://")
        return pyarrow.fs.S3FileSystem(endpoint_override=endpoint, scheme="http", allow_bucket_creation=True)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A server with the bucket `clinic`; its address and credentials are in the environment of this process."""
    from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = ObjectStore()
    app = store.over(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    store.environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        stores._store.cache_clear()
        store.filesystem.create_dir("clinic")
        yield store
        stores._store.cache_clear()
    server.shutdown()
    thread.join()
