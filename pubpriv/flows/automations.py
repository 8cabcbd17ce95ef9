"""Automations of the Prefect server: they pause deployments whose budget is used up, and handle runs that die.

They are a convenience. With or without a server, the ledger refuses runs without budget before anything is read; a
paused deployment only avoids a failed run in every period.
"""

from collections.abc import Set
from datetime import timedelta

from prefect.automations import Automation
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, PauseDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from pubpriv.flows._crashes import DEAD, next_run, run_again
from pubpriv.flows._missed import SKIPPED
from pubpriv.flows.runtime import HEARTBEAT
from pubpriv.flows.tags import TAG
from pubpriv.tasks.events import EXHAUSTED, resource_id

_HEARTBEAT = "prefect.flow-run.heartbeat"
_HEARTBEAT_SECONDS = int(*HEARTBEAT.values())
_MISSED_HEARTBEATS = 3
"""Number of missed signs of life after which a run counts as dead."""

_STUCK_SECONDS = 600
"""Time in which a run must begin after a worker took it: usually seconds, on a busy machine some minutes."""

_Related = dict[str, str | list[str]]
"""Labels of a resource related to an event."""

_OURS: _Related = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
"""Labels of runs of our deployments; other flows on the server are left alone."""


def _events(*states: str) -> frozenset[str]:
    """Return the names of the events by which the server announces these states of a run."""
    return frozenset(f"prefect.flow-run.{state}" for state in states)


(LATE,) = _events("Late")
ENDS = _events("Completed", "Failed", "Cancelled", "Crashed", SKIPPED)
BEGUN = _events("Running", "AwaitingConcurrencySlot", "Scheduled", "Late", "AwaitingRetry")
HANDED = _events("Pending", "Submitting")


def ensure_automations(heartbeat_seconds: int = _HEARTBEAT_SECONDS) -> list[str]:
    """Register what all our deployments need on the server; calling it again changes nothing.

    - When a run is refused because its budget is used up, only its own deployment is paused: a series that asks for
      less may still fit. Switch it on again in the UI after raising the cap.
    - When a run of ours stops giving signs of life, or is handed to a worker and does not begin, it becomes `Crashed`.
    - When one crashed, another one continues its release.

    Args:
        heartbeat_seconds: time between signs of life, as the deployments set it for their runs.

    Returns:
        Names of the automations that were made or changed.
    """
    wanted = [_pause(), _crash(heartbeat_seconds), _stuck(), run_again(_OURS)]
    with get_client(sync_client=True) as client:
        return [automation.name for automation in wanted if _ensure(client, automation)]


def _pause() -> AutomationCore:
    return AutomationCore(
        name="pubpriv: pause a deployment whose runs fit no more",
        description=(
            "A run was refused before it read anything, because the dataset's budget has no room for it. Raise the "
            "cap (pubpriv budget set --raise), or lower the allotment of a run, and switch the deployment on again."
        ),
        trigger=EventTrigger(
            expect={EXHAUSTED},
            match={"prefect.resource.id": resource_id("*")},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(0),
        ),
        actions=[PauseDeployment(source="inferred", deployment_id=None)],  # that of the run in the event
    )


def _crash(heartbeat_seconds: int) -> AutomationCore:
    return AutomationCore(
        name="pubpriv: a flow run without signs of life has crashed",
        description="Its process was killed, or its machine is gone. What it paid is kept; another run goes on.",
        # from the beginning of a run: its process may die before its first sign of life
        trigger=silence({_HEARTBEAT, *_events("Running")}, {_HEARTBEAT} | ENDS, _MISSED_HEARTBEATS * heartbeat_seconds),
        actions=[_crashed(f"{DEAD}: its process is gone"), next_run()],
    )


def _stuck() -> AutomationCore:
    return AutomationCore(
        name="pubpriv: a flow run that was handed to a worker and did not begin has crashed",
        description="Its worker died, or could not start a process. Nothing was paid since.",
        trigger=silence(HANDED, BEGUN | ENDS, _STUCK_SECONDS),
        actions=[_crashed(f"{DEAD}: a worker took it and it did not begin"), next_run()],
    )


def silence(after: Set[str], expect: Set[str], seconds: int, related: _Related = _OURS) -> EventTrigger:
    """Make a trigger for related runs that emit none of `expect` within `seconds` after one of `after`."""
    return EventTrigger(
        after=set(after),
        expect=set(expect),
        match={"prefect.resource.id": ["prefect.flow-run.*"]},
        match_related=related,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )


def _crashed(why: str) -> ChangeFlowRunState:
    return ChangeFlowRunState(name=None, state=StateType.CRASHED, message=why, force=False)


def _ensure(client: SyncPrefectClient, wanted: AutomationCore) -> bool:
    """Make an automation, or update the one with its name; returns whether anything changed."""
    known = client.read_automations_by_name(wanted.name)
    if not known:
        client.create_automation(wanted)
        return True
    first, *others = known
    for other in others:  # two that were made at the same moment
        client.delete_automation(other.id)
    if content(first) == content(wanted):
        return False
    client.update_automation(first.id, wanted.model_copy(update={"enabled": first.enabled}))
    return True


def content(automation: AutomationCore | Automation) -> object:
    """Return the content of an automation for comparison, without its identity and whether it is switched off."""
    fields = AutomationCore.model_fields.keys() - {"enabled"}
    plain: dict[str, object] = automation.model_dump(mode="json", include=set(fields))
    return _without_identities(plain)


def _without_identities(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_identities(item) for name, item in value.items() if name != "id"}
    if isinstance(value, list):  # sets of names among them, in any order
        return sorted((_without_identities(item) for item in value), key=str)
    return value
