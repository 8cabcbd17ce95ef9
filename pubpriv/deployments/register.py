"""Register deployments on a Prefect server, and change them only if a file changed.

Everything that belongs to others stays: deployments of another installation, tags and job variables that somebody
added, and pauses by a person or an automation.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from pubpriv.common.urls import shown_url
from pubpriv.deployments._notify import ensure_notices, targets
from pubpriv.deployments._outcomes import CHANGED, CREATED, LEFT, REMOVED, UNCHANGED, Outcome, differences
from pubpriv.deployments._pools import added_variables, make_pool, refuse_other_types
from pubpriv.deployments.render import OWN_VARIABLES, SLUG, SLUG_OFF, Rendered, flow_at
from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.flows.automations import ensure_automations
from pubpriv.flows.deployed import slot_of
from pubpriv.flows.status import dataset_of, ours
from pubpriv.flows.tags import NOBODY, OF, TAG

INSTALLATION = "PUBPRIV_INSTALLATION"
"""Environment variable that names the installation to which deployments belong; see `register`."""

_PAGE = 200


@contextmanager
def server() -> Iterator[Any]:
    """Open a client of the Prefect server that `PREFECT_API_URL` or the profile names.

    Raises:
        Unavailable: no server is named, or it does not answer.
    """
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings

    from pubpriv.tasks.outages import naming_outages

    named = get_current_settings().api.url
    if not named:
        raise Unavailable(
            "no Prefect server is named: set PREFECT_API_URL, for example to http://127.0.0.1:4200/api, or start one "
            "with `pubpriv serve`"
        )
    url = shown_url(named)
    with get_client(sync_client=True) as client:
        if client.api_healthcheck() is not None:
            raise Unavailable(f"the Prefect server at {url} does not answer: start it, or correct PREFECT_API_URL")
        with naming_outages(f"the Prefect server at {url}"):
            yield client


def register(
    client: Any,
    deployments: Iterable[Rendered],
    whole: bool = False,
    prune: bool = False,
    dry_run: bool = False,
    installation: str = NOBODY,
    job: Mapping[str, Any] | None = None,
) -> list[Outcome]:
    """Update a server to match the files; the same files again change nothing.

    Args:
        client: client of the server.
        deployments: deployments of the files.
        whole: the files are complete; otherwise they only decide about their own datasets.
        prune: delete deployments that an earlier call made and that are in no file, and slots of datasets without
            deployments; otherwise they are listed.
        dry_run: list changes without making them.
        installation: name of the installation. Deployments of another one are neither changed nor deleted; those
            registered without a name are taken over if the files name their dataset.
        job: job of a run on Kubernetes; see `make_pool`.

    Raises:
        InvalidInput: another installation has deployed one of the datasets, the server lacks a block for notices, or
            a pool has another type than `job` needs; nothing was changed.
    """
    wanted = list(deployments)
    slots = {each.dataset: each.slots for each in wanted if each.dataset is not None}
    everything, names = ours(client), {each.name for each in wanted}
    _refuse_foreign(wanted, [each for each in everything if _owner_of(each) not in (installation, NOBODY)])
    blocks, pools = targets(client, wanted), sorted({each.pool for each in wanted})
    refuse_other_types(client, pools, job)
    here = {each.what for each in wanted}
    taken_over = {each.id for each in everything if _owner_of(each) == NOBODY and _what(each) in here}
    mine = [each for each in everything if _owner_of(each) == installation or each.id in taken_over]
    known = {each.name: each for each in mine}
    left = [each for name, each in sorted(known.items()) if name not in names and (whole or dataset_of(each) in slots)]
    gone = {each.id for each in left} if prune else set()
    outcomes = []
    for pool in pools:
        there = [each for each in everything if each.work_pool_name == pool and each.id not in gone]
        environments = [each.env for each in wanted if each.pool == pool]
        going_on = [_added(_environment(each)) if each.name in names else _environment(each) for each in there]
        outcomes.append(make_pool(client, pool, environments, going_on if whole else None, dry_run, job))
    limits = _limits(client)
    outcomes += [
        _slot(client, dataset, slots[dataset], limits.get(slot_of(dataset)), dry_run) for dataset in sorted(slots)
    ]
    outcomes += [_deployment(client, each, known.get(each.name), installation, dry_run) for each in wanted]
    outcomes += ensure_notices(client, wanted, blocks, _tag_of(installation), whole, prune, dry_run)
    outcomes += [_left(client, each, prune, dry_run) for each in left]
    if prune:
        staying = {dataset_of(each) for each in everything if each.id not in gone} | slots.keys()
        bare = sorted({name for each in left if (name := dataset_of(each)) is not None and name not in staying})
        outcomes += [_bare_slot(client, dataset, dry_run) for dataset in bare]
    return outcomes if dry_run else outcomes + [Outcome(f"automation {n!r}", CHANGED) for n in ensure_automations()]


def identity(client: Any, name: str) -> Any:
    """Find the deployment of this name (with or without its flow's); None if there is none."""
    wanted = name.rpartition("/")[2]
    return next((each for each in ours(client) if each.name == wanted), None)


def _tag_of(installation: str) -> str:
    return f"{OF}{installation}"


def _is_own_tag(tag: str) -> bool:
    """Check whether `pubpriv deploy` adds this tag, so that it may also remove it."""
    return tag == TAG or tag.startswith(OF)


def _what(known: Any) -> str:
    """Subject of a deployment on the server: its dataset, or its audit."""
    return dataset_of(known) or str(known.name)


def _owner_of(known: Any) -> str:
    """Installation of a deployment on the server."""
    return next((tag.removeprefix(OF) for tag in known.tags if tag.startswith(OF)), NOBODY)


def _refuse_foreign(wanted: list[Rendered], others: list[Any]) -> None:
    """Raise if another installation has a dataset or an audit with the same name."""
    theirs = {_what(each): _owner_of(each) for each in others}
    for name in [each.what for each in wanted]:
        if name in theirs:
            raise InvalidInput(
                f"{name} is deployed on this server by the installation {theirs[name]!r}: nothing was changed. If that "
                f"is you, set {INSTALLATION}={theirs[name]}; else give yours another name"
            )


def _limits(client: Any) -> dict[str, Any]:
    """List the global concurrency limits of the server by name."""
    found: list[Any] = []
    while page := client.read_global_concurrency_limits(limit=_PAGE, offset=len(found)):
        found += page
    return {each.name: each for each in found}


def _slot(client: Any, dataset: str, limit: int, known: Any, dry_run: bool) -> Outcome:
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate

    name = slot_of(dataset)
    if known is None:
        if not dry_run:
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit, active=True))
        return Outcome(f"slot {name}", CREATED)
    if known.limit == limit and known.active:
        return Outcome(f"slot {name}", UNCHANGED)
    if not dry_run:
        client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(limit=limit, active=True))
    return Outcome(f"slot {name}", CHANGED, f"limit: {known.limit} -> {limit}")


