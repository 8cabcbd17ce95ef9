"""Processes that `pubpriv serve` starts: each in a session of its own, none of them left behind.

They end when their parent ends, even by kill -9: standard input is a pipe from there, and `python -P -m
pubpriv.deployments.processes MODULE ARGUMENT ...`, which is how they are started, ends itself and all that it
started when that pipe closes. Processes are told by their number and the time they began, never by a name.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pubpriv.flows.runtime import python_command, python_environment

GRACE_SECONDS = 15
"""How long a process may take to end after SIGTERM."""


@dataclass(frozen=True)
class Child:
    """A process: its number, and when it began in ticks since the machine did, so that no other is taken for it."""

    pid: int
    began: str

    def alive(self) -> bool:
        """It is there, and at work."""
        state = _stat(self.pid)
        return state is not None and state[19] == self.began and state[0] != "Z"

    def send(self, number: signal.Signals) -> None:
        """A signal, if it is still there."""
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def start(module: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """`python -P -m MODULE ARGUMENT ...`, which ends with this process; what it says goes to the end of a file.

    Nothing of the current folder can be imported by it, or by what it starts.
    """
    with log.open("ab") as said:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            python_command("pubpriv.deployments.processes", module, *arguments),
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            env=python_environment(environment),
            cwd=log.parent,
            start_new_session=True,  # Ctrl-C is for the parent, who ends its children in their order
        )


def end(process: "subprocess.Popen[bytes]") -> None:
    """SIGTERM to a process and to what it started, and SIGKILL to whoever is still there after some seconds."""
    family = [*descendants(process.pid), *_child(process.pid)]
    for child in family:
        child.send(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and (process.poll() is None or any(child.alive() for child in family)):
        family += [child for child in descendants(process.pid) if child not in family]
        time.sleep(0.1)
    for child in family:
        child.send(signal.SIGKILL)
    process.wait()
    if process.stdin:
        process.stdin.close()


def descendants(pid: int) -> list[Child]:
    """Children of a process, their children and so on; nothing where there is no /proc."""
    parents: dict[int, list[Child]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        state = _stat(int(folder.name))
        if state is not None:
            parents.setdefault(int(state[1]), []).append(Child(int(folder.name), state[19]))
    found, rest = [], [pid]
    while rest:
        children = parents.get(rest.pop(), [])
        found += children
        rest += [child.pid for child in children]
    return found


def alive(pid: int) -> bool:
    """A child of ours has not ended."""
    state = _stat(pid)
    return state is not None and state[0] != "Z"


def _child(pid: int) -> Iterable[Child]:
    state = _stat(pid)
    return [] if state is None else [Child(pid, state[19])]


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on (its name, which stands before, may hold anything)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _end_with_parent() -> None:
    # the descriptor itself: a buffered reader would hold a lock that the interpreter wants at its end
    while os.read(0, 1):
        pass
    for child in descendants(os.getpid()):
        child.send(signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    for child in descendants(os.getpid()):
        child.send(signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run a module as `python -m` does, watched."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
