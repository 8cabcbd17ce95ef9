"""Datasets whose runs are stopped in mid-way: tables that take a while, a worker of their own, and their books."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from helpers.datasets import write_dataset
from helpers.paid import assert_paid_once
from helpers.served import PATIENCE, Served
from helpers.waiting import eventually
from pubpriv.privacy.ledger import Ledger

ROWS = 400_000

MIXTURE = {"name": "mixture", "estimator": "mixture", "allotment": "zcdp:0.5", "settings": {"components": 2}}


@dataclass(frozen=True)
class Frail:
    """A deployed dataset on a server.

    Attributes:
        served: the server.
        name: of the dataset.
        pool: whose worker runs it.
    """

    served: Served
    name: str
    pool: str

    @property
    def deployment(self) -> str:
        """Name of its one deployment."""
        return f"{self.name}.mixture"

    def trigger(self, release_id: str) -> UUID:
        """Ask for a release."""
        return self.served.trigger(self.deployment, release_id=release_id)

    def model(self, release_id: str) -> Path:
        """Where a release is kept."""
        return self.served.output / "models" / self.name / f"{release_id}.json"

    def records(self, release_id: str) -> list[tuple[str, str]]:
        """(kind, label) of everything about the charges of a release, oldest first."""
        with Ledger.open(self.served.ledger, create=False) as ledger:
            mine = [record for record in ledger.records(self.name) if record.release_id == release_id]
        labels = {record.key: record.facts()["label"] for record in mine if record.kind == "charged"}
        return [(record.kind, labels[record.key]) for record in mine if record.key is not None]

    def answers(self, release_id: str) -> dict[str, str]:
        """Published answers by label, as the ledger keeps them."""
        with Ledger.open(self.served.ledger, create=False) as ledger:
            mine = [record for record in ledger.records(self.name) if record.release_id == release_id]
        labels = {record.key: record.facts()["label"] for record in mine if record.kind == "charged"}
        return {labels[record.key]: record.body for record in mine if record.kind == "published"}

    def bill(self, release_id: str) -> dict[str, int]:
        """What each charge of a release cost, by label."""
        with Ledger.open(self.served.ledger, create=False) as ledger:
            return {
                charge.label: charge.price_ledger.main for charge in ledger.run(self.name, release_id).bill().charges
            }

    def await_answers(self, release_id: str, count: int) -> None:
        """Wait until so many answers of a release are published: looked for often, once its run has begun."""
        with Ledger.open(self.served.ledger, create=False) as ledger:
            begun = ledger.run(self.name, release_id).begun
            eventually(lambda: begun() is not None, "a run begins", PATIENCE, 0.2)

            def answered() -> bool:
                kinds = [record.kind for record in ledger.records(self.name) if record.release_id == release_id]
                return kinds.count("published") >= count

            eventually(answered, "answers", PATIENCE, 0.005)


def deploy(served: Served, folder: Path, name: str, pool: str) -> Frail:
    """Write tables of three columns in two far groups, the same for every name, and register the dataset."""
    folder.mkdir()
    generator = np.random.default_rng(17)
    for part, n in (("private", ROWS), ("public", 12)):
        rows = generator.standard_normal((n, 3)) + 12.0 * (np.arange(n) % 3 == 2)[:, None]
        table = pa.table(dict(zip("abc", rows.T, strict=True)))
        pq.write_table(table, folder / f"{name}-{part}.parquet", row_group_size=50_000)
    more = {"pool": pool, "concurrency": {"runs": 1, "wait_seconds": 120}}
    file = write_dataset(served.datasets, name, folder, "zcdp:2", MIXTURE | {"period": "year"}, **more)
    done = served.run("deploy", file, "--set-budget")
    assert done.returncode == 0, done.stdout + done.stderr
    return Frail(served, name, pool)


def final(frail: Frail, release_id: str):
    """A run that completed the release, whichever attempt it was."""

    def completed() -> bool:
        return any(
            run.state_name == "Completed"
            for run in frail.served.runs(frail.deployment)
            if run.name == f"{frail.name}-{release_id}"
        )

    eventually(completed, f"release {release_id} completes", 400)


def carried_through(frail: Frail, before: dict[str, str], release_id: str = "r1") -> None:
    """The release is there, with the answers that it had, each question paid once."""
    final(frail, release_id)
    assert frail.answers(release_id).items() >= before.items()
    assert_paid_once(frail.served.ledger, frail.name, release_id)


class Worker:
    """`prefect worker start` on a pool, which can be killed with all that it started."""

    def __init__(self, served: Served, pool: str, log: Path, **settings: str) -> None:
        words = ["-m", "prefect", "worker", "start", "--pool", pool, "--type", "process", "--install-policy", "never"]
        more = {"PREFECT_WORKER_QUERY_SECONDS": "3", "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
        more |= {"PUBPRIV_OUTPUT": str(served.output), "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false"}
        environment = served.environment | more | {"PUBPRIV_ALLOW": str(served.datasets)} | settings
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, *words], env=environment, stdout=said, stderr=said, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """It has not ended by itself."""
        return self._process.poll() is None

    def kill(self) -> None:
        """kill -9: the worker first, so that it tells nobody, and then the runs that it started."""
        family = psutil.Process(self._process.pid).children(recursive=True)
        os.kill(self._process.pid, signal.SIGKILL)
        for child in family:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self._process.wait()

    def stop(self) -> None:
        """As an operator does: Prefect's worker may hang at its end, once it has run something."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def working(served: Served, pool: str, log: Path, **settings: str) -> Iterator[Worker]:
    """A worker for a while, with more settings in its environment."""
    worker = Worker(served, pool, log, **settings)
    try:
        yield worker
    finally:
        worker.stop()


def prefect(served: Served, *words: object) -> str:
    """What a `prefect` command says to an operator of this server."""
    command = [sys.executable, "-m", "prefect", "--no-prompt", *map(str, words)]
    done = subprocess.run(command, env=served.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def flow_processes(worker: int, run: UUID) -> list[int]:
    """Processes under a worker that are at work on a flow run."""
    found = []
    for child in psutil.Process(worker).children(recursive=True):
        try:
            environment = Path(f"/proc/{child.pid}/environ").read_bytes()
        except OSError:
            continue
        if str(run).encode() in environment:
            found.append(child.pid)
    return found
