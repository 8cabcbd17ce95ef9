"""After a crash of one of our runs, the server makes another run that continues the same release.

Charges are kept, and the release id resumes, so this costs nothing more. It is a new flow run instead of the old one
again, because Prefect's workers fail if a run that they still count as theirs becomes due again.
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
"""The form of the crashed run, with the release to continue; see `pubpriv.flows.parameters.Resumed`.

Empty for a run that has ended, so that no new run is made: the server may learn of its end late.
"""


DEAD = "no sign of life"
"""Beginning of the message of a run that an automation found dead; the same automation makes the next run."""


def next_run() -> RunDeployment:
    """Make the action that continues the release of the run in an event.

    After the last allowed crash, the server itself refuses the form of a further run.
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

    For a quarter of an hour after its start, a server may not pass on such reports, if the run began shortly before.
    So the automation that finds dead runs does not depend on them.

    Args:
        related: labels of our runs.
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
