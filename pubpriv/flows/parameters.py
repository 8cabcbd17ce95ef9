"""Parameters of the flows, as forms with bounds and descriptions for the UI."""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_origin
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model, field_validator

from pubpriv.common.periods import UNITS, Span
from pubpriv.common.tables import refuse_credentials
from pubpriv.errors import InvalidInput
from pubpriv.estimators import Estimator
from pubpriv.estimators.jobs import Job
from pubpriv.estimators.settings import Setting, chosen, settings_of
from pubpriv.flows.periods import Period
from pubpriv.privacy.ledger.urls import understand, without_password

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"
"""Names of datasets and of releases."""

_COMMON = tuple(field.name for field in fields(Job) if field.name not in ("estimator", "settings"))
"""Fields that forms and jobs have in common, for all estimators."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


MOST_CRASHES = 2
"""Most runs of a release that are made after crashes."""


class Resumed(BaseModel):
    """A crashed run, whose release another run continues. The server fills it in; see `flows._crashes`."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    run: UUID = Field(description="The first flow run of the release")
    due: AwareDatetime = Field(description="When that run was due, from which the release id follows")
    after: UUID = Field(description="The flow run that crashed last; if it came to its end since, nothing is done")
    crashes: int = Field(ge=1, le=MOST_CRASHES, description="How many runs of the release crashed")


class Parameters(BaseModel):
    """Parameters of every estimate from files. Nothing in them is private: Prefect keeps parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    estimator: ClassVar[Estimator]

    private: str = Field(
        description="Private table (Parquet, CSV, Feather, Excel, SPSS, Stata, SAS): file, folder or glob, local or "
        "s3://, gs://, abfs://; no credentials in it"
    )
    public: str | None = Field(
        default=None,
        description="Public table, local or in an object store; no credentials in it. None for methods "
        "that work without public rows",
    )
    budget: str = Field(description="Allotment of this run: zcdp:RHO, approx:EPSILON,DELTA or pure:EPSILON")
    dataset: str = Field(pattern=NAME, description="Name under which the table is registered in the ledger")
    ledger: str = Field(
        description="Environment variable that holds the ledger's URL where the flow runs, as PUBPRIV_LEDGER does, or "
        "a URL without a password: sqlite:///PATH or postgresql://USER@HOST/DATABASE"
    )
    release_id: str | None = Field(
        default=None,
        pattern=NAME,
        description="Name of this release; the same name again resumes and costs nothing more. "
        "Default: that of the period in which the run is scheduled",
    )
    period: str | None = Field(
        default=None,
        description="What one release covers: year, quarter, month, week, day, hour or minute, and a time zone; "
        "default: each run is a release of its own",
    )
    series: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,59}$",
        description="Put before the period in a release id, so that releases with other settings have other names",
    )
    columns: tuple[str, ...] | None = Field(
        default=None,
        description="Columns, or expressions like log1p(column); default: the numeric columns of the public table",
    )
    warn_below: int = Field(
        default=3, ge=0, le=1000, description="Emit pubpriv.budget.low after a run if fewer such runs fit than this"
    )
    skip_if_later_than: int | None = Field(
        default=None,
        ge=1,
        le=366 * 86_400,
        description="A run that its schedule made, and that could not begin within so many seconds of its time, is "
        "skipped: nothing is read or charged. Default: it runs however late it is",
    )
    resumes: Resumed | None = Field(
        default=None, description="Leave it empty: the server fills it in where a run crashed and another one goes on"
    )
    dask: str | None = Field(
        default=None,
        description="Dask scheduler whose workers read the private table: tcp://HOST:PORT or tls://HOST:PORT",
    )

    rows_per_person: str = Field(
        default="1",
        pattern=r"^([1-9][0-9]{0,3}|auto)$",
        description="Where the unit of the dataset is a person: rows of each that count in full, or auto; "
        "1: each person counts once",
    )

    rows_of: str | None = Field(
        default=None,
        description="Where the dataset has periods: whose rows are asked, as 2026-11; or month, week, ...: those of "
        "the last one that had ended when the run was due. None: all rows, which counts in every period",
    )

    @field_validator("rows_of")
    @classmethod
    def _is_span(cls, text: str | None) -> str | None:
        return text if text is None or text in UNITS else Span.of(text).name

    @field_validator("ledger")
    @classmethod
    def _no_password(cls, url: str) -> str:
        return refuse_password(url)

    @field_validator("private", "public")
    @classmethod
    def _no_credentials(cls, uri: str | None) -> str | None:
        """Refuse credentials, because Prefect keeps parameters and shows them to everybody who sees the run."""
        if uri is not None:
            refuse_credentials(uri)
        return uri

    @field_validator("period")
    @classmethod
    def _is_period(cls, text: str | None) -> str | None:
        return None if text is None else str(Period.parse(text))

    def job(self, release_id: str | None = None, rows_of: str | None = None) -> Job:
        """Return the job that these parameters describe, on this machine.

        Args:
            release_id: release id of the run, if the form has none; see `pubpriv.flows.deployed`.
            rows_of: the period whose rows it asks, if the form names a unit.

        Raises:
            InvalidInput: the ledger is named by an environment variable that is not set here.
        """
        values = {name: getattr(self, name) for name in _COMMON}
        values |= {"release_id": self.release_id or release_id, "ledger": ledger_at(self.ledger)}
        values |= {} if rows_of is None else {"rows_of": rows_of}
        own = {each.field: getattr(self, each.name) for each in settings_of(self.estimator.settings)}
        return Job.of(self.estimator, **values, **own)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Return the form's schema, with bounds of optional fields next to their types instead of inside them.

        Prefect then answers "999 is greater than the maximum of 100", and not that 999 fits no schema.
        """
        schema: dict[str, Any] = handler(core_schema)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"} and "enum" not in kind]
            if len(kinds) == 1:
                bounds = kinds[0].keys() - {"type", "items", "$ref"}
                field |= {bound: kinds[0].pop(bound) for bound in sorted(bounds)}
        return schema


