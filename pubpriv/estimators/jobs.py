"""A run from files to a released estimate: what all estimators share, with or without an orchestrator."""

import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pubpriv.common.column_names import text_of
from pubpriv.common.periods import Span
from pubpriv.common.tables import canonical, identified, sharing
from pubpriv.curator import Curator
from pubpriv.data import cluster, stores
from pubpriv.data.categories import ByCategory, named_source
from pubpriv.data.columns import parse_columns, sources_of
from pubpriv.data.contents import Contents
from pubpriv.data.public_categories import counted_columns, groups_of, texts_of_columns
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.estimator import Estimator
from pubpriv.estimators.groups.labels import labelled, labels_of
from pubpriv.estimators.groups.plan import parts_of
from pubpriv.estimators.old_releases import columns_of_release, rows_of_release, stands_for_rows
from pubpriv.estimators.public_rows import check_public, usable
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
    """Steps that check the tables before a run, provided by a caller that knows schemas.

    Attributes:
        public: returns the public table, or refuses it.
        private: returns the handle of the private table, or refuses what it declares.
    """

    public: Step[[PublicTable], PublicTable]
    private: Step[[PrivateTable, tuple[str, ...]], PrivateTable]


@dataclass(frozen=True)
class Job:
    """A run, described by names and numbers only.

    Attributes:
        estimator: the estimator to run.
        private: private table: Parquet, CSV, Feather, SPSS, Stata or SAS; a file, folder or glob.
        public: public table; None if the method works without.
        columns: columns or expressions; None: the numeric columns of the public table.
        budget: allotment of the run, as text.
        dataset: its name in the ledger.
        ledger: URL of the ledger.
        release_id: name of the run.
        settings: settings of the estimator.
        dask: address of a Dask scheduler whose workers read the blocks; None: `PUBPRIV_DASK`, or threads.
        rows_per_person: see `Curator`.
        rows_of: name of the period whose rows are used, if the dataset has periods; None: all rows.
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
        """Make a job from settings by name; the others keep their defaults."""
        made = estimator.settings(**settings)
        table = private, public, columns
        return cls(estimator, *table, budget, dataset, ledger, release_id, made, dask, rows_per_person, rows_of)

    def public_files(self) -> tuple[str, ...]:
        """List the files that are read as public, including those that settings name: none of them may be private."""
        values, declared = chosen(self.settings), settings_of(type(self.settings))
        named = (values[each.field] for each in declared if each.about.is_file(values[each.field]))
        return *(() if self.public is None else (self.public,)), *named

    def inputs(self) -> tuple[str, ...]:
        """List the files that the released model must not overwrite."""
        return self.private, self.ledger.removeprefix("sqlite:///"), *self.public_files()

    def checked(self, public: PublicTable) -> PublicTable:
        """Return the public rows that fit the settings; see `Checks`."""
        return self.estimator.checks.public(self.settings, public)

    def advice(self, public: PublicTable) -> tuple[str, ...]:
        """Return warnings about public rows that are usable but not good, or were left out; see `Checks`."""
        return *public.notes, *self.estimator.checks.advice(self.settings, public)

    def check_size(self, public: PublicTable, n_private: int, budget: Budget) -> None:
        """Refuse a run that is certain to be too small; see `Checks`."""
        whole = budget if self.by is None else parts_of(budget)[0]
        self.estimator.checks.size(self.settings, public, n_private, whole)

    @property
    def by(self) -> str | None:
        """The column whose values (or months) define the groups; None: there are no groups.

        Raises:
            InvalidInput: groups are named, but not their column.
        """
        by, values = getattr(self.settings, "by", None), getattr(self.settings, "by_values", ())
        if by is None and values:
            raise InvalidInput("--by-values names groups: say by which column, with --by COLUMN")
        if by is None and self.label:
            raise InvalidInput(f"--label {self.label[0]} names a group: say by which column, with --by COLUMN")
        return by

    @property
    def label(self) -> tuple[str, ...]:
        """Names of groups, as `COLUMN:VALUE=NAME`."""
        return tuple(getattr(self.settings, "label", ()))

    @property
    def shares(self) -> tuple[str, ...]:
        """Columns whose values are counted, beside those of `columns`; see `counted_columns`."""
        return tuple(getattr(self.settings, "shares", ()))

    @property
    def sources_of_terms(self) -> tuple[str, ...] | None:
        """Columns in the terms of the settings that may be of texts; None: the settings have no terms."""
        sources = getattr(self.settings, "sources_of_terms", None)
        return None if sources is None else sources()

    def estimate(self, public: PublicTable, curator: Curator, runner: Runner) -> Estimate:
        """Run the estimator inside an open run."""
        estimate = self.estimator.driver(self.settings, public, curator, runner)
        by = curator.groups
        return estimate if by is None else labelled(estimate, labels_of(by, self.label))

    def check(self, tell: Callable[[str], None] = lambda _: None) -> "Checked":
        """Check all of the input, and whether the budget has room for the run.

        First the tables' names are compared with the ledger: a file that is, or could be, one of a private table is not
        opened as a public one.

        Args:
            tell: is given warnings about these names, before any table is opened.

        Raises:
            PubPrivError: as `run_job` does, before anything is spent.
        """
        budget, steps = parse_budget(self.budget), list[_Done]()
        with Ledger.open(self.ledger, create=False) as ledger:
            for line in _admitted(self, ledger):
                tell(line)
            public, private = _ingested(self, None, _recording(steps), budget, ledger, _unhashed)
            if not ledger.fitting_in(self.dataset, budget, self.rows_of):
                # refuses a new run and says what would fit; a run that already holds its budget goes on
                ledger.run(self.dataset, self.release_id).open(budget, self.rows_of)
            about = _records(self, ledger, private), ledger.run(self.dataset, self.release_id).begun() is None
        return Checked(Contents.of(private), self.advice(public), public, private, tuple(steps), *about)


@dataclass(frozen=True)
class _Done:
    """A step that was run, and its result."""

    step: Step[..., Any]
    result: Any


def _recording(steps: list[_Done]) -> Runner:
    """Return a runner that runs steps in this process, and adds them to a list."""

    def run(step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
        made = plain(step, place, *args, **kwargs)
        steps.append(_Done(step, made))
        return made

    return run


@dataclass(frozen=True)
class Checked:
    """A job that may run: what to show before anything is spent, and the open tables, for the run in this process.

    Attributes:
        contents: what the private table has.
        advice: warnings about public rows that are usable but not good.
        public: the public rows.
        private: the private table.
        steps: steps that opened them.
        records: number of records that questions count, rows or persons; None: it is private.
        new: whether the run was not begun yet.
    """

    contents: Contents
    advice: tuple[str, ...]
    public: PublicTable
    private: PrivateTable
    steps: tuple[_Done, ...] = ()
    records: int | None = None
    new: bool = False

    def shown(self, runner: Runner) -> tuple[PublicTable, PrivateTable]:
        """Return both tables, after their steps were shown to whoever follows the run."""
        for each in self.steps:
            runner(each.step.done(each.result), Place())
        return self.public, self.private


def _admitted(job: Job, ledger: Ledger) -> tuple[str, ...]:
    """Do `Job.admit` with an open ledger. Public files come first: a private table must not pass as one of them."""
    private = identified(job.private)
    ledger.refuse_private(*job.public_files())
    _refuse_shared(private, *job.public_files())
    terms = ledger.periods(job.dataset)
    _check_period(job, terms)
    named = () if job.columns is None else (*job.columns, *(text for text in job.shares if text not in job.columns))
    columns = tuple(sorted(sources_of(parse_columns(named)))) if named else ()
    warnings = () if terms is None or job.rows_of else (f"this run asks all rows: it counts in every {terms.unit}",)
    groups = () if job.by is None else (named_source(job.by),)
    if ledger.check_declared(job.dataset, NamedTable(private, columns, groups), first=True):
        return warnings
    bound = f"dataset {job.dataset} declares no table yet: this run binds it to {private}, for good, as private"
    return *warnings, bound if job.public is None else f"{bound}; {job.public} is read, and shown, as public"


def _check_period(job: Job, terms: PeriodTerms | None) -> None:
    """Refuse a period that the dataset does not have, or one that has not ended: its release is made only once."""
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
    job: Job,
    validation: Validation | None = None,
    runner: Runner = plain,
    executor: Executor | None = None,
    checked: Checked | None = None,
) -> Estimate:
    """Admit, ingest and check the tables, hold the budget, estimate, and close the run.

    Everything that can be wrong with the input is found before the run is opened. A run that fails after its
    first charge stays open, and running the job again resumes it.

    Args:
        job: the run.
        validation: checks of its tables; None: only those that the estimate needs.
        runner: runs the steps.
        executor: scans the blocks; default: the job's cluster, or threads.
        checked: this job as `Job.check` returned it in this process: no table is admitted or opened again. The door
            compares both tables with the ledger all the same, when the run is opened and when its method begins.

    Raises:
        PubPrivError: see `Curator` and the estimator.
    """
    budget = parse_budget(job.budget)
    executor = executor or _cluster(job)
    # an orchestrator keeps results, and must see that a file was replaced
    hashed = _unhashed if runner is plain else stores.content_hash
    watch = watcher.get()
    runner = watch(runner) if watch else runner
    with Ledger.open(job.ledger, create=False) as ledger:
        if checked is None:
            _admitted(job, ledger)
            public, private = _ingested(job, validation, runner, budget, ledger, hashed)
        else:
            public, private = checked.shown(runner)
        run = job.release_id, executor, job.rows_per_person
        with Curator(private, ledger, job.dataset, budget, *run) as curator:
            return job.estimate(public, curator, runner)


def _cluster(job: Job) -> Executor | None:
    """Connect to the cluster that the job names, and check it before anything is paid."""
    address = _cluster_address(job)
    if address is None:
        return None
    found = cluster.Cluster(address)
    found.check()
    return found


def _cluster_address(job: Job) -> str | None:
    """Give the address of the scheduler that the job or the environment names."""
    return job.dask or os.environ.get(cluster.Cluster.variable) or None


def _with_shares(job: Job, hashed: Callable[[str], str], runner: Runner) -> Job:
    """Name the columns that are counted among those of the job."""
    if not job.shares:
        return job
    if job.public is None:
        raise InvalidInput("levels that are counted are those of public rows: give some")
    ingest = _ingest_old_levels if stands_for_rows(job.public, job.estimator.by_column) else _ingest_levels
    found: tuple[str, ...] = runner(ingest, Place(), job.public, hashed(job.public), job.columns, job.shares)
    return replace(job, columns=found)


def _with_design(job: Job, hashed: Callable[[str], str], runner: Runner) -> Job:
    """Name the columns for which settings have terms, as those of a regression, with levels of the public rows."""
    sources = job.sources_of_terms
    if sources is None:
        return job
    if job.public is None:
        raise InvalidInput("the levels of columns are those of public rows: give some")
    levels: tuple[tuple[str, ...], ...] = runner(_ingest_texts, Place(), job.public, hashed(job.public), sources)
    settings: Any = job.settings
    return replace(job, columns=settings.columns_of_terms(dict(zip(sources, levels, strict=True))))


_Hash = Callable[[str], str]
"""Hashes the content of a public file, by its name."""


def _unhashed(_: str) -> str:
    """Hash nothing, where no result of a step is kept: the file would be read twice."""
    return ""


def _refuse_levels(job: Job) -> None:
    """Refuse a mean of numbers that stand for texts."""
    if job.columns is None:
        return
    levels = [column.source for column in parse_columns(job.columns) if column.levels is not None]
    if levels and not job.estimator.by_column:
        raise InvalidInput(f"levels of {levels[0]} are counted, which fit quantiles does: they have no mean")


def _ingested(
    job: Job, validation: Validation | None, runner: Runner, budget: Budget, ledger: Ledger, hashed: _Hash
) -> tuple[PublicTable, PrivateTable]:
    job = _with_design(_with_shares(job, hashed, runner), hashed, runner)
    _refuse_levels(job)
    terms, periods = ledger.person(job.dataset), ledger.periods(job.dataset)
    check_unit(terms, job.rows_per_person, job.rows_of, budget)
    ids = person_columns_of(terms)
    beside = ids if job.by is None else (*ids, named_source(job.by))
    public = job.checked(_public(job, validation, runner, tuple(map(text_of, beside)), hashed))
    by = _groups(job, runner, hashed)
    if by is not None:
        labels_of(by, job.label)  # refuses a wrong one before anything is spent
    dated = "" if periods is None else text_of(periods.column), job.rows_of or ""
    # as the user wrote them: an expression that is also the name of a column is refused
    named = job.columns or public.columns, job.columns is None, tuple(map(text_of, ids)), by, *dated
    private: PrivateTable = runner(_ingest_private, Place(), job.private, *named)
    if validation is not None:
        private = runner(validation.private, Place(), private, public.columns)
    records = _records(job, ledger, private)
    if records is not None:  # else the driver checks the released one
        job.check_size(public, records, budget)
    return public, private


def _records(job: Job, ledger: Ledger, private: PrivateTable) -> int | None:
    """Number of records that questions count; None: it is private."""
    terms = ledger.person(job.dataset)
    if terms is not None and job.rows_per_person == "1":
        return None if job.rows_of else terms.persons
    begun = ledger.run(job.dataset, job.release_id).begun()
    return private.n_rows if begun is None else begun[1]


def _groups(job: Job, runner: Runner, hashed: _Hash) -> ByCategory | None:
    """Groups as declared, or as found in the public rows; never as found in the private table.

    Raises:
        InvalidInput: neither exist.
    """
    if job.by is None:
        return None
    values = tuple(getattr(job.settings, "by_values", ()))
    if values:
        return ByCategory(job.by, values)
    if job.public is None:
        raise InvalidInput("without public rows, name the groups: --by-values A,B")
    found: ByCategory = runner(_ingest_groups, Place(), job.public, hashed(job.public), job.by)
    return found


def _public(
    job: Job, validation: Validation | None, runner: Runner, ids: tuple[str, ...], hashed: _Hash
) -> PublicTable:
    """The public rows of a job, validated and without the texts `ids`, columns of ids and groups; or no rows.

    Raises:
        InvalidInput: the method needs public rows and there are none, or nothing says which columns to use.
    """
    if job.public is None:
        if job.estimator.needs_public(job.settings):
            check_public(False, "", job.estimator.without_public)
        if job.columns is None:
            raise InvalidInput("without public rows, name the columns: --columns A,B")
        return PublicTable.none(job.columns)
    ingest = _ingest_old_release if stands_for_rows(job.public, job.estimator.by_column) else _ingest_public
    rows: PublicTable = runner(ingest, Place(), job.public, hashed(job.public), job.columns)
    if job.columns is None and {*ids} & {*rows.columns}:
        rows = rows.select([name for name in rows.columns if name not in ids])
    rows = rows if validation is None else runner(validation.public, Place(), rows)
    return usable(rows, job.estimator.one_law)


def check_public_file(path: str, ledger: str | None, private: str | None = None) -> None:
    """Refuse a private table that is given as public rows, in commands that open no run.

    Args:
        path: of the public rows; the file is not opened.
        ledger: URL; None: the one in `PUBPRIV_LEDGER`, if that is set and the ledger exists.
        private: a private table that the same command names.

    Raises:
        InvalidInput: the two tables share files, or could, or `path` shares files with a private table in the ledger.
    """
    if private is not None:
        _refuse_shared(canonical(private), path)
    url = _known_ledger(ledger)
    if url is not None:
        with Ledger.open(url, create=False) as books:
            books.refuse_private(path)


def check_may_be_counted(private: str, ledger: str | None) -> None:
    """Refuse to count rows outside a run if the ledger knows that their number is private.

    Args:
        private: the private table.
        ledger: as in `check_public_file`.

    Raises:
        InvalidInput: the table belongs to a dataset whose unit is a person.
    """
    url = _known_ledger(ledger)
    if url is not None:
        with Ledger.open(url, create=False) as books:
            books.refuse_to_count(private)


def _known_ledger(ledger: str | None) -> str | None:
    """URL of a ledger, or the one in `PUBPRIV_LEDGER`; None if that ledger does not exist yet."""
    url = ledger or os.environ.get(VARIABLE)
    if not url:
        return None
    return None if ledger is None and understand(url).is_missing else url


def _refuse_shared(private: str, *public: str) -> None:
    """Refuse public files that could be a file of the private table with this canonical name."""
    shared = sharing(private)
    for path in public:
        if shared(canonical(path)):
            raise InvalidInput(f"the public table {path} is part of the private table: rows cannot be both")


@step(title="ingest public table")
def _ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
    """Read the public rows in `path`; `content` is the file's hash where results are kept, so that none is outdated."""
    del content
    return PublicTable.open(path, columns)