def _bare_slot(client: Any, dataset: str, dry_run: bool) -> Outcome:
    """Delete the slot of a dataset without deployments."""
    if not dry_run:
        client.delete_global_concurrency_limit_by_name(slot_of(dataset))
    return Outcome(f"slot {slot_of(dataset)}", REMOVED)


def _deployment(client: Any, wanted: Rendered, known: Any, installation: str, dry_run: bool) -> Outcome:
    from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions

    schema = _form(wanted.entrypoint)
    schedules = _schedules(wanted, known)
    values = {
        "entrypoint": wanted.entrypoint,
        "description": wanted.description,
        "tags": sorted({*wanted.tags, _tag_of(installation), *_foreign_tags(known)}),
        "parameters": wanted.parameters,
        "schedule": [_plain(each) for each in schedules],
        "work pool": wanted.pool,
        "job variables": _job_variables(client, wanted, known),
        "form": schema,
    }
    what, stopped = f"deployment {wanted.full_name}", _stopped(known)
    changes = [] if known is None else differences(_known_values(known), values)
    if known is not None and not changes:
        return Outcome(what, UNCHANGED, stopped)
    if not dry_run:
        if known is not None and known.entrypoint != wanted.entrypoint:  # of another flow: both would run
            client.delete_deployment(known.id)
        client.create_deployment(
            flow_id=client.create_flow_from_name(wanted.flow_name),
            name=wanted.name,
            schedules=schedules,
            concurrency_limit=1,
            concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE),
            parameters=wanted.parameters,
            description=wanted.description,
            work_pool_name=wanted.pool,
            tags=values["tags"],
            entrypoint=wanted.entrypoint,
            parameter_openapi_schema=schema,
            enforce_parameter_schema=True,
            job_variables=values["job variables"],
            pull_steps=[],
            # paused deployments stay paused
            paused=None if known is None else known.paused,
        )
    if known is None:
        return Outcome(what, CREATED)
    return Outcome(what, CHANGED, "; ".join([*changes, *([stopped] if stopped else [])]))


