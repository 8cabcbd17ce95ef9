"""A run from files to a released estimate: what all estimators share, with or without an orchestrator."""

import os
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from pubpriv.curator import Curator
from pubpriv.data import cluster, stores
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimate import Estimate
from pubpriv.estimators.estimator import Estimator
from pubpriv.ingest import ingest_private, ingest_public
from pubpriv.privacy.budgets import Budget, parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.settings import Settings
from pubpriv.steps import ONLY, Runner, Step, plain, watcher


@dataclass(frozen=True)
class Validation:
    """What tables are held against before a run: steps of whoever knows schemas.

    Attributes:
        public: gives the public table back, or refuses it.
        private: gives the handle back, or refuses what it declares.
    """

    public: Step[[PublicTable], PublicTable]
    private: Step[[PrivateTable, tuple[str, ...]], PrivateTable]


@dataclass(frozen=True)
class Job:
    """A run in names and numbers.

    Attributes:
        estimator: what is estimated.
        private: private Parquet table: file, folder or glob.
        public: public table, Parquet or CSV.
        columns: columns or expressions; None: the numeric columns of the public table.
        budget: allotment of the run, as text.
        dataset: name in the ledger.
        ledger: URL of the ledger.
        release_id: name of the run.
        settings: of the estimator.
        dask: address of a Dask scheduler whose workers read the blocks; None: `PUBPRIV_DASK`, or threads.
    """

    estimator: Estimator
    private: str
    public: str
    columns: tuple[str, ...] | None
    budget: str
    dataset: str
    ledger: str
    release_id: str
    settings: Settings
    dask: str | None = None

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        private: str,
        public: str,
        columns: tuple[str, ...] | None,
        budget: str,
        dataset: str,
        ledger: str,
        release_id: str,
        *,
        dask: str | None = None,
        **settings: Any,
    ) -> "Job":
        """With settings by name; those that are not given are at their defaults."""
        made = estimator.settings(**settings)
        return cls(estimator, private, public, columns, budget, dataset, ledger, release_id, made, dask)

    def inputs(self) -> tuple[str, ...]:
        """Files that a model must not overwrite."""
        own = self.estimator.checks.files(self.settings)
        return self.private, self.public, self.ledger.removeprefix("sqlite:///"), *own

    def checked(self, public: PublicTable) -> PublicTable:
        """Public rows that fit the settings; see `Checks`."""
        return self.estimator.checks.public(self.settings, public)

    def advice(self, public: PublicTable) -> tuple[str, ...]:
        """What to say of public rows that will do, but not well; see `Checks`."""
        return self.estimator.checks.advice(self.settings, public)

    def check_size(self, public: PublicTable, n_private: int, budget: Budget) -> None:
        """Refuse a run that is known beforehand to be too small; see `Checks`."""
        self.estimator.checks.size(self.settings, public, n_private, budget)

    def estimate(self, public: PublicTable, curator: Curator, runner: Runner) -> Estimate:
        """What the job is for, in a run that is open."""
        return self.estimator.driver(self.settings, public, curator, runner)


def run_job(
    job: Job, validation: Validation | None = None, runner: Runner = plain, executor: Executor | None = None
) -> Estimate:
    """Ingest, check, hold, estimate, close.

    Everything that can be wrong with the input is found before the run is opened. A run that fails after its
    first charge stays open, and running the job again resumes it.

    Args:
        job: what to run.
        validation: of its tables; None: none beside what the estimate needs.
        runner: who runs the steps.
        executor: where blocks are scanned; default: the job's cluster, or threads.

    Raises:
        PubPrivError: see `Curator` and the estimator.
    """
    budget = parse_budget(job.budget)
    executor = executor or _cluster(job)
    watch = watcher.get()
    runner = watch(runner) if watch else runner
    public, private = _ingested(job, validation, runner, budget)
    with (
        Ledger.open(job.ledger, create=False) as ledger,
        Curator(private, ledger, job.dataset, budget, job.release_id, executor) as curator,
    ):
        return job.estimate(public, curator, runner)


def check_job(job: Job, validation: Validation | None = None) -> tuple[str, ...]:
    """All that can be wrong with the input, found without opening the run. Raises as `run_job` does.

    Returns:
        What to warn of before anything is spent.
    """
    public, _ = _ingested(job, validation, plain, parse_budget(job.budget))
    with Ledger.open(job.ledger, create=False) as ledger:
        ledger.balance(job.dataset)
    return job.advice(public)


def _cluster(job: Job) -> Executor | None:
    """The cluster that was asked for, found and looked at before anything is paid."""
    address = job.dask or os.environ.get(cluster.VARIABLE)
    if not address:
        return None
    found = cluster.Cluster(address)
    found.check()
    return found


def _ingested(
    job: Job, validation: Validation | None, runner: Runner, budget: Budget
) -> tuple[PublicTable, PrivateTable]:
    public: PublicTable = runner(ingest_public, ONLY, job.public, stores.content_hash(job.public), job.columns)
    if validation is not None:
        public = runner(validation.public, ONLY, public)
    public = job.checked(public)
    private: PrivateTable = runner(ingest_private, ONLY, job.private, public.columns, job.columns is None)
    if validation is not None:
        private = runner(validation.private, ONLY, private, public.columns)
    if private.covers(job.public):
        raise InvalidInput(f"the public table {job.public} is part of the private table: rows cannot be both")
    job.check_size(public, private.n_rows, budget)
    return public, private