@step(title="ingest old release")
def _ingest_old_release(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
    """Read values of the release of quantiles in `path`; see `_ingest_public`."""
    del content
    return rows_of_release(path, columns)


@step(title="ingest levels of an old release")
def _ingest_old_levels(
    path: str, content: str, columns: tuple[str, ...] | None, shares: tuple[str, ...]
) -> tuple[str, ...]:
    """Name the columns whose levels are counted, as the release in `path` has them."""
    del content
    return columns_of_release(path, columns, shares)


@step(title="ingest public groups")
def _ingest_groups(path: str, content: str, column: str) -> ByCategory:
    """Read the groups in a column of the public rows in `path`; see `_ingest_public`."""
    del content
    return groups_of(path, column)


@step(title="ingest public texts")
def _ingest_texts(path: str, content: str, columns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Read the levels of columns in `path`, none of a column of numbers; see `_ingest_public`."""
    del content
    return texts_of_columns(path, columns)


@step(title="ingest public levels")
def _ingest_levels(
    path: str, content: str, columns: tuple[str, ...] | None, shares: tuple[str, ...]
) -> tuple[str, ...]:
    """Name the columns whose levels are counted, with the levels that the public rows in `path` have."""
    del content
    return counted_columns(path, columns, shares)


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
    """Open a handle on the private table: it reads the schema and the row count, but no rows."""
    return PrivateTable.open(uri, columns, exact, person, by=by, dates=dates, period=period)