@cache
def _form(entrypoint: str) -> dict[str, Any]:
    """Make the schema of a flow's parameters; cached, because a flow may have hundreds of deployments."""
    from prefect.utilities.callables import parameter_schema

    schema: dict[str, Any] = parameter_schema(flow_at(entrypoint)).model_dump_for_openapi()
    return schema


def _schedules(wanted: Rendered, known: Any) -> list[Any]:
    """Make the schedule of the file, paused if a person paused it on the server, and keep those that others added.

    A schedule that the file switches off has another slug than one that a person paused, so that the two can be
    distinguished when the file switches it on again.
    """
    from prefect.client.schemas.actions import DeploymentScheduleCreate

    there = [] if known is None else known.schedules
    paused = any(each.slug == SLUG and not each.active for each in there)
    made = []
    if wanted.schedule is not None:
        on = wanted.schedule.active
        rule = wanted.schedule.prefect()
        made.append(DeploymentScheduleCreate(schedule=rule, active=on and not paused, slug=SLUG if on else SLUG_OFF))
    kept = [each for each in there if each.slug not in (SLUG, SLUG_OFF)]
    return made + [
        DeploymentScheduleCreate(schedule=each.schedule, active=each.active, slug=each.slug, parameters=each.parameters)
        for each in kept
    ]


def _stopped(known: Any) -> str:
    """Remark that a deployment on the server makes no runs; empty if it does."""
    if known is None:
        return ""
    if known.paused:
        return "it is paused"
    paused = any(each.slug == SLUG and not each.active for each in known.schedules)
    return "its schedule is paused on the server" if paused else ""


def _foreign_tags(known: Any) -> set[str]:
    return set() if known is None else {tag for tag in known.tags if not _is_own_tag(tag)}


def _added(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that dataset files cannot set."""
    return {name: value for name, value in environment.items() if name not in OWN_VARIABLES}


def _environment(known: Any) -> Mapping[str, str]:
    return (known.job_variables or {}).get("env") or {}


def _job_variables(client: Any, wanted: Rendered, known: Any) -> dict[str, Any]:
    """The file's environment, and variables that somebody added on the server."""
    added = {} if known is None else added_variables(client, wanted.pool, known.job_variables or {}, OWN_VARIABLES)
    return added | {"env": added.get("env", {}) | wanted.env}


def _known_values(known: Any) -> dict[str, Any]:
    """Values on the server, in the form of `_deployment`."""
    return {
        "entrypoint": known.entrypoint,
        "description": known.description,
        "tags": sorted(known.tags),
        "parameters": known.parameters,
        "schedule": [_plain(each) for each in sorted(known.schedules, key=lambda each: each.slug not in _SLUGS)],
        "work pool": known.work_pool_name,
        "job variables": known.job_variables,
        "form": known.parameter_openapi_schema,
    }


_SLUGS = SLUG, SLUG_OFF


def _plain(schedule: Any) -> Mapping[str, Any]:
    """Rule of a schedule and whether it is active, for comparison."""
    rule: dict[str, Any] = schedule.schedule.model_dump(mode="json")
    if "anchor_date" in rule:
        rule["anchor_date"] = schedule.schedule.anchor_date.timestamp()
    return rule | {"active": schedule.active, "slug": schedule.slug}


def _left(client: Any, known: Any, prune: bool, dry_run: bool) -> Outcome:
    what = f"deployment {known.name}"
    if not prune:
        return Outcome(what, LEFT, "it goes on; `pubpriv deploy --prune` deletes it")
    if not dry_run:
        client.delete_deployment(known.id)
    return Outcome(what, REMOVED, "its releases and their charges stay in the ledger")
