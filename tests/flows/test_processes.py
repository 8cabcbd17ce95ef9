"""Processes that end with their parent, and are ended with all that they started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pubpriv.flows import processes

pytestmark = pytest.mark.long

SLEEP = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', 'import time; time.sleep(600)'])"
PARENT = f"""
import os, sys, time
from pathlib import Path
from pubpriv.flows import processes
processes.start("timeit", ["-n1", "-r1", {SLEEP!r}], os.environ, Path(sys.argv[1]))
time.sleep(600)
"""
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def family(pid: int, n: int) -> list[psutil.Process]:
    """The descendants of a process, once there are `n`."""
    deadline = time.monotonic() + 60
    while len(found := psutil.Process(pid).children(recursive=True)) < n and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(found) == n
    return found


def ended(found: list[psutil.Process], seconds: float) -> bool:
    """All are gone in time; a process that only waits to be collected is gone."""
    _, left = psutil.wait_procs(found, timeout=seconds)
    return all(each.status() == psutil.STATUS_ZOMBIE for each in left if each.is_running())


def test_what_was_started_ends_with_its_parent_even_by_kill_9(tmp_path):
    """The watched process, and the process that it started."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path / "log")])
    found = family(parent.pid, 2)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert ended(found, 30)


def test_an_end_is_the_end_of_what_a_process_started(tmp_path):
    """Both get SIGTERM; neither is left."""
    process = processes.start("timeit", ["-n1", "-r1", SLEEP], os.environ, tmp_path / "log")
    found = [psutil.Process(process.pid), *family(process.pid, 1)]
    processes.end(process)
    assert ended(found, 30)
    processes.end(process)  # again: nothing is left to end


def test_who_does_not_end_is_killed(tmp_path, monkeypatch):
    """After the grace, whatever it does with SIGTERM."""
    monkeypatch.setattr(processes, "_GRACE_SECONDS", 2)
    process = processes.start("timeit", ["-n1", "-r1", STUBBORN], os.environ, tmp_path / "log")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _ignores_sigterm(process.pid):
        time.sleep(0.1)
    processes.end(process)
    assert process.returncode == -signal.SIGKILL


def _ignores_sigterm(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith("SigIgn"))
    return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
