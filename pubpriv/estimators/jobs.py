"""A run from files to a released estimate: what all estimators share, with or without an orchestrator."""

import os
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pubpriv.common.periods import Span
from pubpriv.common.tables import canonical, sharing
from pubpriv.curator import Curator
from pubpriv.data import cluster, stores
from pubpriv.data.categories import ByCategory, source_of_groups
from pubpriv.data.columns import parse_columns, sources_of
from pubpriv.data.public_categories import groups_of
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.estimator import Estimator
from pubpriv.estimators.groups.plan import parts_of
from pubpriv.estimators.public_rows import check_public
from pubpriv.estimators.settings import Settings, chosen, settings_of
from pubpriv.estimators.steps import Place, Runner, Step, opening_step, plain, step, watcher
from pubpriv.ledger.unit import check_unit
from pubpriv.privacy.budgets import Budget, parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.terms import person_columns_of
from pubpriv.privacy.ledger.urls import VARIABLE, understand
from pubpriv.privacy.ledger.views import NamedTable
from pubpriv.released.estimate import Estimate


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
        private: private table: Parquet, CSV or Feather; file, folder or glob.
        public: public table; None, where the method works without.
        columns: columns or expressions; None: the numeric columns of the public table.
        budget: allotment of the run, as text.
        dataset: name in the ledger.
        ledger: URL of the ledger.
        release_id: name of the run.
        settings: of the estimator.
        dask: address of a Dask scheduler whose workers read the blocks; None: `PUBPRIV_DASK`, or threads.
        rows_per_person: see `Curator`.
        rows_of: name of the period whose rows are asked, where the dataset has periods; None: all rows.
    """

    estimator: Estimator
    private: str
    public: str | None
    columns: tuple[str, ...] | None
    budget: str
    dataset: str
    ledger: str
    release_id: str
    settings: Settings
    dask: str | None = None
    rows_per_person: str = "1"
    rows_of: str | None = None

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        private: str,
        public: str | None,
        columns: tuple[str, ...] | None,
        budget: str,
        dataset: str,
        ledger: str,
        release_id: str,
        *,
        dask: str | None = None,
        rows_per_person: str = "1",
        rows_of: str | None = None,
        **settings: Any,
    ) -> "Job":
        """Make a job with settings by name; those that are not given are at their defaults."""
        made = estimator.settings(**settings)
        table = private, public, columns
        return cls(estimator, *table, budget, dataset, ledger, release_id, made, dask, rows_per_person, rows_of)

    def public_files(self) -> tuple[str, ...]:
        """Name what is read as public, with the files that settings name: none of it may be private."""
        values, declared = chosen(self.settings), settings_of(type(self.settings))
        named = (values[each.field] for each in declared if each.about.is_file(values[each.field]))
        return *(() if self.public is None else (self.public,)), *named

    def inputs(self) -> tuple[str, ...]:
        """Return files that a model must not overwrite."""
        return self.private, self.ledger.removeprefix("sqlite:///"), *self.public_files()

    def checked(self, public: PublicTable) -> PublicTable:
        """Return public rows that fit the settings; see `Checks`."""
        return self.estimator.checks.public(self.settings, public)

    def advice(self, public: PublicTable) -> tuple[str, ...]:
        """Return what to say of public rows that will do, but not well; see `Checks`."""
        return self.estimator.checks.advice(self.settings, public)

    def check_size(self, public: PublicTable, n_private: int, budget: Budget) -> None:
        """Refuse a run that is known beforehand to be too small; see `Checks`."""
        whole = budget if self.by is None else parts_of(budget)[0]
        self.estimator.checks.size(self.settings, public, n_private, whole)

    @property
    def by(self) -> str | None:
        """The column that tells groups apart, or its month; None: there are no groups.

        Raises:
            InvalidInput: groups are named, but no column.
        """
        by, values = getattr(self.settings, "by", None), getattr(self.settings, "by_values", ())
        if by is None and values:
            raise InvalidInput("--by-values names groups: say by which column, with --by COLUMN")
        return by

    def estimate(self, public: PublicTable, curator: Curator, runner: Runner) -> Estimate:
        """Return what the job is for, in a run that is open."""
        return self.estimator.driver(self.settings, public, curator, runner)

    def admit(self) -> tuple[str, ...]:
        """Refuse tables that cannot be what they are named as. No table is opened, and nothing of it is kept.

        Returns:
            What to say before anything is read.

        Raises:
            InvalidInput: an unknown ledger or dataset; public files that are, or could be, those of a private table.
            SpecMismatch: a private table that the dataset does not declare.
        """
        with Ledger.open(self.ledger, create=False) as ledger:
            return _admitted(self, ledger)

    def check(self, validation: Validation | None = None) -> tuple[str, ...]:
        """Find all that can be wrong with the input, and whether there is room for the run. Raises as `run_job` does.

        Returns:
            What to warn of before anything is spent.
        """
        budget = parse_budget(self.budget)
        with Ledger.open(self.ledger, create=False) as ledger:
            _admitted(self, ledger)
            public, _ = _ingested(self, validation, plain, budget, ledger)
            if not ledger.fitting_in(self.dataset, budget, self.rows_of):
                # a new run is refused with what would fit; one that has its hold already goes on
                ledger.run(self.dataset, self.release_id).open(budget, self.rows_of)
        return self.advice(public)


def _admitted(job: Job, ledger: Ledger) -> tuple[str, ...]:
    """Do `Job.admit` with an open ledger: public files first, for a private one must not pass for them."""
    private = canonical(job.private)
    ledger.refuse_private(*job.public_files())
    _refuse_shared(private, *job.public_files())
    terms = ledger.periods(job.dataset)
    _check_period(job, terms)
    columns = () if job.columns is None else tuple(sorted(sources_of(parse_columns(job.columns))))
    warnings = () if terms is None or job.rows_of else (f"this run asks all rows: it counts in every {terms.unit}",)
    groups = () if job.by is None else (source_of_groups(job.by),)
    if ledger.check_declared(job.dataset, NamedTable(private, columns, groups), first=True):
        return warnings
    bound = f"dataset {job.dataset} declares no table yet: this run binds it to {private}, for good, as private"
    return *warnings, bound if job.public is None else f"{bound}; {job.public} is read, and shown, as public"


def _check_period(job: Job, terms: PeriodTerms | None) -> None:
    """Refuse a period that is none of the dataset's, or whose rows may still come: its release is made once."""
    if job.rows_of is None:
        return
    if terms is None:
        raise InvalidInput(
            f"dataset {job.dataset!r} has no periods: leave out --period {job.rows_of}, or give it some with "
            f"`pubpriv budget set {job.dataset} BUDGET --period UNIT:COLUMN --per-period BUDGET`"
        )
    terms.check_named(job.rows_of)
    span = Span.of(job.rows_of)
    if datetime.now(UTC).date() < span.end:
        raise InvalidInput(f"{span.name} has not ended (UTC), so its rows may still come: run again from {span.end} on")


