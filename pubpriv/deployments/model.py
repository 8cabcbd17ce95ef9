"""Contents of the files in `deployments/datasets`: a dataset with its releases, or an audit of a ledger."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from pubpriv.common.column_names import split_columns
from pubpriv.common.lake_names import LakeName, location_of
from pubpriv.deployments._parts import BLOCK, Notify, Part, Schedule, said, wrong_at
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS, estimator_named
from pubpriv.flows.audit_ledger import AuditParameters
from pubpriv.flows.parameters import NAME, Parameters, form_of
from pubpriv.flows.periods import Period
from pubpriv.privacy.budgets import Budget, parse_budget
from pubpriv.privacy.ledger.period_terms import PeriodTerms, agreed

_COMMON = frozenset(Parameters.model_fields)
_PLACE = re.compile(r"/|~/|[a-z][a-z0-9+.-]*://|\{\{ \$")

_SHORT_NAME, _VARIABLE = r"^[a-z0-9][a-z0-9-]{0,39}$", r"^[A-Z][A-Z0-9_]*$"
PATTERNS = {
    NAME: "write up to 100 letters, digits and ._:-, beginning with a letter or digit",
    _SHORT_NAME: "write up to 40 small letters, digits and dashes",
    BLOCK: "write TYPE/NAME of a block on the Prefect server, such as slack-webhook/on-call, which has the address",
    _VARIABLE: "write the name of an environment variable, such as PUBPRIV_LEDGER, that is set where runs are at work",
}
"""Descriptions of patterns in words."""

EXAMPLES = {
    "dataset": "patients",
    "unit": "one patient",
    "cap": "zcdp:1.0, or approx:1.0,1e-6",
    "allotment": "zcdp:0.1, or approx:0.5,1e-7",
    "columns": "[age, log1p(cost)]",
    "releases": "a list, each item of which begins with `- name:`",
    "settings": "{components: 3}",
    "notify": "[{block: slack-webhook/on-call, on: [failed, crashed, low]}]",
    "schedule": '{cron: "15 2 * * *", timezone: Europe/Berlin}',
    "period": "month Europe/Berlin",
}
"""Examples of fields, for messages about values of the wrong type."""

OTHER_NAMES = {
    "budget": "what all releases may spend together is the cap, and what one run may spend the allotment of a release",
    "release": "its releases are a list, under releases",
    "private_table": "the private table is private",
    "public_table": "the public table is public",
    "rows_of": "a table that grows has periods and per_period",
}
"""Where else a field of this name may be, for messages."""

SETTINGS = frozenset(name for estimator in ESTIMATORS for name in form_of(estimator).model_fields) - _COMMON
"""Names of settings of all estimators."""

_ShortName = Annotated[str, Field(pattern=_SHORT_NAME)]
_Variable = Annotated[str, Field(pattern=_VARIABLE)]


class _Concurrency(Part):
    """How many deployed runs of the dataset may run at once, and how long one waits for another."""

    runs: int = Field(default=1, ge=1, le=100)
    wait_seconds: float = Field(default=600, ge=1, le=86_400)


class Series(Part):
    """One series of releases: an estimator, what a run may spend, and when.

    Attributes:
        name: name of the series, in the deployment's name and before the period in release ids.
        estimator: name of one of `pubpriv.estimators`.
        allotment: allotment of one run.
        settings: settings of the estimator, as in its form in the UI.
        schedule: schedule of runs; None: runs are started by hand.
        period: period of one release; default: from the schedule. With a coarser period several runs share a
            release, and the first one pays.
        skip_if_later_than: a scheduled run that could not begin within this number of seconds after its time is
            skipped with a notice, and charges nothing; default: the time until the schedule fires again.
        catchup: true: a scheduled run is made however late it is, from the table at that time.
        rows_per_person: if the unit is a person: rows of each that count in full, or `auto`.
        all_rows: if the dataset has periods: ask all rows, which counts in every period; otherwise ask those of the
            last period that ended before the run was due.
        description: text for the UI.
    """

    name: _ShortName
    estimator: Literal[tuple(estimator.name for estimator in ESTIMATORS)]  # type: ignore[valid-type]
    allotment: str
    settings: dict[str, Any] = Field(default_factory=dict)
    schedule: Schedule | None = None
    period: str | None = None
    skip_if_later_than: int | None = Field(default=None, ge=60, le=366 * 86_400)
    catchup: bool = False
    rows_per_person: str = "1"
    all_rows: bool = False
    description: str | None = None

    @field_validator("allotment")
    @classmethod
    def _is_budget(cls, text: str) -> str:
        parse_budget(text)
        return text

    @field_validator("period")
    @classmethod
    def _is_period(cls, text: str | None) -> str | None:
        return None if text is None else str(Period.parse(text))

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        allowed = sorted(set(form_of(estimator_named(self.estimator)).model_fields) - _COMMON)
        odd = sorted(set(self.settings) - set(allowed))
        if odd:
            raise ValueError(f"settings of {self.estimator} are {', '.join(allowed)}, not {', '.join(odd)}")
        return self

    @model_validator(mode="after")
    def _late_or_not(self) -> Self:
        if self.skip_if_later_than is not None and self.catchup:
            raise ValueError("give skip_if_later_than, or catchup: true, which never skips, and not both")
        if self.schedule is None and (self.catchup or self.skip_if_later_than is not None):
            raise ValueError("give skip_if_later_than or catchup only with a schedule: a run by hand is never late")
        return self


class Dataset(Part):
    """A dataset with its tables, its budget and its releases.

    Attributes:
        dataset: name in the ledger.
        unit: what one record stands for.
        person: id columns, if all rows of a person are protected together; never changes.
        persons: number of persons, if it may be public.
        no_line_breaks: the owner declares that no cell of the private table contains a line break; with `person` a CSV
            file needs it.
        another_table: the private table has the columns, and where that is public the number of rows, of another
            dataset's, and yet other rows; nothing checks it.
        cap: budget of the dataset, for all releases together and forever.
        table_changes: the owner declares that rows are added, or corrected, between scheduled runs; nothing checks
            it. A schedule needs it, or `periods`, or a table of Delta Lake or Iceberg without a version, whose newest
            version is read.
        periods: if the table grows: `month:visit_date`, the unit of its periods and the date column.
        per_period: cap of each period; never changes.
        ledger: environment variable with the ledger's URL, set where runs work.
        private, public: tables; without `public` all releases need methods that work without public rows.
        columns: columns of both tables; default: the numeric columns of the public table.
        output: folder of released models and reports; PUBPRIV_OUTPUT of the runs.
        dask: scheduler whose workers read the private table; PUBPRIV_DASK of the runs, or none.
        pool: work pool.
        concurrency: limit for all its deployments together.
        releases: one or more series of releases.
        notify: notices about its runs, its budget and its ledger.
        description: text for people.
    """

    dataset: str = Field(pattern=NAME)
    unit: str = Field(min_length=1)
    person: tuple[str, ...] = ()
    persons: int | None = Field(default=None, ge=1)
    no_line_breaks: bool = False
    another_table: bool = False
    cap: str
    table_changes: bool = False
    periods: str | None = None
    per_period: str | None = None
    ledger: _Variable = "PUBPRIV_LEDGER"
    private: str
    public: str | None = None
    columns: tuple[str, ...] | None = None
    output: str | None = None
    dask: str | None = None
    pool: str = "pubpriv"
    concurrency: _Concurrency = _Concurrency()
    releases: tuple[Series, ...]
    notify: tuple[Notify, ...] = ()
    description: str | None = None

    _forms: dict[str, Parameters] = PrivateAttr(default_factory=dict)

    @field_validator("person", "columns", mode="before")
    @classmethod
    def _are_names(cls, names: Any) -> Any:
        """Take one name, or some with commas between them, as a list of them."""
        return split_columns(names) if isinstance(names, str) else names

    @field_validator("cap")
    @classmethod
    def _is_budget(cls, text: str) -> str:
        parse_budget(text)
        return text

    @field_validator("private", "public", "output")
    @classmethod
    def _is_place(cls, place: str | None) -> str | None:
        return None if place is None else _refuse_relative(place)

    @property
    def period_terms(self) -> PeriodTerms | None:
        """Terms of its periods; None if the table has no periods."""
        if self.periods is None or self.per_period is None:
            return None
        return PeriodTerms.parse(self.periods, parse_budget(self.per_period))

    @model_validator(mode="after")
    def _periods_fit(self) -> Self:
        if (self.periods is None) != (self.per_period is None):
            raise ValueError("a table that grows takes both periods (month:COLUMN) and per_period, the cap of each")
        agreed(self.dataset, None, self.period_terms, parse_budget(self.cap), bool(self.person), None)
        if self.periods is None and any(release.all_rows for release in self.releases):
            raise ValueError("all_rows is for datasets with periods: leave it out")
        return self

    @model_validator(mode="after")
    def _releases_fit(self) -> Self:
        names = [release.name for release in self.releases]
        if not names:
            raise ValueError("give at least one release")
        if self.persons is not None and not self.person:
            raise ValueError("persons says how many persons there are: name their id columns too, as person")
        cap = parse_budget(self.cap)
        for number, release in enumerate(self.releases):
            if release.name in names[:number]:
                text = f"each release needs a name of its own: {release.name} is there twice"
                raise wrong_at(text, "releases", number, "name")
            if release.rows_per_person != "1" and not self.person:
                raise ValueError(f"release {release.name}: rows_per_person is for datasets with person")
            self._check_allotment(number, release, cap)
            self._forms[release.name] = self._form(release)
        return self

    @model_validator(mode="after")
    def _changes_between_runs(self) -> Self:
        """Refuse a schedule if nothing says that its runs find other rows: each would pay for the same ones."""
        lake = LakeName.of(self.private)
        pinned = lake.version if lake else ""
        newest = lake is not None and not pinned
        if self.periods is not None or newest or (self.table_changes and not pinned):
            return self
        for number, release in enumerate(self.releases):
            if release.schedule is not None:
                raise wrong_at(_unchanged(release.name, pinned), "releases", number, "schedule")
        return self

    def _check_allotment(self, number: int, release: Series, cap: Budget) -> None:
        terms = self.period_terms
        try:
            fits = parse_budget(release.allotment).hold_on(cap).fits(cap.cap)
            text = f"the allotment {release.allotment} exceeds the cap {self.cap}"
            if fits and terms is not None:
                of_each = terms.cap(bool(self.person))
                fits = terms.hold(parse_budget(release.allotment), bool(self.person)).fits(of_each)
                text = f"the allotment {release.allotment} exceeds the cap of a period, {self.per_period}"
        except InvalidInput as error:  # a kind that cannot be charged to the cap
            fits, text = False, str(error)
        if not fits:
            raise wrong_at(f"release {release.name}: {text}", "releases", number, "allotment")

    def _form(self, release: Series) -> Parameters:
        try:
            estimator, terms = estimator_named(release.estimator), self.period_terms
            without = release.settings.get("method") in estimator.without_public
            return form_of(estimator)(
                private=self.private,
                public=None if without else self.public,
                columns=self.columns,
                budget=release.allotment,
                dataset=self.dataset,
                ledger=self.ledger,
                dask=self.dask,
                period=release.period,
                series=release.name,
                rows_per_person=release.rows_per_person,
                rows_of=None if release.all_rows or terms is None else terms.unit,
                **release.settings,
            )
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(each for each in map(str, first["loc"]) if not each.startswith(_KINDS))
        raise ValueError(f"release {release.name}: {where}: {said(first)}")

    def form(self, release: str) -> Parameters:
        """Return the parameters of a release's flow, without a period that follows from the schedule."""
        return self._forms[release]


