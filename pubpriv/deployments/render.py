"""From checked files to deployments: what is registered, and what `prefect deploy` reads."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pubpriv.deployments.model import Audit, Dataset, Release, Schedule
from pubpriv.deployments.schedules import period_of
from pubpriv.estimators import ESTIMATORS
from pubpriv.flows.deployed import WAIT_VARIABLE, slot_of
from pubpriv.flows.runtime import HEARTBEAT
from pubpriv.privacy.wording import declared

TAG = "pubpriv"
"""On every deployment that `pubpriv deploy` made: by it those are found that no file names any more."""

SLUG = "period"
"""Name of a deployment's one schedule, by which it is found again when it changes."""

FLOWS = {
    **{estimator.name: f"pubpriv.flows.estimate.estimate_{estimator.name}" for estimator in ESTIMATORS},
    "audit": "pubpriv.flows.audit_ledger.audit_ledger",
}
"""Entry points: module paths, so a worker runs what is installed there and pulls no code."""


@dataclass(frozen=True)
class Rendered:
    """A deployment as Prefect has it.

    Attributes:
        name: of the deployment.
        entrypoint: of its flow.
        description, tags: for the UI.
        parameters: of the flow, JSON.
        schedule: None: by hand only.
        period: of its releases, as text; None: each run is one.
        pool: work pool.
        env: environment variables of its runs.
        dataset: whose slot its runs take; None: none.
        slots: how many runs may look at that dataset at once.
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

    @property
    def flow_name(self) -> str:
        """As Prefect shows it."""
        return self.entrypoint.rpartition(".")[2].replace("_", "-")

    @property
    def full_name(self) -> str:
        """FLOW/DEPLOYMENT, as Prefect's own commands take it."""
        return f"{self.flow_name}/{self.name}"

    def flow(self) -> Any:
        """The flow itself."""
        from importlib import import_module

        module, _, name = self.entrypoint.rpartition(".")
        return getattr(import_module(module), name)

    def to_yaml(self) -> dict[str, Any]:
        """As an entry of `prefect.yaml`."""
        told: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "entrypoint": self.entrypoint,
            "tags": list(self.tags),
            "parameters": self.parameters,
            "enforce_parameter_schema": True,
            "concurrency_limit": {"limit": 1, "collision_strategy": "ENQUEUE"},
            "work_pool": {"name": self.pool, "job_variables": {"env": self.env}},
        }
        return told | {"schedules": [_schedule(self.schedule)] if self.schedule else []}


def render(told: Iterable[Dataset | Audit]) -> list[Rendered]:
    """All deployments of some files, in their order."""
    found: list[Rendered] = []
    for each in told:
        found += [_audit(each)] if isinstance(each, Audit) else [_release(each, release) for release in each.releases]
    return found


def _release(dataset: Dataset, release: Release) -> Rendered:
    schedule = release.schedule
    period = release.period or (str(period_of(schedule.prefect())) if schedule else None)
    form = dataset.form(release.name).model_dump(mode="json", exclude_unset=True)  # defaults stay the flow's own
    parameters = form | {"period": period}
    told = release.description or f"{release.estimator} of {dataset.dataset}"
    return Rendered(
        name=f"{dataset.dataset}-{release.name}",
        entrypoint=FLOWS[release.estimator],
        description=f"{told}. {release.allotment} a release, of {dataset.cap} in all; unit: {declared(dataset.unit)}.",
        tags=(TAG, dataset.dataset),
        parameters={"parameters": {name: value for name, value in parameters.items() if value is not None}},
        schedule=schedule,
        period=period,
        pool=dataset.pool,
        env={WAIT_VARIABLE: f"{dataset.concurrency.wait_seconds:g}", **HEARTBEAT, **_output(dataset.output)},
        dataset=dataset.dataset,
        slots=dataset.concurrency.runs,
    )


def _audit(audit: Audit) -> Rendered:
    return Rendered(
        name=audit.audit,
        entrypoint=FLOWS["audit"],
        description=f"{audit.description or 'Audit of the ledger'}. Costs nothing.",
        tags=(TAG, "audit"),
        parameters={"parameters": audit.form().model_dump(mode="json", exclude_defaults=True)},
        schedule=audit.schedule,
        period=None,
        pool=audit.pool,
        env={**HEARTBEAT, **_output(audit.output)},
    )


def _output(folder: str | None) -> dict[str, str]:
    return {"PUBPRIV_OUTPUT": folder} if folder else {}


def _schedule(schedule: Schedule) -> dict[str, Any]:
    rule = schedule.prefect()
    told: dict[str, Any] = {"active": schedule.active, "timezone": schedule.timezone, "slug": SLUG}
    if schedule.interval is not None:
        return {"interval": schedule.interval, "anchor_date": rule.anchor_date.isoformat()} | told
    return ({"cron": schedule.cron} if schedule.cron else {"rrule": schedule.rrule}) | told


HEAD = """\
# Written by `pubpriv deploy --dry-run` from deployments/datasets/; a test holds the two together.
# Slots, automations and budgets are not in here: `pubpriv deploy` makes the first two and checks the third.
# Register with: prefect work-pool create pubpriv --type process
{slots}#                prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml
"""


def prefect_yaml(deployments: Iterable[Rendered]) -> str:
    """The text of a `prefect.yaml` with these deployments."""
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
    # `pull: []`: the code is installed where the worker is
    yaml.dump({"name": "pubpriv", "pull": [], "deployments": [each.to_yaml() for each in found]}, text)
    return HEAD.replace("{slots}", "".join(slots)) + text.getvalue()
