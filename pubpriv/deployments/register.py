"""Register deployments on a Prefect server: once, and change them only where a file changed."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pubpriv.deployments.render import SLUG, Rendered
from pubpriv.errors import Unavailable
from pubpriv.flows.automations import TAG, ensure_automations
from pubpriv.flows.deployed import slot_of

_MADE = "Made by `pubpriv deploy`: its runs take the environments of the dataset files, and no commands"
"""Description of a work pool by which it is known for ours."""

_CREATED, _CHANGED, _UNCHANGED, _REMOVED, _LEFT = "created", "changed", "unchanged", "removed", "in no file"


@dataclass(frozen=True)
class _Outcome:
    """What became of one thing on the server.

    Attributes:
        what: for example `deployment estimate-mean/sensors-mean`.
        result: created, changed, unchanged, removed, or in no file.
        detail: what changed, or what to do.
    """

    what: str
    result: str
    detail: str = ""


@contextmanager
def server() -> Iterator[Any]:
    """Open a client of the Prefect server that `PREFECT_API_URL` or the profile names.

    Raises:
        Unavailable: none is named, or it does not answer.
    """
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if not url:
        raise Unavailable(
            "no Prefect server is named: set PREFECT_API_URL, for example to http://127.0.0.1:4200/api, or start one "
            "with `pubpriv serve`"
        )
    with get_client(sync_client=True) as client:
        if client.api_healthcheck() is not None:
            raise Unavailable(f"the Prefect server at {url} does not answer: start it, or correct PREFECT_API_URL")
        yield client


def register(
    client: Any, deployments: Iterable[Rendered], whole: bool = False, prune: bool = False, dry_run: bool = False
) -> list[_Outcome]:
    """Bring a server to what the files say; the same files again change nothing.

    Args:
        client: of the server.
        deployments: of the files.
        whole: the files are all there are; otherwise they have a say about their own datasets only.
        prune: delete deployments that an earlier call made and no file names; otherwise they are listed.
        dry_run: list what would change, and change nothing.
    """
    wanted = list(deployments)
    slots = {each.dataset: each.slots for each in wanted if each.dataset is not None}
    known, names = {each.name: each for each in _ours(client)}, {each.name for each in wanted}
    left = [each for name, each in sorted(known.items()) if name not in names and (whole or slots.keys() & each.tags)]
    outcomes = []
    for pool in sorted({each.pool for each in wanted}):
        going_on = [each.job_variables.get("env", {}) for each in left if each.work_pool_name == pool and not prune]
        environments = [each.env for each in wanted if each.pool == pool]
        outcomes.append(_pool(client, pool, environments, going_on if whole else None, dry_run))
    outcomes += [_slot(client, dataset, slots[dataset], dry_run) for dataset in sorted(slots)]
    outcomes += [_deployment(client, each, known.get(each.name), dry_run) for each in wanted]
    outcomes += [_left(client, each, prune, dry_run) for each in left]
    return outcomes if dry_run else outcomes + _automations(client, wanted)


def identity(client: Any, name: str) -> Any:
    """Find the deployment of this name (with or without its flow's); None if there is none."""
    wanted = name.rpartition("/")[2]
    return next((each for each in _ours(client) if each.name == wanted), None)


def _ours(client: Any) -> list[Any]:
    """List every deployment with our tag."""
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags

    mine = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    found: list[Any] = []
    while page := client.read_deployments(deployment_filter=mine, limit=100, offset=len(found)):
        found += page
    return found


_Environments = Iterable[Mapping[str, str]]


def _pool(
    client: Any, name: str, environments: _Environments, going_on: _Environments | None, dry_run: bool
) -> _Outcome:
    """Make a pool whose runs cannot be given commands, or an environment that no file names; see `_template`.

    Args:
        client: of the server.
        name: of the pool.
        environments: of the files' deployments.
        going_on: of deployments that no file names and that go on; None: the files are not all there are.
        dry_run: change nothing.
    """
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

    try:
        known = client.read_work_pool(name)
    except ObjectNotFound:
        template = _template(environments, {})
        if not dry_run:
            with suppress(ObjectAlreadyExists):  # a worker that starts makes it too
                made = WorkPoolCreate(name=name, type="process", base_job_template=template, description=_MADE)
                client.create_work_pool(made)
        return _Outcome(f"work pool {name}", _CREATED, f"start a worker: prefect worker start --pool {name}")
    if known.description != _MADE:
        return _Outcome(f"work pool {name}", _UNCHANGED)
    allowed = _allowed(known.base_job_template)
    if going_on is not None:  # nothing becomes allowed by standing on the server
        needed = [(variable, value) for each in going_on for variable, value in each.items()]
        allowed = {
            variable: {value for value in values if (variable, value) in needed} for variable, values in allowed.items()
        }
    template = _template(environments, allowed)
    if template == known.base_job_template:
        return _Outcome(f"work pool {name}", _UNCHANGED)
    if not dry_run:
        client.update_work_pool(name, WorkPoolUpdate(base_job_template=template, description=_MADE))
    return _Outcome(f"work pool {name}", _CHANGED, "changed: the environments that its runs may have")


def _allowed(template: Mapping[str, Any]) -> dict[str, set[str]]:
    """Read the values that a pool's template allows for each environment variable."""
    rules = template.get("variables", {}).get("properties", {}).get("env", {}).get("properties", {})
    return {variable: set(rule["enum"]) for variable, rule in rules.items()}


def _template(environments: _Environments, allowed: Mapping[str, set[str]]) -> dict[str, Any]:
    """Make the job variables of a pool: an environment of the values that files name or that were allowed, no others.

    Whoever may start a run may set its job variables: with Prefect's own template that is any command, and any
    environment, with it another ledger.
    """
    values = {variable: set(known) for variable, known in allowed.items() if known}
    for environment in environments:
        for variable, value in environment.items():
            values.setdefault(variable, set()).add(value)
    env = {variable: {"type": "string", "enum": sorted(values[variable])} for variable in sorted(values)}
    closed = {"type": "object", "additionalProperties": False}
    return {
        "job_configuration": {"env": "{{ env }}"},
        "variables": closed | {"properties": {"env": closed | {"properties": env}}},
    }


def _slot(client: Any, dataset: str, limit: int, dry_run: bool) -> _Outcome:
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
    from prefect.exceptions import ObjectNotFound

    name = slot_of(dataset)
    try:
        known = client.read_global_concurrency_limit_by_name(name)
    except ObjectNotFound:
        if not dry_run:
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit, active=True))
        return _Outcome(f"slot {name}", _CREATED)
    if known.limit == limit and known.active:
        return _Outcome(f"slot {name}", _UNCHANGED)
    if not dry_run:
        client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(limit=limit, active=True))
    return _Outcome(f"slot {name}", _CHANGED, f"limit: {known.limit} then, {limit} now")


