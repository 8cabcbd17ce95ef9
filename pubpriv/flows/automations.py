"""What the Prefect server does by itself: it pauses deployments whose budget is used up, and notices dead runs.

Automations are a convenience. That nothing is read without budget is the ledger's business (it refuses), with or
without a server; a paused deployment only spares everybody a failed run per period.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from prefect.automations import Automation
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, PauseDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from pubpriv.flows.runtime import HEARTBEAT
from pubpriv.tasks.events import EXHAUSTED, resource_id

TAG = "pubpriv"
"""On every deployment that `pubpriv deploy` made, and so on the runs that they start."""

_HEARTBEAT_SECONDS = int(*HEARTBEAT.values())
_MISSED_HEARTBEATS = 3
"""A run that missed so many is dead."""

_ENDS = ("Completed", "Failed", "Cancelled", "Crashed")


def ensure_automations(
    dataset: str, deployment_ids: Sequence[UUID], heartbeat_seconds: int = _HEARTBEAT_SECONDS
) -> list[str]:
    """Register what a dataset's deployments need on the server; calling it again changes nothing.

    - When a run of the dataset is refused because its budget is used up, its deployments are paused. Switch them on
      again in the UI once the cap was raised.
    - When a run of one of our deployments stops giving signs of life, it becomes `Crashed`. This one is shared by all
      datasets.

    Args:
        dataset: its name in the ledger.
        deployment_ids: of all its deployments; those that were named before and are not now are forgotten.
        heartbeat_seconds: as the deployments set it for their runs.

    Returns:
        Names of the automations that were made or changed.
    """
    wanted = [_pause(dataset, deployment_ids), _crash(heartbeat_seconds)]
    return [automation.name for automation in wanted if _ensure(automation)]


def _pause(dataset: str, deployment_ids: Sequence[UUID]) -> AutomationCore:
    return AutomationCore(
        name=f"pubpriv: pause {dataset} when its budget is used up",
        description=(
            "A run was refused before it read anything, because the dataset's budget has no room for it. Raise the "
            "cap (pubpriv budget set --raise), or lower the allotment of a run, and switch the deployment on again."
        ),
        trigger=EventTrigger(
            expect={EXHAUSTED},
            match={"prefect.resource.id": resource_id(dataset)},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(0),
        ),
        actions=[PauseDeployment(source="selected", deployment_id=identity) for identity in sorted(deployment_ids)],
    )


def _crash(heartbeat_seconds: int) -> AutomationCore:
    return AutomationCore(
        name="pubpriv: a flow run without signs of life has crashed",
        description="Its process was killed, or its machine is gone. What it paid is kept; run it again to resume.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *(f"prefect.flow-run.{end}" for end in _ENDS)},
            match={"prefect.resource.id": ["prefect.flow-run.*"]},
            # other flows of this server may give signs of life less often
            match_related={"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"},
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=_MISSED_HEARTBEATS * heartbeat_seconds),
        ),
        actions=[
            ChangeFlowRunState(
                name=None, state=StateType.CRASHED, message="no sign of life: its process is gone", force=False
            )
        ],
    )


def _ensure(wanted: AutomationCore) -> bool:
    """Make it, or make the one of this name like it; tell whether that changed anything."""
    with get_client(sync_client=True) as client:
        known = client.read_automations_by_name(wanted.name)
        if not known:
            client.create_automation(wanted)
            return True
        first, *others = known
        for other in others:  # two that were made at the same moment
            client.delete_automation(other.id)
        if _content(first) == _content(wanted):
            return False
        client.update_automation(first.id, wanted.model_copy(update={"enabled": first.enabled}))
        return True


def _content(automation: AutomationCore | Automation) -> object:
    """Give what counts of an automation: not its identity, nor whether an operator switched it off."""
    fields = AutomationCore.model_fields.keys() - {"enabled"}
    content: dict[str, object] = automation.model_dump(mode="json", include=set(fields))
    return _without_identities(content)


def _without_identities(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_identities(item) for name, item in value.items() if name != "id"}
    if isinstance(value, list):  # sets of names among them, in any order
        return sorted((_without_identities(item) for item in value), key=str)
    return value
