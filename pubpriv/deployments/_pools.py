"""Work pools in which runs cannot get other commands, or environments that are in no dataset file."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pubpriv.deployments._outcomes import CHANGED, CREATED, UNCHANGED, Outcome
from pubpriv.errors import InvalidInput

_MADE = "Made by `pubpriv deploy`: its runs take the environments of the dataset files, and no commands"
"""Description by which our work pools are recognised."""

_Environments = Iterable[Mapping[str, str]]


def refuse_other_types(client: Any, names: Iterable[str], job: Mapping[str, Any] | None) -> None:
    """Refuse Kubernetes jobs in an existing pool of another type, since the type of a pool never changes.

    Raises:
        InvalidInput: one of the pools has another type; nothing was changed.
    """
    from prefect.exceptions import ObjectNotFound

    for name in names if job is not None else ():
        with suppress(ObjectNotFound):
            known = client.read_work_pool(name)
            if known.type != "kubernetes" or known.description != _MADE:
                raise InvalidInput(
                    f"the work pool {name} is there, of type {known.type}, and not made by `pubpriv deploy --pool "
                    "kubernetes`; a pool keeps its type: give the dataset files another `pool`, or delete this one"
                )


def make_pool(
    client: Any,
    name: str,
    environments: _Environments,
    going_on: _Environments | None,
    dry_run: bool,
    job: Mapping[str, Any] | None = None,
) -> Outcome:
    """Make a pool in which runs cannot get other commands, or an environment that is in no file; see `_template`.

    Args:
        client: client of the server.
        name: name of the pool.
        environments: environments of the files' deployments.
        going_on: environments of continuing deployments that are in no file; None: the files are not complete.
        dry_run: change nothing.
        job: job of a run on Kubernetes; see `kubernetes_jobs.job_configuration`. None: keep the kind of an existing
            pool; in a new pool runs are processes of the worker.
    """
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

    try:
        known = client.read_work_pool(name)
    except ObjectNotFound:
        template = _template(environments, {}, job or {})
        if not dry_run:
            with suppress(ObjectAlreadyExists):  # a starting worker may make it too
                kind = "process" if job is None else "kubernetes"
                made = WorkPoolCreate(name=name, type=kind, base_job_template=template, description=_MADE)
                client.create_work_pool(made)
        return Outcome(f"work pool {name}", CREATED, f"start a worker: prefect worker start --pool {name}")
    if known.description != _MADE:
        return Outcome(f"work pool {name}", UNCHANGED)
    allowed = _allowed(known.base_job_template)
    if going_on is not None:  # values on the server alone are not allowed
        needed = [(variable, value) for each in going_on for variable, value in each.items()]
        allowed = {
            variable: {value for value in values if (variable, value) in needed} for variable, values in allowed.items()
        }
    if job is None and known.type == "kubernetes":
        job = known.base_job_template["job_configuration"]
    template = _template(environments, allowed, job or {})
    if template == known.base_job_template:
        return Outcome(f"work pool {name}", UNCHANGED)
    if not dry_run:
        client.update_work_pool(name, WorkPoolUpdate(base_job_template=template, description=_MADE))
    return Outcome(
        f"work pool {name}", CHANGED, f"changed: {' and '.join(_changes(known.base_job_template, template))}"
    )


def added_variables(client: Any, name: str, variables: Mapping[str, Any], ours: Collection[str]) -> dict[str, Any]:
    """Return the job variables that somebody added to a deployment on the server, if its pool allows them.

    Args:
        client: client of the server.
        name: name of the pool.
        variables: job variables of the deployment.
        ours: environment variables from files, which are left out.
    """
    from prefect.exceptions import ObjectNotFound

    env = {variable: value for variable, value in (variables.get("env") or {}).items() if variable not in ours}
    others = {variable: value for variable, value in variables.items() if variable != "env"}
    if not env and not others:
        return {}
    with suppress(ObjectNotFound):
        known = client.read_work_pool(name)
        if known.description == _MADE:  # only environments, with allowed values
            allowed = _allowed(known.base_job_template)
            return {"env": {variable: value for variable, value in env.items() if value in allowed.get(variable, ())}}
    return others | {"env": env}


def _allowed(template: Mapping[str, Any]) -> dict[str, set[str]]:
    """Read the values that a pool's template allows for each environment variable."""
    rules = template.get("variables", {}).get("properties", {}).get("env", {}).get("properties", {})
    return {variable: set(rule["enum"]) for variable, rule in rules.items()}


def _changes(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Describe which parts of a pool's template differ."""
    parts = {"variables": "the environments that its runs may have", "job_configuration": "the job of its runs"}
    return [text for part, text in parts.items() if known.get(part) != wanted[part]]


def _template(
    environments: _Environments, allowed: Mapping[str, set[str]], configuration: Mapping[str, Any]
) -> dict[str, Any]:
    """Make the job variables of a pool: only an environment with values from files or values allowed before.

    Everybody who may start a run may set its job variables: with Prefect's own template these are any command and any
    environment, for example another ledger.
    """
    values = {variable: set(known) for variable, known in allowed.items() if known}
    for environment in environments:
        for variable, value in environment.items():
            values.setdefault(variable, set()).add(value)
    env = {variable: {"type": "string", "enum": sorted(values[variable])} for variable in sorted(values)}
    closed = {"type": "object", "additionalProperties": False}
    return {
        "job_configuration": {**configuration, "env": "{{ env }}"},
        "variables": closed | {"properties": {"env": closed | {"properties": env}}},
    }
