"""What the Prefect server does by itself: it pauses deployments whose budget is used up, and minds runs that die.

Automations are a convenience. That nothing is read without budget is the ledger's business (it refuses), with or
without a server; a paused deployment only spares everybody a failed run per period.
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
"""A run that missed so many is dead."""

_STUCK_SECONDS = 600
"""A run that a worker took begins within seconds; a machine that is busy may need some minutes."""

_Related = dict[str, str | list[str]]
"""Labels of something that an event is related to."""

_OURS: _Related = {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
"""Runs of our deployments: other flows of the server are nobody's business here."""


def _events(*states: str) -> frozenset[str]:
    """Name the events by which the server announces these states of a run."""
    return frozenset(f"prefect.flow-run.{state}" for state in states)


(LATE,) = _events("Late")
ENDS = _events("Completed", "Failed", "Cancelled", "Crashed", SKIPPED)
BEGUN = _events("Running", "AwaitingConcurrencySlot", "Scheduled", "Late", "AwaitingRetry")
HANDED = _events("Pending", "Submitting")


def ensure_automations(heartbeat_seconds: int = _HEARTBEAT_SECONDS) -> list[str]:
    """Register what all our deployments need on the server; calling it again changes nothing.

    - When a run is refused because its budget is used up, its deployment is paused, and no other: a series that asks
      for less may still fit. Switch it on again in the UI once the cap was raised.
    - When a run of ours stops giving signs of life, or is handed to a worker and does not begin, it becomes `Crashed`.
    - When one crashed, another one goes on with its release.

    Args:
        heartbeat_seconds: as the deployments set it for their runs.

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
        actions=[PauseDeployment(source="inferred", deployment_id=None)],  # that of the run which emitted the event
    )


def _crash(heartbeat_seconds: int) -> AutomationCore:
    return AutomationCore(
        name="pubpriv: a flow run without signs of life has crashed",
        description="Its process was killed, or its machine is gone. What it paid is kept; another run goes on.",
        # from its beginning on: a process may die before its first sign of life was sent
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
    """Fire for each related run that emits none of `expect` so long after it emitted one of `after`."""
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
    """Make it, or make the one of this name like it; say whether that changed anything."""
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
    """Return what counts of an automation: not its identity, nor whether an operator switched it off."""
    fields = AutomationCore.model_fields.keys() - {"enabled"}
    plain: dict[str, object] = automation.model_dump(mode="json", include=set(fields))
    return _without_identities(plain)


def _without_identities(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_identities(item) for name, item in value.items() if name != "id"}
    if isinstance(value, list):  # sets of names among them, in any order
        return sorted((_without_identities(item) for item in value), key=str)
    return value
