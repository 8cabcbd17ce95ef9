"""Make deployments from checked files, for registration and for `prefect deploy`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pubpriv.deployments._parts import Notify, Schedule
from pubpriv.deployments.model import Audit, Dataset, Series
from pubpriv.deployments.schedules import gap_of, in_words, period_of
from pubpriv.estimators import ESTIMATORS
from pubpriv.flows.deployed import WAIT_VARIABLE, slot_of
from pubpriv.flows.runtime import HEARTBEAT
from pubpriv.flows.tags import TAG
from pubpriv.privacy.wording import declared

SLUG = "period"
"""Slug of a deployment's schedule, by which it is found again when it changes."""

SLUG_OFF = "period-off"
"""Slug of a schedule that the file switches off (`active: false`); pausing by a person does not change the slug."""

_OUTPUT = "PUBPRIV_OUTPUT"

OWN_VARIABLES = frozenset({WAIT_VARIABLE, *HEARTBEAT, _OUTPUT})
"""Environment variables that dataset files set; others on a deployment were added by somebody else."""

_FLOWS = {
    **{estimator.name: f"pubpriv.flows.estimate.estimate_{estimator.name}" for estimator in ESTIMATORS},
    "audit": "pubpriv.flows.audit_ledger.audit_ledger",
}
"""Entry points: module paths, so that a worker runs the installed code and pulls none."""


@dataclass(frozen=True)
class Rendered:
    """A deployment in Prefect's form.

    Attributes:
        name: name of the deployment.
        entrypoint: entry point of its flow.
        description, tags: for the UI.
        parameters: parameters of the flow, JSON.
        schedule: schedule; None: runs are started by hand.
        period: period of its releases, as text; None: each run is a release.
        pool: work pool.
        env: environment variables of its runs.
        dataset: dataset whose slot its runs take; None: none.
        slots: how many runs of that dataset may run at once.
        notify: notices about it and its dataset.
    """

    name: str
    entrypoint: str
    description: str
    tags: tuple[str, ...]
    parameters: dict[str, Any]
    schedule: Schedule | None
    period: str | None
    pool: str
    env: dict[str, str] = field(default_factory=dict)
    dataset: str | None = None
    slots: int = 1
    notify: tuple[Notify, ...] = ()

    @property
    def what(self) -> str:
        """Its subject: the dataset or the audit."""
        return self.dataset or self.name

    @property
    def flow_name(self) -> str:
        """Name of the flow in Prefect."""
        return self.entrypoint.rpartition(".")[2].replace("_", "-")

    @property
    def full_name(self) -> str:
        """FLOW/DEPLOYMENT, the name in Prefect's own commands."""
        return f"{self.flow_name}/{self.name}"

    def to_yaml(self) -> dict[str, Any]:
        """Make an entry of `prefect.yaml`."""
        entry: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "entrypoint": self.entrypoint,
            "tags": list(self.tags),
            "parameters": self.parameters,
            "enforce_parameter_schema": True,
            "concurrency_limit": {"limit": 1, "collision_strategy": "ENQUEUE"},
            "work_pool": {"name": self.pool, "job_variables": {"env": self.env}},
        }
        return entry | {"schedules": [_schedule(self.schedule)] if self.schedule else []}


def flow_at(entrypoint: str) -> Any:
    """Import the flow at an entry point."""
    from importlib import import_module

    module, _, name = entrypoint.rpartition(".")
    return getattr(import_module(module), name)


def render(models: Iterable[Dataset | Audit]) -> list[Rendered]:
    """Make all deployments of some files, in their order."""
    found: list[Rendered] = []
    for each in models:
        found += [_audit(each)] if isinstance(each, Audit) else [_release(each, release) for release in each.releases]
    return found


def _release(dataset: Dataset, release: Series) -> Rendered:
    schedule = release.schedule
    period = release.period or (str(period_of(schedule.prefect())) if schedule else None)
    form = dataset.form(release.name).model_dump(mode="json", exclude_unset=True)  # defaults stay the flow's own
    parameters = form | {"period": period, "skip_if_later_than": None if form.get("rows_of") else _latest(release)}
    what = release.description or f"{release.estimator} of {dataset.dataset}"
    each = f"{release.allotment} a release, of {dataset.cap} in all"
    return Rendered(
        name=f"{dataset.dataset}.{release.name}",  # a release has no dot in its name: no two pairs make one name
        entrypoint=_FLOWS[release.estimator],
        description=f"{what}. {_when(schedule)}; {each}; unit: {declared(dataset.unit)}.",
        tags=(TAG, dataset.dataset),
        parameters={"parameters": {name: value for name, value in parameters.items() if value is not None}},
        schedule=schedule,
        period=period,
        pool=dataset.pool,
        env={WAIT_VARIABLE: f"{dataset.concurrency.wait_seconds:g}", **HEARTBEAT, **_output(dataset.output)},
        dataset=dataset.dataset,
        slots=dataset.concurrency.runs,
        notify=dataset.notify,
    )


def _latest(release: Series) -> int | None:
    """Longest delay of a scheduled run, in seconds; None: any delay."""
    if release.schedule is None or release.catchup:
        return None
    return release.skip_if_later_than or gap_of(release.schedule.prefect())


def _audit(audit: Audit) -> Rendered:
    return Rendered(
        name=audit.audit,
        entrypoint=_FLOWS["audit"],
        description=f"{audit.description or 'Audit of the ledger'}. {_when(audit.schedule)}; costs nothing.",
        tags=(TAG, "audit"),
        parameters={"parameters": audit.form().model_dump(mode="json", exclude_defaults=True)},
        schedule=audit.schedule,
        period=None,
        pool=audit.pool,
        env={**HEARTBEAT, **_output(audit.output)},
        notify=audit.notify,
    )


def _when(schedule: Schedule | None) -> str:
    if schedule is None or not schedule.active:
        return "By hand"
    words = in_words(schedule.prefect())
    return words[:1].upper() + words[1:]


def _output(folder: str | None) -> dict[str, str]:
    return {_OUTPUT: folder} if folder else {}


def _schedule(schedule: Schedule) -> dict[str, Any]:
    rule = schedule.prefect()
    slug = SLUG if schedule.active else SLUG_OFF
    common: dict[str, Any] = {"active": schedule.active, "timezone": rule.timezone, "slug": slug}
    if schedule.interval is not None:
        return {"interval": schedule.interval, "anchor_date": rule.anchor_date.isoformat()} | common
    return ({"cron": rule.cron} if schedule.cron else {"rrule": rule.rrule}) | common


_HEAD = """\
# Written by `pubpriv deploy --prefect-yaml` from deployments/datasets/; a test holds the two together.
# Slots, automations and budgets are not in here: `pubpriv deploy` makes the first two and checks the third.
# Register with: prefect work-pool create pubpriv --type process
{slots}#                prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml
"""


def prefect_yaml(deployments: Iterable[Rendered]) -> str:
    """Write a `prefect.yaml` with these deployments."""
    from io import StringIO

    from ruamel.yaml import YAML

    found = list(deployments)
    slots = dict.fromkeys(
        f"#                prefect gcl create {slot_of(each.dataset)} --limit {each.slots}\n"
        for each in found
        if each.dataset is not None
    )
    text = StringIO()
    yaml = YAML()
    yaml.width, yaml.default_flow_style = 110, False
    yaml.indent(mapping=2, sequence=4, offset=2)
    # `pull: []`: the code is installed on the worker
    yaml.dump({"name": "pubpriv", "pull": [], "deployments": [each.to_yaml() for each in found]}, text)
    return _HEAD.replace("{slots}", "".join(slots)) + text.getvalue()
