"""Nothing that we start tells a host that nobody configured of itself, and no command says that it would. 20 s."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

START = "from pubpriv.cli.main import main; main()"

WATCHED = """
import sys
def watch(event, details):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
        host = details[1][0] if event != "socket.getaddrinfo" and isinstance(details[1], tuple) else details[0]
        if event == "socket.getaddrinfo" or isinstance(details[1], tuple):
            if str(host) not in ("127.0.0.1", "localhost", "::1", "0.0.0.0"):
                print("CONNECTS", event, flush=True)
sys.addaudithook(watch)
"""
"""Loaded by every Python process that is started: prints a line where one looks up or reaches another machine."""


def at_a_terminal(arguments, folder, home):
    """What a person sees who runs `pubpriv` for the first time, in a new home, and not in CI."""
    pid, terminal = pty.fork()
    if pid == 0:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "OPENBLAS_NUM_THREADS") if name in os.environ}
        here = {"HOME": str(home), "PYTHONPATH": str(home), "PUBPRIV_LEDGER": "sqlite:///ledger.db"}
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-c", START, *arguments], kept | here)
    printed = b""
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the end of a terminal
            break
        if not more:
            break
        printed += more
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), printed.decode()


@pytest.mark.long
@pytest.mark.timeout(240)
def test_the_first_commands_of_a_newcomer_tell_nobody(tmp_path):
    """`init` loads Prefect, which announced that it collects usage data, and looked up its maker's host."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "sitecustomize.py").write_text(WATCHED)
    init = ["init", "--dataset", "clinic", "--private", "patients.csv", "--public", "volunteers.csv", "--columns"]
    nobody = ["--person", "", "--by", "", "--period", ""]
    facts = ["visits", *nobody, "--unit", "one row", "--cap", "zcdp:1", "--estimator", "mean", "--budget", "zcdp:0.5"]
    said = ""
    for arguments in (["demo", "--tables", "."], [*init, *facts, "--register"], ["budget", "show", "clinic"]):
        code, printed = at_a_terminal(arguments, tmp_path, home)
        assert code == 0, printed
        assert "usage data" not in printed
        assert "CONNECTS" not in printed
        said += printed
    assert "1-zCDP" in said  # the programs ran


ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
"""Runs a command in a network namespace of its own: it reaches itself, and there is no route to anywhere else."""

REACHES = "import socket; socket.create_connection(('192.0.2.1', 80), 5)"


def in_no_network(*command):
    """Run a command of Python where there is no network."""
    root = Path(__file__).parents[2]
    return subprocess.run([*ALONE, sys.executable, *command], cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_every_command_of_the_tutorial_works_without_a_network():
    """Each prints what the page shows of it, and none waits for a host or complains of one."""
    if not (shutil.which("unshare") and shutil.which("ip")) or in_no_network("-c", "").returncode:
        pytest.skip("this system makes no network namespace: `unshare -rn` or `ip` is missing, or not allowed")
    assert "unreachable" in in_no_network("-c", REACHES).stderr
    page = "tests/whole/test_pages.py::test_what_a_page_tells_to_type_prints_what_it_shows[tutorial]"
    done = in_no_network("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", page)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "1 passed" in done.stdout
