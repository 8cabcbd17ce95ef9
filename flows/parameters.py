"""Parameters of the flows, as forms: bounds and descriptions that a person reads in the UI."""

import os
import re
from dataclasses import fields
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from flows.periods import Period
from pubpriv.errors import InvalidInput
from pubpriv.gaussian.job import GaussianJob, MeanJob
from pubpriv.gaussian.reference_mean import MOST_ROUNDS
from pubpriv.jobs import Job
from pubpriv.mixture.job import MixtureJob
from pubpriv.mixture.settings import MOST_COMPONENTS, MOST_LOOKED_FOR, MOST_UNKNOWN
from pubpriv.places import refuse_credentials
from pubpriv.privacy.ledger.urls import understand, without_password

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"
"""Names of datasets and of releases."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


class Parameters(BaseModel):
    """What every estimate from files needs. Nothing in here is private: parameters are kept by Prefect."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    makes: ClassVar[type[Job]]
    renamed: ClassVar[dict[str, str]] = {}
    """Fields that the form and the job have under two names: the job's, and the form's."""

    private: str = Field(
        description="Private Parquet table: file, folder or glob, local or s3://, gs://, abfs://; no credentials in it"
    )
    public: str = Field(description="Public table, Parquet or CSV, local or in an object store; no credentials in it")
    budget: str = Field(description="Allotment of this run: zcdp:RHO or approx:EPSILON,DELTA")
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
        description="Columns, or log1p(column); default: the numeric columns of the public table",
    )
    warn_below: int = Field(
        default=3, ge=0, le=1000, description="Emit pubpriv.budget.low after a run if fewer such runs fit than this"
    )
    dask: str | None = Field(
        default=None,
        description="Dask scheduler whose workers read the private table: tcp://HOST:PORT or tls://HOST:PORT",
    )

    @field_validator("ledger")
    @classmethod
    def _no_password(cls, url: str) -> str:
        return refuse_password(url)

    @field_validator("private", "public")
    @classmethod
    def _no_credentials(cls, uri: str) -> str:
        """Prefect keeps parameters and shows them to whoever sees the run."""
        refuse_credentials(uri)
        return uri

    @field_validator("period")
    @classmethod
    def _is_period(cls, text: str | None) -> str | None:
        return None if text is None else str(Period.parse(text))

    @classmethod
    def of(cls, job: Job) -> Self:
        """The form that asks for `job`."""
        return cls(**{form: getattr(job, name) for name, form in cls._names().items()})

    def job(self, release_id: str | None = None) -> Any:
        """What to run, where these parameters are looked at.

        Args:
            release_id: of the run, if the form has none; see `flows.deployed`.

        Raises:
            InvalidInput: the ledger is named by an environment variable that is not set here.
        """
        values = {name: getattr(self, form) for name, form in self._names().items()}
        return self.makes(**values | {"release_id": self.release_id or release_id, "ledger": ledger_at(self.ledger)})

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The form's schema, in which a bound of a field that may be empty stands beside its types, not inside.

        Prefect then answers "999 is greater than the maximum of 100" and not that 999 fits no schema.
        """
        schema: dict[str, Any] = handler(core_schema)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
            if len(kinds) == 1 and len(field["anyOf"]) == 2:
                bounds = kinds[0].keys() - {"type", "items", "$ref"}
                field |= {bound: kinds[0].pop(bound) for bound in sorted(bounds)}
        return schema

    @classmethod
    def _names(cls) -> dict[str, str]:
        """Of every field of the job: its name, and its name in the form."""
        return {field.name: cls.renamed.get(field.name, field.name) for field in fields(cls.makes)}


def refuse_password(url: str) -> str:
    """A ledger's URL or the variable that holds it; Prefect keeps parameters and shows them to whoever sees the run.

    Raises:
        ValueError: the URL has a password in it, or is none.
    """
    if not _VARIABLE.fullmatch(url) and understand(url).carries_password(url):
        raise ValueError("no password in a parameter: put the whole URL into PUBPRIV_LEDGER where the flow runs")
    return url


def ledger_at(name: str) -> str:
    """The ledger's URL without a password: `name` itself, or what the environment variable `name` holds.

    Raises:
        InvalidInput: there is no such variable here.
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


class MixtureParameters(Parameters):
    """A Gaussian mixture of a private table."""

    makes: ClassVar[type[Job]] = MixtureJob
    renamed: ClassVar[dict[str, str]] = {"n_components": "components"}

    components: int | None = Field(
        default=None,
        ge=1,
        le=MOST_COMPONENTS,
        description="Number of mixture components; none: found by the run, which costs a share of the budget",
    )
    max_components: int = Field(
        default=MOST_UNKNOWN, ge=1, le=MOST_LOOKED_FOR, description="Most components that a run may find by itself"
    )
    method: Literal["auto", "bks-scarce", "bks-ample"] = Field(
        default="auto", description="auto: the default pipeline; the others are the paper's algorithms, to compare with"
    )
    constants: Literal["practical", "paper"] = Field(default="practical", description="Of the paper's algorithms")
    covariance_type: Literal["full", "diag", "spherical", "auto"] = Field(
        default="full", description="Shape of the components; auto: as the noise of the answers permits"
    )
    min_weight: float | None = Field(
        default=None, gt=0, le=1, description="Smallest weight of a component that has to be found; none: 1 / k"
    )


class MeanParameters(Parameters):
    """The mean of a private table."""

    makes: ClassVar[type[Job]] = MeanJob

    covariance: str = Field(
        default="identity", description="identity, a CSV file with the known covariance, or unknown"
    )
    method: Literal["two-step", "clip-and-noise", "coinpress"] = Field(
        default="two-step", description="two-step; the others are there to compare with"
    )
    rounds: int = Field(default=2, ge=1, le=MOST_ROUNDS, description="Rounds of coinpress")
    force: bool = Field(default=False, description="Run where the private rows can tell little; the model says so")


class GaussianParameters(Parameters):
    """Mean and covariance of a private table."""

    makes: ClassVar[type[Job]] = GaussianJob

    target: Literal["auto", "gaussian", "moments"] = Field(
        default="auto",
        description="gaussian: of the law, if it is Gaussian; moments: of the table itself; auto: as the rows suggest",
    )
    method: Literal["learner", "algorithm-2"] = Field(
        default="learner", description="learner; algorithm-2 is there to compare with"
    )
    scale: dict[str, float] = Field(
        default_factory=dict,
        description="By column: about one standard deviation, where the public rows do not show it",
    )
    force: bool = Field(default=False, description="Run where the answers will be mostly noise; the model says so")
