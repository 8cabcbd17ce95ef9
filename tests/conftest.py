"""Prefect for tests that are marked with it: one server per session, its files in a folder of their own."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as searches

# their asserts are checks of tests too: rewritten, they say what they saw, and stay under `python -O`
pytest.register_assert_rewrite("helpers")

# on a busy machine a search is slow for no fault of its own: tests count work, not seconds
searches.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
searches.load_profile("unhurried")

if sys.dont_write_bytecode:
    # some hundred processes are started here; each would compile all libraries anew, which takes ten seconds of it.
    # The environment's folder keeps the compiled files, so that none lies among the sources.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(sys.prefix) / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# before anything imports Prefect, which reads its settings then
_HOME = tempfile.TemporaryDirectory(prefix="pubpriv-tests-")
os.environ.update(
    {
        "PREFECT_HOME": _HOME.name,
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",  # some seconds, for nothing that is used here
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        # as `pubpriv.flows.runtime` has it: with a transaction for each task SQLite is often locked, and who is turned
        # away then waits 2, 4, 8, 16, 32 seconds
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
        "PREFECT_API_REQUEST_TIMEOUT": "15",  # a request that a busy server forgot is made again after this, not 60 s
    }
)
os.environ.pop("PREFECT_API_URL", None)


def _one_authority() -> str:
    """A file with the first of the certificates that clients trust.

    Each client of Prefect's reads the file anew, and a run makes a dozen of them: all authorities of the world take
    twenty milliseconds. Servers of tests speak HTTP.
    """
    from certifi import contents

    end = "-----END CERTIFICATE-----"
    file = Path(_HOME.name) / "one-authority.pem"
    file.write_text(contents().partition(end)[0] + end + "\n")
    return str(file)


os.environ["PREFECT_API_SSL_CERT_FILE"] = _one_authority()


@dataclass(frozen=True)
class PrefectServer:
    """A running server; `folders` hold all that Prefect keeps: database, write-ahead log, results."""

    folders: tuple[Path, ...]

    def settle(self) -> None:
        """Let queued log lines and events reach the server."""
        from prefect.events.worker import EventsWorker
        from prefect.logging.handlers import APILogWorker

        APILogWorker.drain_all(timeout=30, at_exit=False)
        EventsWorker.drain_all(timeout=30, at_exit=False)


LONG = (
    *("test_leaks.py", "test_boundary.py", "test_passwords.py", "test_leaks_library.py", "test_outage.py"),
    *("test_commands.py", "test_ledger_races.py", "test_estimate_mixture.py", "test_kill.py", "test_hostile_folder.py"),
    # of `make test-operate`: the first sleeps for five minutes
    *("test_long_outage.py", "test_faults.py", "test_serve.py", "test_deployed_kill.py", "test_ten_at_once.py"),
    *("test_outages.py", "test_turns.py", "test_dask_faults.py", "test_browser.py", "test_operations_guide.py"),
    *("test_deployed_canary.py", "test_notified.py", "test_object_store_faults.py", "test_site.py"),
)
"""Files that take long: with several workers, none should be left for the end. What searches all that Prefect's
server keeps is early among them, for that grows with every test."""


@pytest.hookimpl(optionalhook=True)  # tests are also run without xdist
def pytest_xdist_auto_num_workers():
    """As many workers as there are processors; xdist itself counts only one for two that share a core."""
    return os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each file is one worker's, but for all tests that take the session's Prefect server: they are one worker's, too.

    Every worker would else start a server of its own, which takes twenty seconds; and they mostly wait for it, while
    the others compute. So are files whose tests fork children: the server of these imports all libraries to begin with.
    """
    from helpers.marked import take_children, take_the_server
    from xdist.scheduler import LoadFileScheduling

    class OneServer(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            name = nodeid.removeprefix(f"{file}::").partition("[")[0]
            if name in take_the_server(config.rootpath / file):
                return "a Prefect server"
            return "a fork server" if take_children(config.rootpath / file) else file

    return OneServer(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)  # before items are chosen by their marks
def pytest_collection_modifyitems(items):
    """Long files first, all else as it was; whoever takes the Prefect server is long."""
    for item in items:
        if item.get_closest_marker("prefect"):
            item.add_marker("long")
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def prefect_server():
    """The session's server, heartbeat off (it costs a second per flow)."""
    from helpers.prefect_database import lay
    from prefect import settings
    from prefect.testing import utilities

    from pubpriv.deployments.serving import free_port

    def folder() -> str:
        made = tempfile.mkdtemp(prefix="pubpriv-prefect-")
        lay(Path(made) / "prefect-test.db")
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utilities, "mkdtemp", folder)  # where the harness puts its database
        patch.setattr(utilities, "_find_available_port", free_port)  # any other is often taken until the server starts
        # the server reads the names of all time zones for each schedule: from one list, not from the system's folders
        patch.setenv("PYTHONTZPATH", "")
        with utilities.prefect_test_harness(server_startup_timeout=90):
            patch.delenv("PYTHONTZPATH")
            updates = {settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
            with settings.temporary_settings(updates):
                database = Path(str(settings.PREFECT_SERVER_DATABASE_CONNECTION_URL.value()).partition("///")[2])
                yield PrefectServer((Path(_HOME.name), database.parent))


@pytest.fixture(autouse=True)
def _server_where_marked(request):
    if request.node.get_closest_marker("prefect"):
        request.getfixturevalue("prefect_server")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of the session's own; skipped, with the reason, where its programs are missing."""
    from helpers.stores import running_postgres

    with running_postgres() as server:
        yield server


_SEEDED = ("cli", "deployments", "flows", "released", "tasks", "whole", "test_first_hour_python.py")
"""Tests of what is made of answers. Those of the door, the books, questions and the noise have real noise."""


@pytest.fixture(autouse=True, scope="module")
def _seeded_noise(request):
    """Real runs of this process draw their noise from a seed, where a test is not about noise; those of fixtures, too.

    Of sound estimates a few in ten thousand are flagged, and a few in a thousand ask one question more. Hundreds of
    tests make a real run, so one of them would fail by chance soon enough. Processes of their own have real noise.
    """
    with pytest.MonkeyPatch.context() as patched:
        if request.path.relative_to(Path(__file__).parent).parts[0] in _SEEDED:
            from helpers.seeded import SeededNoise

            from pubpriv import curator

            patched.setattr(curator, "OperatingSystemNoise", SeededNoise)
        yield


@pytest.fixture(autouse=True, scope="session")
def _public_rows_fitted_once():
    """A fit of public rows is made once in this process: hundreds of tests fit the same few, each some thirty times.

    It depends on its arguments alone; its seed is fixed. Processes of their own fit anew.
    """
    from pubpriv.estimators.mixture import public_model

    fitted, known = public_model._fitted, {}

    def remembered(rows, *how):
        key = (rows.tobytes(), rows.shape, *how)
        if key not in known:
            known[key] = fitted(rows, *how)
        return tuple(part.copy() for part in known[key])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(public_model, "_fitted", remembered)
        yield


@pytest.fixture
def in_new_process():
    """Run Python code with other hash seeds in a process of its own, and return what it prints."""

    def run(code: str, *arguments: str) -> str:
        path = os.pathsep.join(["", *sys.path])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "random"}
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
