"""Parameters of the flows, as forms: bounds and descriptions that a person reads in the UI."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pubpriv.mixture.job import MixtureJob
from pubpriv.mixture.pipeline import MOST_COMPONENTS
from pubpriv.privacy.ledger.urls import understand

SAME = ("private", "public", "columns", "budget", "dataset", "ledger", "release_id", "method")
"""Fields that the form and the job have under one name."""


class MixtureParameters(BaseModel):
    """A Gaussian mixture of a private table. Nothing in here is private: parameters are kept by Prefect."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    private: str = Field(description="Private Parquet table: file, folder or glob; no credentials in it")
    public: str = Field(description="Public table, Parquet or CSV")
    components: int = Field(ge=1, le=MOST_COMPONENTS, description="Number of mixture components")
    budget: str = Field(description="Allotment of this run: zcdp:RHO or approx:EPSILON,DELTA")
    dataset: str = Field(description="Name under which the table is registered in the ledger")
    ledger: str = Field(description="Ledger URL without a password: sqlite:///PATH or postgresql://USER@HOST/DATABASE")
    release_id: str = Field(description="Name of this release; the same name again resumes and costs nothing more")
    columns: tuple[str, ...] | None = Field(
        default=None,
        description="Columns, or log1p(column); default: the numeric columns of the public table",
    )
    method: Literal["auto"] = Field(default="auto", description="Estimation pipeline")

    @field_validator("ledger")
    @classmethod
    def _no_password(cls, url: str) -> str:
        """Prefect keeps parameters and shows them to whoever sees the run."""
        if understand(url).carries_password(url):
            raise ValueError("no password in a parameter: put the whole URL into PUBPRIV_LEDGER where the flow runs")
        return url

    def job(self) -> MixtureJob:
        """What to run."""
        return MixtureJob(n_components=self.components, **{name: getattr(self, name) for name in SAME})
