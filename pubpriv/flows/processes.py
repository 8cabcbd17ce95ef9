"""Start Python processes that end with their parent, and end them together with their descendants.

A process that `start` starts has a pipe from its parent as standard input. It runs under this module (`python -P -m
pubpriv.flows.processes MODULE ARGUMENT ...`), which ends it and its descendants when the pipe closes: so they end when
the parent ends, even by kill -9. psutil identifies a process by its number and its start time, so a signal never
reaches another process that got the same number later.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

_GRACE_SECONDS = 5
"""Time for a process to end after SIGTERM; one or two seconds are enough, but a Prefect worker may hang."""


def start(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    pass_fds: Sequence[int] = (),
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Run `python -m MODULE ARGUMENT ...` in a process that ends with this one.

    It imports nothing from its current folder: `-P` and PYTHONSAFEPATH keep that folder off its search path, and off
    that of its own child processes. (Isolated mode, `-I`, would also drop PYTHONPATH, in which operators may have the
    drivers of their object stores.)

    Args:
        module: module to run.
        arguments: arguments of the module.
        environment: environment of the process; relative entries of PYTHONPATH are left out.
        log: file to which its output is appended.
        pass_fds: descriptors that stay open in the process.
        folder: its current folder; None: the log's.
    """
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "pubpriv.flows.processes", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=_python_environment(environment),
            cwd=folder or log.parent,
            pass_fds=pass_fds,
            start_new_session=True,  # Ctrl-C goes to the parent, which ends its children in order
        )


def _python_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python processes, and their children, do not import from the current folder.

    PYTHONPATH stays, except for empty or relative entries, which mean the current folder or lie in it.
    """
    kept = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    others = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return others | {"PYTHONSAFEPATH": "1"} | ({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})


def end(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM to a process and its descendants, and SIGKILL to those that still run after 5 seconds."""
    if process.poll() is None:
        _end_all(process.pid)
    process.wait()
    if process.stdin:
        process.stdin.close()


def _descendants(pid: int) -> "list[psutil.Process]":
    """List the children of a process, their children and so on; none if it has ended."""
    import psutil

    found: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        found = psutil.Process(pid).children(recursive=True)
    return found


def _alive(process: "psutil.Process") -> bool:
    """Check whether a process exists and is not a zombie."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _end_all(pid: int) -> None:
    """End the descendants of a process and then itself: after SIGTERM it could not end them any more."""
    import psutil

    found: list[psutil.Process] = []
    deadline = time.monotonic() + _GRACE_SECONDS
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while not found or (any(map(_alive, found)) and time.monotonic() < deadline):
            new = [each for each in (*_descendants(pid), process) if each not in found]
            _send(new, signal.SIGTERM)
            found += new
            time.sleep(0.1)
    _send(found, signal.SIGKILL)


def _send(found: "Sequence[psutil.Process]", number: signal.Signals) -> None:
    import psutil

    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _end_with_parent() -> None:
    # the descriptor itself: a buffered reader would hold a lock that the interpreter wants at its end
    while os.read(0, 1):
        pass
    _end_all(os.getpid())


def _main() -> None:
    """Run a module as `python -m` does, until it ends or the parent does."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
