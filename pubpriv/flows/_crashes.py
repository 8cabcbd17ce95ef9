"""What the server does when a run of ours crashed: it makes another one that goes on with the same release.

What the run paid is kept, and its release id resumes, so this costs nothing more. It is a new flow run and not the old
one once more: Prefect's workers end with an error where a run that they still count as theirs is made due again.
"""

from datetime import timedelta

from prefect.events.actions import RunDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from pubpriv.estimators import ESTIMATORS
from pubpriv.flows.again import AFTER_SECONDS
from pubpriv.flows.parameters import MOST_CRASHES

_FORM = """\
{% if flow_run.state.type.value not in ('COMPLETED', 'FAILED', 'CANCELLING', 'CANCELLED') %}\
{% set form = flow_run.parameters['parameters'] %}\
{% set first = {'run': flow_run.id|string, 'due': flow_run.expected_start_time.isoformat(), 'crashes': 0} %}\
{% set before = form['resumes'] or first %}\
{{ dict(form, resumes=dict(before, after=flow_run.id|string, crashes=before['crashes'] + 1))|tojson }}\
{% endif %}"""
"""The form of the run that crashed, which also says of what release; see `pubpriv.flows.parameters.Resumed`.

Nothing for a run that has come to its end, of which no run can be made: the server may hear of its end late.
"""


DEAD = "no sign of life"
"""How the message of a run begins that an automation found dead: that one also makes the next run."""


def next_run() -> RunDeployment:
    """Make the action that goes on with the release of the run that an event is about.

    The server itself refuses the form of a run after the last crash that is allowed, whatever it was that crashed.
    """
    form = {"__prefect_kind": "json", "value": {"__prefect_kind": "jinja", "template": _FORM}}
    return RunDeployment(
        source="inferred",
        deployment_id=None,
        parameters={"parameters": form},
        job_variables=None,
        schedule_after=timedelta(seconds=AFTER_SECONDS),
    )


def run_again(related: dict[str, str | list[str]]) -> AutomationCore:
    """Make the automation for runs whose crash was reported.

    A server that was started anew keeps such reports to itself for a quarter of an hour, if the run began shortly
    before: so what finds runs dead does not wait for it.

    Args:
        related: labels of runs of ours.
    """
    names = [f"estimate-{each.name}" for each in ESTIMATORS]
    flows: dict[str, str | list[str]] = {"prefect.resource.role": "flow", "prefect.resource.name": names}
    return AutomationCore(
        name="pubpriv: run a release that crashed again",
        description=(
            f"It goes on where it stopped, at no further cost, {AFTER_SECONDS:g} s later; the next ones wait longer. "
            f"After {MOST_CRASHES} such runs that crashed too it is left to a person."
        ),
        trigger=EventTrigger(
            expect={"prefect.flow-run.Crashed"},
            match={"prefect.resource.id": ["prefect.flow-run.*"], "prefect.state-message": f"!{DEAD}*"},
            match_related=[related, flows],
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(seconds=10 * AFTER_SECONDS),  # a crash that is reported twice is one
        ),
        actions=[next_run()],
    )
