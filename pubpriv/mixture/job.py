"""One run from files to model: what a command or a scheduled flow does, with or without an orchestrator."""

import hashlib
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from pubpriv.curator import Curator
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.mixture.pipeline import checked_public, estimate_mixture
from pubpriv.mixture.steps import PLAIN, MixtureSteps, watcher
from pubpriv.models import MixtureEstimate
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger


@dataclass(frozen=True)
class MixtureJob:
    """A run of `estimate_mixture` in names and numbers.

    Attributes:
        private: private Parquet table: file, folder or glob.
        public: public table, Parquet or CSV.
        columns: columns or expressions; None: the numeric columns of the public table.
        n_components: k.
        budget: allotment of the run, as text.
        dataset: name in the ledger.
        ledger: URL of the ledger.
        release_id: name of the run.
        method: see `estimate_mixture`.
    """

    private: str
    public: str
    columns: tuple[str, ...] | None
    n_components: int
    budget: str
    dataset: str
    ledger: str
    release_id: str
    method: str = "auto"


def run_job(job: MixtureJob, steps: MixtureSteps = PLAIN, executor: Executor | None = None) -> MixtureEstimate:
    """Ingest, check, hold, estimate, close.

    Everything that can be wrong with the input is found before the run is opened. A run that fails after its
    first charge stays open, and running the job again resumes it.

    Raises:
        PubPrivError: see `Curator` and `estimate_mixture`.
    """
    budget = parse_budget(job.budget)
    watch = watcher.get()
    steps = steps.wrapped(watch) if watch else steps
    public, private = _ingested(job, steps)
    with (
        Ledger.open(job.ledger, create=False) as ledger,
        Curator(private, ledger, job.dataset, budget, job.release_id, executor) as curator,
    ):
        return estimate_mixture(public, curator, n_components=job.n_components, method=job.method, steps=steps)


def check_job(job: MixtureJob, steps: MixtureSteps = PLAIN) -> None:
    """All that can be wrong with the input, found without opening the run. Raises as `run_job` does."""
    parse_budget(job.budget)
    _ingested(job, steps)
    with Ledger.open(job.ledger, create=False) as ledger:
        ledger.balance(job.dataset)


def _ingested(job: MixtureJob, steps: MixtureSteps) -> tuple[PublicTable, PrivateTable]:
    public = steps.ingest_public(job.public, content_hash(job.public), job.columns)
    public = checked_public(public, public.columns, job.n_components, job.method)
    private = steps.ingest_private(job.private, public.columns, job.columns is None)
    if private.covers(job.public):
        raise InvalidInput(f"the public table {job.public} is part of the private table: rows cannot be both")
    return public, private


def content_hash(path: str) -> str:
    """SHA-256 of a public file, or `missing`: what makes a cached ingestion stale."""
    file = Path(path).expanduser()
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "missing"
