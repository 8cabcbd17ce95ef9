"""Waiting for other processes and threads."""

import time
from collections.abc import Callable


def eventually(true: Callable[[], bool], what: str, seconds: float, pause: float = 0.5) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(pause)
