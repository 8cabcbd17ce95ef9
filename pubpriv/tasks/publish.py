"""Prefect artifacts of a run and the files of its last task, all of which are public.

`publish_release` is for a finished run; `refusals_shown` for a run that the ledger refused.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext

from pubpriv.data.tables import PublicTable
from pubpriv.errors import BudgetExceeded
from pubpriv.estimators.jobs import Job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.wording import declared, for_people
from pubpriv.released.estimate import Estimate
from pubpriv.released.files import public_rows_of, store_run
from pubpriv.released.kinds import KINDS
from pubpriv.released.numbers import State, of_all
from pubpriv.released.quantiles import QuantilesEstimate
from pubpriv.released.report import History
from pubpriv.released.tree import check_tree, output_root
from pubpriv.schemas.released import coefficients_table, estimates_table, quantiles_table, released_table
from pubpriv.tasks._crossing import crossing
from pubpriv.tasks.artifacts import Subject, shown
from pubpriv.tasks.boundary import publishing_task
from pubpriv.tasks.events import BudgetOutlook, tell_of_doubtful
from pubpriv.tasks.outages import not_needed

_E = TypeVar("_E", bound=Estimate)

_WHAT_IS_PUBLIC = (
    "Public are the number of rows (where the unit is a person only what was released of it), the declared columns, "
    "the public table, the settings and every answer listed under `charges`; whatever was computed from these costs "
    "nothing more."
)

_MOST_TAGS = 5
"""Most doubtful columns that are tags of a run; the table of numbers has all."""

_CHARGE = ("label", "question", "cost")


def publish_release(
    estimate: _E, job: Job, folder: str | os.PathLike[str], warn_below: int, series: str | None = None
) -> _E:
    """Show a finished run, write its files under `PUBPRIV_OUTPUT` if that is set, and emit events.

    Events are emitted if budget is low, and if numbers are doubtful.

    Args:
        estimate: the release.
        job: job of the run.
        folder: folder of public rows for tasks.
        warn_below: emit an event if fewer such runs fit.
        series: series of the release; None: it has none.

    Returns:
        The estimate.
    """
    subject, release_id = Subject(job.dataset, series), job.release_id
    _publish_statement(estimate.privacy, subject, release_id)
    _publish_numbers(estimate, subject)
    public = public_rows_of(estimate, job.public)
    subject.show_picture(estimate, public)
    _show_spend(estimate)
    with Ledger.open(job.ledger, create=False) as ledger:
        history, outlook = History.of(ledger, job.dataset), _outlook(ledger, job)
    subject.show_budget(history, outlook, release_id)
    outlook.tell_if_low(release_id, warn_below)
    if not estimate.converged:
        tell_of_doubtful(job.dataset, release_id, estimate.verdict, _doubtful(estimate))
    root = output_root()
    if root is not None:
        model = json.dumps(estimate.to_json())
        written = crossing(_store_release, folder)(model, job.ledger, public, str(root), series)
        subject.show_report(release_id, written, str(root))
    return estimate


def _doubtful(estimate: Estimate) -> list[str]:
    """Columns with doubtful numbers."""
    return [name for name, state in (estimate.states or {}).items() if state == State.DOUBTFUL]


def _show_spend(estimate: Estimate) -> None:
    """Show what the release spent, and which columns are doubtful, as tags of the flow run, which lists show."""
    context = FlowRunContext.get()
    run = None if context is None else context.flow_run
    if run is None:
        return
    flags = (
        [] if estimate.converged else ["flagged", *(f"doubtful {name}" for name in _doubtful(estimate)[:_MOST_TAGS])]
    )
    tags = [f"spent {for_people(estimate.privacy['spent'])}", *flags]
    with not_needed(), get_client(sync_client=True) as client:
        client.update_flow_run(run.id, tags=sorted({*run.tags, *tags}))


@contextmanager
def refusals_shown(job: Job, series: str | None = None) -> Iterator[None]:
    """Show why the ledger refused a run, and emit an event if the budget is used up.

    A run whose files could not be stored afterwards does not begin.

    Raises:
        InvalidInput: `PUBPRIV_OUTPUT` cannot be written, or the names of the run cannot become file names.
        BudgetExceeded: passed on; the flow run fails with its text.
    """
    check_tree(job.dataset, job.release_id)
    try:
        yield
    except BudgetExceeded as refusal:
        with suppress(Exception):  # even if ledger or server are gone, the refusal must be raised
            _show_refusal(job, Subject(job.dataset, series), str(refusal))
        raise


def _show_refusal(job: Job, subject: Subject, refusal: str) -> None:
    with Ledger.open(job.ledger, create=False) as ledger:
        history, outlook = History.of(ledger, job.dataset), _outlook(ledger, job)
    outlook.tell_if_exhausted(job.release_id)
    subject.show_refusal(outlook, job.release_id, refusal)
    subject.show_budget(history, outlook, job.release_id)


@publishing_task(name="store release")
def _store_release(model: str, ledger: str, public: PublicTable | None, root: str, series: str | None) -> str:
    """Write model, table and report page into the output folder; existing files are left as they are.

    Args:
        model: the model file's text.
        ledger: URL without a password, for the budget's history.
        public: public rows for the picture.
        root: the output folder.
        series: series of the release; None: it has none.

    Returns:
        Path of the report page.
    """
    data = json.loads(model)
    return str(store_run(KINDS[data["kind"]].from_json(data), root, public, ledger, series).page)


def _outlook(ledger: Ledger, job: Job) -> BudgetOutlook:
    return BudgetOutlook.of(ledger, job.dataset, parse_budget(job.budget))


def _publish_statement(statement: Mapping[str, Any], subject: Subject, release_id: str) -> tuple[UUID, UUID]:
    """Show a run's privacy statement: a page with the guarantee, and a table with one row per charge.

    Args:
        statement: result of `Statement.to_json`: unit, neighbouring, kind, guarantee, spent, charges.
        subject: dataset and series of the run.
        release_id: release id of the run.

    Returns:
        Identities of the page and the table. Both carry the series' name, so the UI shows their history.
    """
    name = subject.dataset
    parts = "\n".join(f"- {part}: {_text_of(value)}" for part, value in statement["guarantee"].items())
    guarantee = statement["guarantee"].get("text", parts)
    unit = declared(statement["unit"])
    one = "person" if statement.get("person") else "record"
    periods = "".join(f"{line}.\n\n" for line in statement.get("promised", ()))
    page = create_markdown_artifact(
        key=subject.key("privacy"),
        description=f"Privacy statement of {name}, release {release_id}",
        markdown=(
            f"## Privacy of {name}\n\n"
            f"One {one} is {unit}; neighbouring tables: {statement['neighbouring']}.\n\n"
            f"### Guaranteed\n\n{guarantee}\n\n"
            f"{periods}"
            f"Spent by release {release_id}: {statement['spent']}\n\n{_WHAT_IS_PUBLIC}\n"
        ),
    )
    charges = create_table_artifact(
        key=subject.key("charges"),
        description=f"What release {release_id} of {name} asked, and what each answer cost",
        table=[{part: _text_of(charge[part]) for part in _CHARGE} for charge in statement["charges"]],
    )
    return _identity(page), _identity(charges)


def _publish_numbers(estimate: Estimate, subject: Subject) -> UUID:
    """Show the released numbers after a check: one row per component, per quantile and share, or else per column.

    Raises:
        InvalidInput: weights that do not sum to one, a number that is not finite, a variance that is not positive.
    """
    several = estimate.n_components is not None
    numbers = of_all(estimate.numbers())
    if isinstance(estimate, QuantilesEstimate):
        frame = quantiles_table(numbers)
    elif estimate.kind == "regression":
        frame = coefficients_table(numbers)
    else:
        frame = released_table(numbers) if several else estimates_table(numbers, estimate.target)
    table = create_table_artifact(
        key=subject.key("components" if several else estimate.kind),
        description=f"Released {'mixture' if several else estimate.kind} of {subject.dataset}, release "
        f"{estimate.provenance['release_id']}: "
        f"{estimate.estimand}. Verdict: {estimate.verdict}",
        table=_cells(frame),
    )
    return _identity(table)


def _cells(frame: Any) -> list[dict[str, Any]]:
    return [{name: shown(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _text_of(value: Any) -> str:
    """Text of a number, a text, or a sequence of them; a statement has no other values."""
    if isinstance(value, tuple | list):
        return ", ".join(map(_text_of, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text_of(part)}" for name, part in value.items())
    if value is None or isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"a privacy statement holds no {type(value).__name__}")


def _identity(artifact: Any) -> UUID:
    return UUID(str(artifact))
