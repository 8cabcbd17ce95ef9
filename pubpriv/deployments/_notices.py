"""Automations that notify people, as requested by `notify` in a dataset's file.

A block of the Prefect server has the address or the secret of the recipient; files contain neither. Notices about runs
use Prefect's own events, by the deployment of the run; notices about a budget or a ledger use our events
(`pubpriv.tasks.events`). Messages have states and figures of the ledger, which are public.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pubpriv.tasks.events import DOUBTFUL_NUMBERS, EXHAUSTED, EXPORT_OLD, LOW, MISSED, VERIFY_FAILED, resource_id

Kind = Literal["failed", "refused", "crashed", "missed", "doubtful", "low", "exhausted", "export-old", "verify-failed"]
"""Kinds of notices."""

_LATE_SECONDS = 600
"""Seconds after which a scheduled run that no worker took is reported as missed."""

_EVENTS = {
    "missed": MISSED,
    "doubtful": DOUBTFUL_NUMBERS,
    "low": LOW,
    "exhausted": EXHAUSTED,
    "export-old": EXPORT_OLD,
    "verify-failed": VERIFY_FAILED,
}

_OF_AUDITS = ("export-old", "verify-failed")
"""Kinds of notices from audits, about all datasets that they check."""

_ONCE_SECONDS = 60
"""Repeated notices within this time are sent once: runner and worker both report a crash, audits several findings."""

_REFUSED = "*BudgetExceeded: *"
"""Pattern of the state message of a run without room in the budget; `!` before it matches any other message."""

_RUN = "{{ flow_run.name }}"
_SUBJECT = f"pubpriv: {_RUN} {{{{ flow_run.state.name }}}}"
_WHERE = "{% if flow_run|ui_url %}\n\n{{ flow_run|ui_url }}{% endif %}"
_BODY = "{{ flow_run.state.message }}" + _WHERE
_LATE_BODY = f"No worker took it within {_LATE_SECONDS // 60} minutes: is one at work?{_WHERE}"

_WEBHOOK = "webhook"
"""Type of a block that is called with JSON; blocks of other types send notifications themselves."""


@dataclass(frozen=True)
class Target:
    """A block of the server to which messages go.

    Attributes:
        name: TYPE/NAME, as in files.
        identity: identity of the block on the server.
    """

    name: str
    identity: Any

    def action(self, subject: str, body: str) -> Any:
        """Make the action that sends a message; both parts are templates."""
        from prefect.events.actions import CallWebhook, SendNotification

        if self.name.partition("/")[0] == _WEBHOOK:
            parts = {"subject": subject, "body": body}
            said = "".join(f"{{% set {name} %}}{text}{{% endset %}}" for name, text in parts.items())
            payload = said + '{{ {"subject": subject, "body": body}|tojson }}'
            return CallWebhook(block_document_id=self.identity, payload=payload)
        return SendNotification(block_document_id=self.identity, subject=subject, body=body)


@dataclass(frozen=True)
class Subject:
    """What a notice is about.

    Attributes:
        name: name of the dataset or the audit.
        is_dataset: whether it is a dataset; otherwise it is an audit.
        deployments: names of its deployments.
    """

    name: str
    is_dataset: bool
    deployments: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name that distinguishes datasets and audits."""
        return self.name if self.is_dataset else f"audit {self.name}"

    @property
    def runs(self) -> dict[str, str | list[str]]:
        """Return the labels of resources related to its runs."""
        return {"prefect.resource.role": "deployment", "prefect.resource.name": sorted(self.deployments)}


def notices(subject: Subject, kinds: Collection[str], target: Target, tags: Collection[str]) -> list[Any]:
    """Make the automations that notify a target about a dataset or about findings of an audit.

    Args:
        subject: the dataset or the audit.
        kinds: kinds of notices.
        target: recipient.
        tags: tags of the automations.
    """
    from prefect.events.schemas.automations import AutomationCore

    made = [*_of_states(subject, kinds), *_of_late(subject, kinds), *_of_events(subject, kinds)]
    return [
        AutomationCore(
            name=f"pubpriv: tell {target.name} of {subject.title}: {named}",
            description="Made by `pubpriv deploy` from `notify` in a file.",
            tags=sorted(tags),
            trigger=trigger,
            actions=[target.action(title, body)],
        )
        for named, trigger, title, body in made
    ]


_Notice = tuple[str, Any, str, str]


def _of_states(subject: Subject, kinds: Collection[str]) -> Iterator[_Notice]:
    """Yield notices of final states; a refused run has failed, with a message that says so."""
    both = {"failed", "refused"} <= {*kinds}
    if both:
        yield "failed, refused", _ended(subject, "Failed"), _SUBJECT, _BODY
    elif "failed" in kinds:
        yield "failed", _ended(subject, "Failed", f"!{_REFUSED}"), _SUBJECT, _BODY
    elif "refused" in kinds:
        yield "refused", _ended(subject, "Failed", _REFUSED), _SUBJECT, _BODY
    if "crashed" in kinds:
        yield "crashed", _ended(subject, "Crashed"), _SUBJECT, _BODY


def _ended(subject: Subject, state: str, message: str | None = None) -> Any:
    from prefect.events.schemas.automations import EventTrigger, Posture

    which: dict[str, str | list[str]] = {"prefect.resource.id": "prefect.flow-run.*"}
    if message is not None:
        which["prefect.state-message"] = message
    return EventTrigger(
        expect={f"prefect.flow-run.{state}"},
        match=which,
        match_related=subject.runs,
        for_each={"prefect.resource.id"},
        posture=Posture.Reactive,
        threshold=1,
        within=timedelta(seconds=_ONCE_SECONDS),
    )


def _of_late(subject: Subject, kinds: Collection[str]) -> Iterator[_Notice]:
    from pubpriv.flows.automations import BEGUN, ENDS, HANDED, LATE, silence

    if "missed" in kinds:
        begun = (BEGUN | ENDS | HANDED) - {LATE}
        trigger = silence({LATE}, begun, _LATE_SECONDS, subject.runs)
        yield "late", trigger, f"pubpriv: {_RUN} is late", _LATE_BODY


def _of_events(subject: Subject, kinds: Collection[str]) -> Iterator[_Notice]:
    from prefect.events.schemas.automations import EventTrigger, Posture

    ours = [kind for kind in _EVENTS if kind in kinds and (subject.is_dataset or kind in _OF_AUDITS)]
    if not ours:
        return
    trigger = EventTrigger(
        expect={_EVENTS[kind] for kind in ours},
        match={"prefect.resource.id": resource_id(subject.name if subject.is_dataset else "*")},
        match_related={} if subject.is_dataset else subject.runs,
        posture=Posture.Reactive,
        threshold=1,
        within=timedelta(seconds=0 if subject.is_dataset else _ONCE_SECONDS),
    )
    yield ", ".join(ours), trigger, "{{ event.event }}: {{ event.payload.dataset }}", "{{ event.payload.text }}"
