"""Start Python processes that end with their parent, and end them with all that they started.

A process that `start` starts has a pipe from its parent as standard input. It runs under this module (`python -P -m
pubpriv.flows.processes MODULE ARGUMENT ...`), which ends it and its descendants when the pipe closes: so they end when
the parent ends, even by kill -9. psutil knows a process by its number and the time at which it began, so a signal
never reaches another process that got the same number later.
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
"""How long a process may take to end after SIGTERM; one or two are enough, but a worker of Prefect's may hang."""


def start(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Run `python -m MODULE ARGUMENT ...` in a process that ends with this one.

    It works in the log's folder, and imports nothing from there: `-P` and PYTHONSAFEPATH keep the current folder off
    its search path, and off that of what it starts. (Isolated mode, `-I`, would drop PYTHONPATH too, where operators
    may keep the drivers of their object stores.)

    Args:
        module: to run.
        arguments: of the module.
        environment: of the process, but for entries of PYTHONPATH that are relative.
        log: file to the end of which its output goes.
        pass_fds: descriptors that stay open in it.
    """
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "pubpriv.flows.processes", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=_python_environment(environment),
            cwd=log.parent,
            pass_fds=pass_fds,
            start_new_session=True,  # Ctrl-C is for the parent, who ends its children in their order
        )


def _python_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Give an environment in which no Python process, and none that it starts, imports from its current folder.

    PYTHONPATH stays, but for entries that are empty or relative: they mean the current folder, or lie in it.
    """
    kept = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    others = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    return others | {"PYTHONSAFEPATH": "1"} | ({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})


def end(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM to a process and to what it started, and SIGKILL to those that are there after 5 seconds."""
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
    """Tell whether a process is there, and has not ended without being waited for."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _end_all(pid: int) -> None:
    """End a process and its descendants, them first: what ends at SIGTERM could end them no more."""
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
