"""Runs that are skipped: of a paused series, too late for their period, or after a crash that was a false alarm.

A scheduled run stays on the server until a worker takes it. If that is days later, it would be charged for a period
that is over and read today's table. So it is skipped, with a notice; `pubpriv backfill` can make up for it. A run that
began, or that a person started, is never skipped.
"""

from datetime import UTC, datetime

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.runtime import deployment, flow_run

from pubpriv.estimators.jobs import Job
from pubpriv.flows.parameters import Parameters
from pubpriv.ledger import Ledger

SKIPPED = "Skipped"
"""Name of the state of a skipped run, of Prefect's type `CANCELLED`: neither a release nor a failure."""


def why_skipped(parameters: Parameters, job: Job) -> str | None:
    """Return why the current run should be skipped; None if it should run.

    Args:
        parameters: parameters of the run.
        job: its job.

    Raises:
        InvalidInput, Unavailable: see `Ledger.open`.
    """
    context = FlowRunContext.get()
    known = context.flow_run if context else None
    if deployment.id is None or not isinstance(known, FlowRun) or not known.auto_scheduled:
        return None
    with Ledger.open(job.ledger, create=False) as ledger:
        if ledger.run(job.dataset, job.release_id).begun() is not None:
            return None  # paid, at least in part: it goes on at no further cost
    late = (datetime.now(UTC) - flow_run.scheduled_start_time).total_seconds()
    latest, why = parameters.skip_if_later_than, None
    if latest is not None and late > latest:
        why = f"it was due {_duration(late)} ago, and a run of this series begins within {_duration(latest)} or never"
    elif _is_paused():
        why = "its deployment, or its schedule, is paused"
    made_up_for = "nothing was read or charged, and `pubpriv backfill` makes up for it"
    return why and f"{why}. Release {job.release_id} was not made: {made_up_for}"


def why_not_resumed(parameters: Parameters) -> str | None:
    """Return why the current run should not continue the release of another run; None if it should, or continues none.

    After a restart the server may learn late how a run ended, and count a run as dead that was cancelled or completed.
    A run that failed after it was counted as dead is continued: the same trouble may have ended it, and continuing
    costs nothing more.
    """
    if parameters.resumes is None:
        return None
    with get_client(sync_client=True) as client:
        before = client.read_flow_run(parameters.resumes.after)
    if before.state_type in (StateType.CRASHED, StateType.FAILED):
        return None
    return f"it would go on after a crash of run {before.name}, whose state is {before.state_name}"


def skipped(why: str) -> State[None]:
    """Make the final state of a skipped run."""
    return State(type=StateType.CANCELLED, name=SKIPPED, message=f"Skipped: {why}")


def _is_paused() -> bool:
    with get_client(sync_client=True) as client:
        known = client.read_deployment(deployment.id)
    schedules = known.schedules
    return bool(known.paused or (schedules and not any(each.active for each in schedules)))


def _duration(seconds: float) -> str:
    """Write a duration in its largest unit: `3 days`, `40 minutes`."""
    units = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
    unit = next((unit for unit, length in units.items() if seconds >= 2 * length), "seconds")
    return f"{seconds / units[unit]:.0f} {unit}"
