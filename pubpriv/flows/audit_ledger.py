"""The flow `audit-ledger`: replay every record of the ledger, and compare stored models with them.

It costs nothing and reads no private row, so it may run as often as wanted.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prefect.artifacts import create_table_artifact
from pydantic import BaseModel, ConfigDict, Field, field_validator

from pubpriv.errors import BooksClosed, InvalidInput, LedgerViolation
from pubpriv.flows._overview import show_overview
from pubpriv.flows.allowed import check_audit_allowed
from pubpriv.flows.parameters import ledger_at, refuse_password
from pubpriv.ledger import Ledger
from pubpriv.privacy.ledger.witness import export_age
from pubpriv.privacy.units import to_text
from pubpriv.released.provenance import check_model
from pubpriv.released.tree import ReleaseFiles, output_root
from pubpriv.tasks.boundary import private_task, safe_flow
from pubpriv.tasks.events import tell_of_old_export, tell_of_violation

_FINE = "every record follows from those before it"
_ACCOUNTED = "the ledger accounts for it"


class AuditParameters(BaseModel):
    """What to check; by default everything that this worker has."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    ledger: str = Field(
        default="PUBPRIV_LEDGER",
        description="Environment variable that holds the ledger's URL where the flow runs, or a URL without a password",
    )
    datasets: tuple[str, ...] = Field(default=(), description="Datasets; default: all of the ledger")
    models: str | None = Field(
        default=None,
        description="Folder with a folder of model files for each dataset; default: models under PUBPRIV_OUTPUT, "
        "and no models if that is not set",
    )
    newest: int = Field(
        default=20, ge=0, le=10_000, description="How many of the newest models of each dataset are compared"
    )
    export_older_than: int = Field(
        default=86_400,
        ge=60,
        le=366 * 86_400,
        description="Emit pubpriv.ledger.export-old if the export that PUBPRIV_LEDGER_WITNESS names is older than so "
        "many seconds",
    )

    @field_validator("ledger")
    @classmethod
    def _no_password(cls, url: str) -> str:
        return refuse_password(url)


@private_task(name="list datasets")
def _list_datasets(ledger: str) -> tuple[str, ...]:
    """List the names of all datasets of a ledger."""
    with Ledger.open(ledger, create=False) as books:
        return tuple(books.datasets())


@private_task(name="check that the ledger is whole")
def _check_whole(ledger: str) -> tuple[tuple[str, ...], ...]:
    """Return rows, in the order of `_COLUMNS`, with reasons why the ledger is open for reading only, if it is."""
    with Ledger.open(ledger, create=False) as books:
        try:
            books.check_complete()
        except LedgerViolation as wrong:
            return (("ledger", "wrong", str(wrong), "", "", "", ""),)
    return ()


@private_task(name="replay records")
def _replay_records(ledger: str, dataset: str) -> tuple[str, ...]:
    """Return the amounts of a dataset from its records, or its first wrong record: texts in the order of `_COLUMNS`."""
    with Ledger.open(ledger, create=False) as books:
        try:
            summary = books.verify(dataset)
        except LedgerViolation as wrong:
            return f"dataset {dataset}", "wrong", str(wrong), "", "", "", ""
    state, currency = summary.state, summary.budget.currency
    amounts = [f"{to_text(getattr(state, part).main)} {currency}" for part in ("cap", "spent", "held")]
    finding = f"{_FINE}; {summary.unchecked}" if summary.unchecked else _FINE
    return f"dataset {dataset}", "right", finding, str(summary.records), *amounts


@private_task(name="compare models")
def _compare_models(ledger: str, dataset: str, folder: str, newest: int) -> tuple[tuple[str, ...], ...]:
    """Compare the newest model files of a dataset with the ledger: texts in the order of `_COLUMNS`."""
    files = sorted(ReleaseFiles.models(folder, dataset), key=lambda path: path.stat().st_mtime, reverse=True)[:newest]
    with Ledger.open(ledger, create=False) as books:
        return tuple(_compared(books, path) for path in files)


def _compared(books: Ledger, path: Path) -> tuple[str, ...]:
    what = f"model {path.parent.name}/{path.name}"
    try:
        check_model(books, path)
    except BooksClosed as earlier:
        return what, "archived", str(earlier), "", "", "", ""
    except (LedgerViolation, InvalidInput) as wrong:
        return what, "wrong", str(wrong), "", "", "", ""
    return what, "right", _ACCOUNTED, "", "", "", ""


_COLUMNS = ("what", "result", "finding", "records", "cap", "spent", "held")


@safe_flow(name="audit-ledger")
def audit_ledger(parameters: AuditParameters) -> int:
    """Check the books: triggers, hash chain, prices, events and balances of every dataset, and the stored models.

    The checks are shown as a table. If something is wrong the run fails, and says what and where.

    Returns:
        Number of datasets and models that are right.
    """
    check_audit_allowed(parameters.ledger, parameters.models)
    ledger, folder = ledger_at(parameters.ledger), _models(parameters)
    rows: list[tuple[str, ...]] = list(_check_whole(ledger))
    whole = _wrong(rows)
    age = export_age()
    for dataset in parameters.datasets or _list_datasets(ledger):
        found: tuple[tuple[str, ...], ...] = (_replay_records(ledger, dataset),)
        if folder is not None and not _wrong(found):
            found += _compare_models(ledger, dataset, folder, parameters.newest)
        for finding in (*whole, *_wrong(found)):
            tell_of_violation(dataset, finding)
        if age is not None and age > parameters.export_older_than:
            tell_of_old_export(dataset, round(age / 3600))
        rows += found
    _show(rows)
    show_overview(ledger)
    wrong = _wrong(rows)
    if wrong:
        raise LedgerViolation(
            f"{len(wrong)} of {len(rows)} checks found something wrong; stop charging this ledger, keep a copy of it, "
            f"and compare with its last export (`pubpriv ledger verify`). First: {wrong[0]}"
        )
    return len(rows)


def _wrong(rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"{what}: {finding}" for what, result, finding, *_ in rows if result == "wrong"]


def _show(rows: list[tuple[str, ...]]) -> Any:
    """Show the table in Prefect's UI."""
    return create_table_artifact(
        key="ledger-audit",
        description="Ledger and stored models: what was checked, and what was found",
        table=[dict(zip(_COLUMNS, row, strict=True)) for row in rows] or [dict.fromkeys(_COLUMNS, "")],
    )


def _models(parameters: AuditParameters) -> str | None:
    if parameters.models is not None:
        return parameters.models
    output = output_root()
    return None if output is None else str(output / "models")