_KINDS = "constrained-", "literal["
"""Beginnings of pydantic's names for alternatives of a field, which are not part of a place in a file."""


class Audit(Part):
    """An audit of a ledger: `audit-ledger` on a schedule.

    Attributes:
        audit: name of the deployment.
        ledger: environment variable with the ledger's URL, set where runs work.
        datasets: names of datasets; default: all.
        newest: number of newest models of each dataset that are compared with the ledger.
        output: folder of released models; PUBPRIV_OUTPUT of the runs.
        pool: work pool.
        schedule: schedule of runs; None: runs are started by hand.
        export_older_than: seconds; an older export of the ledger is reported. The export is that in
            PUBPRIV_LEDGER_WITNESS, set where runs work.
        notify: notices about its runs.
        description: text for people.
    """

    audit: _ShortName
    ledger: _Variable = "PUBPRIV_LEDGER"
    datasets: tuple[str, ...] = ()
    newest: int = Field(default=20, ge=0, le=10_000)
    output: str | None = None
    pool: str = "pubpriv"
    schedule: Schedule | None = None
    export_older_than: int = Field(default=86_400, ge=60, le=366 * 86_400)
    notify: tuple[Notify, ...] = ()
    description: str | None = None

    @field_validator("output")
    @classmethod
    def _is_place(cls, place: str | None) -> str | None:
        return None if place is None else _refuse_relative(place)

    def form(self) -> AuditParameters:
        """Return the parameters of the flow."""
        return AuditParameters(
            ledger=self.ledger, datasets=self.datasets, newest=self.newest, export_older_than=self.export_older_than
        )


def _unchanged(release: str, pinned: str) -> str:
    """Say what to write if a scheduled release would find the rows of the run before, of a `pinned` version or none."""
    if pinned:
        return (
            f"release {release} has a schedule, and a version of a table never changes: leave @{pinned} out of "
            "private, and each run reads the newest version"
        )
    return (
        f"release {release} has a schedule, and nothing says that the table changes: each run would pay for the same "
        "rows again. If rows are added or corrected between runs, write table_changes: true beside private; if each "
        "period has rows of its own, periods and per_period; else leave the schedule out and start the run by hand"
    )


def _refuse_relative(place: str) -> str:
    """Return an absolute path or a URL; refuse others.

    Raises:
        InvalidInput: a relative path, which does not work in a run's own folder.
    """
    if not _PLACE.match(location_of(place)):
        raise InvalidInput(
            "a path must begin with / or ~/, or be a URL, for runs are at work in folders of their own; "
            "${NAME} stands for an environment variable of `pubpriv deploy`"
        )
    return place