def _deployment(client: Any, wanted: Rendered, known: Any, dry_run: bool) -> _Outcome:
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
    from prefect.utilities.callables import parameter_schema

    flow = wanted.flow()
    schema = parameter_schema(flow).model_dump_for_openapi()
    schedules = []
    if wanted.schedule is not None:
        rule, active = wanted.schedule.prefect(), wanted.schedule.active
        schedules = [DeploymentScheduleCreate(schedule=rule, active=active, slug=SLUG)]
    values = {
        "entrypoint": wanted.entrypoint,
        "description": wanted.description,
        "tags": sorted(wanted.tags),
        "parameters": wanted.parameters,
        "schedule": [_plain(each) for each in schedules],
        "work pool": wanted.pool,
        "environment": {"env": wanted.env},
        "form": schema,
    }
    before = None if known is None else _known_values(known)
    differing = [name for name, value in values.items() if before is None or before[name] != value]
    if not differing:
        paused = "; it is paused" if known.paused else ""
        return _Outcome(f"deployment {wanted.full_name}", _UNCHANGED, paused.removeprefix("; "))
    if not dry_run:
        client.create_deployment(
            flow_id=client.create_flow_from_name(flow.name),
            name=wanted.name,
            schedules=schedules,
            concurrency_limit=1,
            concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE),
            parameters=wanted.parameters,
            description=wanted.description,
            work_pool_name=wanted.pool,
            tags=sorted(wanted.tags),
            entrypoint=wanted.entrypoint,
            parameter_openapi_schema=schema,
            enforce_parameter_schema=True,
            job_variables={"env": wanted.env},
            pull_steps=[],
            # what an automation or a person paused stays so
            paused=None if known is None else known.paused,
        )
    if known is None:
        return _Outcome(f"deployment {wanted.full_name}", _CREATED)
    return _Outcome(f"deployment {wanted.full_name}", _CHANGED, f"changed: {', '.join(differing)}")


def _known_values(known: Any) -> dict[str, Any]:
    """Give what the server has, in the words of `_deployment`."""
    return {
        "entrypoint": known.entrypoint,
        "description": known.description,
        "tags": sorted(known.tags),
        "parameters": known.parameters,
        "schedule": [_plain(each) for each in known.schedules],
        "work pool": known.work_pool_name,
        "environment": known.job_variables,
        "form": known.parameter_openapi_schema,
    }


def _plain(schedule: Any) -> Mapping[str, Any]:
    """Give rule and whether it is active, comparable."""
    rule: dict[str, Any] = schedule.schedule.model_dump(mode="json")
    if "anchor_date" in rule:
        rule["anchor_date"] = schedule.schedule.anchor_date.timestamp()
    return rule | {"active": schedule.active}


def _left(client: Any, known: Any, prune: bool, dry_run: bool) -> _Outcome:
    what = f"deployment {known.name}"
    if not prune:
        return _Outcome(what, _LEFT, "it goes on; `pubpriv deploy --prune` deletes it")
    if not dry_run:
        client.delete_deployment(known.id)
    return _Outcome(what, _REMOVED, "its releases and their charges stay in the ledger")


def _automations(client: Any, wanted: list[Rendered]) -> list[_Outcome]:
    """Make the automation that pauses the deployments of a dataset whose budget is exhausted."""
    identities = {each.name: each.id for each in _ours(client)}
    datasets = dict.fromkeys(each.dataset for each in wanted if each.dataset is not None)
    outcomes = []
    for dataset in datasets:
        mine = [identities[each.name] for each in wanted if each.dataset == dataset]
        changed = ensure_automations(dataset, mine)
        outcomes += [_Outcome(f"automation {name!r}", _CHANGED) for name in changed]
    return outcomes