def run_job(
    job: Job, validation: Validation | None = None, runner: Runner = plain, executor: Executor | None = None
) -> Estimate:
    """Admit, ingest, check, hold, estimate, close.

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
    with Ledger.open(job.ledger, create=False) as ledger:
        _admitted(job, ledger)
        public, private = _ingested(job, validation, runner, budget, ledger)
        run = job.release_id, executor, job.rows_per_person
        with Curator(private, ledger, job.dataset, budget, *run) as curator:
            return job.estimate(public, curator, runner)


def _cluster(job: Job) -> Executor | None:
    """The cluster that was asked for, found and looked at before anything is paid."""
    address = _cluster_address(job)
    if address is None:
        return None
    found = cluster.Cluster(address)
    found.check()
    return found


def _cluster_address(job: Job) -> str | None:
    """Give the address of the scheduler that was asked for."""
    return job.dask or os.environ.get(cluster.Cluster.variable) or None


def _ingested(
    job: Job, validation: Validation | None, runner: Runner, budget: Budget, ledger: Ledger
) -> tuple[PublicTable, PrivateTable]:
    terms, periods = ledger.person(job.dataset), ledger.periods(job.dataset)
    check_unit(terms, job.rows_per_person, job.rows_of, budget)
    ids = person_columns_of(terms)
    beside = ids if job.by is None else (*ids, source_of_groups(job.by))
    public = job.checked(_public(job, validation, runner, beside))
    by = _groups(job, runner)
    dated = "" if periods is None else periods.column, job.rows_of or ""
    named = public.columns, job.columns is None, ids, by, *dated
    private: PrivateTable = runner(_ingest_private, Place(), job.private, *named)
    if validation is not None:
        private = runner(validation.private, Place(), private, public.columns)
    begun = ledger.run(job.dataset, job.release_id).begun()
    rows = private.n_rows if begun is None else begun[1]
    if terms is not None and job.rows_per_person == "1":
        rows = None if job.rows_of else terms.persons
    if rows is not None:  # else the driver checks what it released
        job.check_size(public, rows, budget)
    return public, private


def _groups(job: Job, runner: Runner) -> ByCategory | None:
    """Groups as they are declared, or as public rows have them; never as the private table has them.

    Raises:
        InvalidInput: there are none of either.
    """
    if job.by is None:
        return None
    values = tuple(getattr(job.settings, "by_values", ()))
    if values:
        return ByCategory(job.by, values)
    if job.public is None:
        raise InvalidInput("without public rows, name the groups: --by-values A,B")
    found: ByCategory = runner(_ingest_groups, Place(), job.public, stores.content_hash(job.public), job.by)
    return found


def _public(job: Job, validation: Validation | None, runner: Runner, ids: tuple[str, ...]) -> PublicTable:
    """The public rows of a job, validated and without the columns of ids and groups, or a table of none.

    Raises:
        InvalidInput: there are none, and the method needs some, or nobody says which columns.
    """
    if job.public is None:
        if job.estimator.needs_public(job.settings):
            check_public(False, "", job.estimator.without_public)
        if job.columns is None:
            raise InvalidInput("without public rows, name the columns: --columns A,B")
        return PublicTable.none(job.columns)
    rows: PublicTable = runner(_ingest_public, Place(), job.public, stores.content_hash(job.public), job.columns)
    if job.columns is None and {*ids} & {*rows.columns}:
        rows = rows.select([name for name in rows.columns if name not in ids])
    return rows if validation is None else runner(validation.public, Place(), rows)


def check_public_file(path: str, ledger: str | None, private: str | None = None) -> None:
    """Refuse to read a private table as public rows, where no run is opened.

    Args:
        path: of public rows; it is not opened.
        ledger: URL; None: that of `PUBPRIV_LEDGER`, if it is set and the ledger is there.
        private: a private table that is named beside it.

    Raises:
        InvalidInput: they share files, or could, or it shares some with a private table that the ledger knows.
    """
    if private is not None:
        _refuse_shared(canonical(private), path)
    url = _known_ledger(ledger)
    if url is not None:
        with Ledger.open(url, create=False) as books:
            books.refuse_private(path)


def check_may_be_counted(private: str, ledger: str | None) -> None:
    """Refuse to count the rows of a private table where no run is opened and the ledger knows that they are private.

    Args:
        private: the table.
        ledger: as in `check_public_file`.

    Raises:
        InvalidInput: it is a table of a dataset whose unit is a person.
    """
    url = _known_ledger(ledger)
    if url is not None:
        with Ledger.open(url, create=False) as books:
            books.refuse_to_count(private)


def _known_ledger(ledger: str | None) -> str | None:
    """URL of a ledger, or that of `PUBPRIV_LEDGER`; None where there is none yet."""
    url = ledger or os.environ.get(VARIABLE)
    if not url:
        return None
    address = understand(url)
    return None if ledger is None and address.path is not None and not address.path.exists() else url


def _refuse_shared(private: str, *public: str) -> None:
    """Refuse public files of which one could be a file of the private table of this canonical name."""
    shared = sharing(private)
    for path in public:
        if shared(canonical(path)):
            raise InvalidInput(f"the public table {path} is part of the private table: rows cannot be both")


@step(title="ingest public table")
def _ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
    """The public rows in `path`; `content` is the file's hash, so that nothing stale is taken for it."""
    del content
    return PublicTable.open(path, columns)


@step(title="ingest public groups")
def _ingest_groups(path: str, content: str, column: str) -> ByCategory:
    """Groups by a column of the public rows in `path`; see `_ingest_public`."""
    del content
    return groups_of(path, column)


@opening_step(title="ingest private table")
def _ingest_private(
    uri: str,
    columns: tuple[str, ...],
    exact: bool,
    person: tuple[str, ...],
    by: ByCategory | None,
    dates: str,
    period: str,
) -> PrivateTable:
    """A handle on the private table: schema and row count are looked at, rows are not."""
    return PrivateTable.open(uri, columns, exact, person, by=by, dates=dates, period=period)