def refuse_password(url: str) -> str:
    """Return a ledger's URL, or the name of a variable, if it has no password: Prefect shows parameters to others.

    Raises:
        ValueError: the URL contains a password, or is invalid.
    """
    if not _VARIABLE.fullmatch(url) and understand(url).carries_password(url):
        raise ValueError("no password in a parameter: put the whole URL into PUBPRIV_LEDGER where the flow runs")
    return url


def ledger_at(name: str) -> str:
    """Return the ledger's URL without a password: `name` itself, or the value of the environment variable `name`.

    Raises:
        InvalidInput: the variable is not set here.
    """
    if not _VARIABLE.fullmatch(name):
        return name
    url = os.environ.get(name)
    if not url:
        raise InvalidInput(
            f"the environment variable {name}, which should hold the ledger's URL, is not set where this run is at "
            "work: set it for the worker that runs the flow"
        )
    return without_password(url)


@cache
def form_of(estimator: Estimator) -> type[Parameters]:
    """Make the form of an estimator: the common fields, and one for each of its settings."""
    own: dict[str, Any] = {each.name: (_type_of(each), _field_of(each)) for each in settings_of(estimator.settings)}
    form: type[Parameters] = create_model(
        f"{estimator.name.capitalize()}Parameters", __base__=Parameters, __doc__=f"{estimator.title}.", **own
    )
    form.estimator = estimator
    return form


def parameters_of(job: Job) -> Parameters:
    """Return the filled-in form of a job."""
    names = {each.field: each.name for each in settings_of(job.estimator.settings)}
    own = {names[field]: value for field, value in chosen(job.settings).items()}
    return form_of(job.estimator)(**{name: getattr(job, name) for name in _COMMON}, **own)


def _type_of(setting: Setting) -> Any:
    if setting.about.choices:
        return Literal[setting.about.choices]
    if setting.about.words:
        return Annotated[int, Field(**_bounds(setting))] | Literal[setting.about.words] | None
    return dict[str, float] if get_origin(setting.type) is Mapping else setting.type


def _field_of(setting: Setting) -> Any:
    given = {} if setting.about.words else _bounds(setting)
    return Field(default=setting.default, description=setting.about.help, **given)


def _bounds(setting: Setting) -> dict[str, Any]:
    about = setting.about
    bounds = {"ge": about.least, "le": about.most, "gt": about.above}
    return {name: bound for name, bound in bounds.items() if bound is not None}
