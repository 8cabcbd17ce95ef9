"""`pubpriv serve` in a process of its own, and what tests ask of its server."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from helpers.prefect_database import lay

PUBPRIV = [sys.executable, "-c", "from pubpriv.cli.main import main; main()"]
PATIENCE = 150
"""Seconds that something may take which takes five."""

FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@dataclass(frozen=True)
class Served:
    """A running `pubpriv serve`.

    Attributes:
        ui, api: addresses.
        home: folder of all its files.
        ledger: URL of its ledger.
        output: folder of released models.
        server, worker: numbers of the processes.
        pool: work pool.
        process: `pubpriv serve` itself.
        seconds: from its start until it was ready.
        load: average number of processes at work or waiting for a processor in that minute.
        said: its standard output and error so far.
    """

    ui: str
    api: str
    home: Path
    ledger: str
    output: Path
    server: int
    worker: int
    pool: str
    process: subprocess.Popen
    seconds: float
    load: float
    said: Callable[[], str]

    @property
    def environment(self) -> dict[str, str]:
        """For commands that are to talk to this server."""
        return {
            **clean_environment(),
            "PREFECT_HOME": str(self.home / "prefect"),
            "PREFECT_API_URL": self.api,
            "PUBPRIV_LEDGER": self.ledger,
            "PUBPRIV_DATA": str(self.home / "data"),
            "PUBPRIV_OUTPUT": str(self.output),
        }

    @property
    def datasets(self) -> Path:
        """Folder of dataset files beside `home`, where a test gave one to `serve`: what its worker runs is in there."""
        return self.home.parent / "datasets"

    def run(self, *words: object, **more: str) -> subprocess.CompletedProcess:
        """A `pubpriv` command against this server."""
        return subprocess.run(
            [*PUBPRIV, *map(str, words)],
            env=self.environment | more,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Prefect's client of this server."""
        yield _client_of(self.api)

    def deployment(self, name: str) -> Any:
        """A deployment by its own name."""
        with self.client() as client:
            return next(each for each in client.read_deployments() if each.name == name)

    def runs(self, name: str) -> list[Any]:
        """Flow runs of a deployment, in the order in which they are due."""
        from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId

        mine = DeploymentFilter(id=DeploymentFilterId(any_=[self.deployment(name).id]))
        with self.client() as client:
            return sorted(client.read_flow_runs(deployment_filter=mine), key=lambda run: run.expected_start_time)

    def trigger(self, name: str, **parameters: Any) -> UUID:
        """A run of a deployment, as the UI's button makes one, with some parameters of its form changed."""
        deployment = self.deployment(name)
        form = {"parameters": {**deployment.parameters["parameters"], **parameters}}
        with self.client() as client:
            return client.create_flow_run_from_deployment(deployment.id, parameters=form).id

    def await_run(self, run: UUID, seconds: float = PATIENCE) -> Any:
        """The run, once it is final."""
        deadline = time.monotonic() + seconds
        with self.client() as client:
            while time.monotonic() < deadline:
                found = client.read_flow_run(run)
                if found.state is not None and found.state.type.value in FINAL:
                    return found
                time.sleep(0.5)
        raise AssertionError(f"run {found.name} is still {found.state_name}; worker log:\n{self.worker_log()}")

    def await_next(self, run: UUID, name: str, crashes: int = 1) -> Any:
        """The run that the server makes when a run of a deployment crashed, once it is final."""
        told = {"run": str(run), "crashes": crashes}
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for each in self.runs(name):
                if told.items() <= (each.parameters["parameters"].get("resumes") or {}).items():
                    return self.await_run(each.id)
            time.sleep(0.5)
        raise AssertionError(f"the server made no run after {run} crashed; worker log:\n{self.worker_log()}")

    def worker_log(self) -> str:
        """What the worker and the runs said."""
        return (self.home / "worker.log").read_text(errors="replace")

    def reread(self) -> "Served":
        """The same after a restart: processes from the ready file."""
        return _served(self.home / "ready.json", self.process, self.seconds, self.said)


@cache
def _client_of(api: str) -> Any:
    """A client for as long as this process lives: a new one takes ten times as long as what is asked of it."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: api}):
        return get_client(sync_client=True).__enter__()


def clean_environment() -> dict[str, str]:
    """This process's, without what the suite set for Prefect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "PUBPRIV_"))}
    return {**kept, "PYTHONPATH": os.pathsep.join(["", *sys.path]), "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def serving(
    home: Path, *options: object, environment: Mapping[str, str] | None = None, migrated: bool = True
) -> Iterator[Served]:
    """Start `pubpriv serve` on a free port, wait until it is ready, and end it with Ctrl-C.

    Args:
        home: folder of all its files.
        options: of the command.
        environment: more of it.
        migrated: a new home gets a database that is migrated, which saves half of the start.
    """
    home.mkdir(parents=True, exist_ok=True)
    if migrated and not (home / "prefect").exists():
        lay(home / "prefect" / "prefect.db")
    log, ready = home / "serve.log", home / "ready.json"
    ready.unlink(missing_ok=True)
    words = ["serve", "--port", 0, "--home", home, "--ready-file", ready, *options]
    began = time.monotonic()
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*PUBPRIV, *map(str, words)],
            env=clean_environment() | dict(environment or {}),
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        while not ready.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() - began < PATIENCE, log.read_text()
            time.sleep(0.05)
        yield _served(ready, process, time.monotonic() - began, log.read_text)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()


def _served(ready: Path, process: subprocess.Popen, seconds: float, said: Callable[[], str]) -> Served:
    told = json.loads(ready.read_text())
    told |= {"home": Path(told["home"]), "output": Path(told["output"])}
    return Served(**told, process=process, seconds=seconds, load=os.getloadavg()[0], said=said)


def due(run: Any) -> datetime:
    """When a run was meant to start."""
    return run.expected_start_time
