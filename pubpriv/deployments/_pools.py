"""Work pools whose runs cannot be given commands, or environments that no dataset file names."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pubpriv.deployments._outcomes import CHANGED, CREATED, UNCHANGED, Outcome
from pubpriv.errors import InvalidInput

_MADE = "Made by `pubpriv deploy`: its runs take the environments of the dataset files, and no commands"
"""Description of a work pool by which it is known for ours."""

_Environments = Iterable[Mapping[str, str]]


def refuse_other_types(client: Any, names: Iterable[str], job: Mapping[str, Any] | None) -> None:
    """Refuse to make jobs of Kubernetes in a pool that is there and of another type, which it keeps for ever.

    Raises:
        InvalidInput: one of the pools is; nothing was changed.
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
    """Make a pool whose runs cannot be given commands, or an environment that no file names; see `_template`.

    Args:
        client: of the server.
        name: of the pool.
        environments: of the files' deployments.
        going_on: of deployments that no file names and that go on; None: the files are not all there are.
        dry_run: change nothing.
        job: what runs are on Kubernetes; see `kubernetes_jobs.job_configuration`. None: what they are in a pool that is
            there, and processes of the worker in a new one.
    """
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

    try:
        known = client.read_work_pool(name)
    except ObjectNotFound:
        template = _template(environments, {}, job or {})
        if not dry_run:
            with suppress(ObjectAlreadyExists):  # a worker that starts makes it too
                kind = "process" if job is None else "kubernetes"
                made = WorkPoolCreate(name=name, type=kind, base_job_template=template, description=_MADE)
                client.create_work_pool(made)
        return Outcome(f"work pool {name}", CREATED, f"start a worker: prefect worker start --pool {name}")
    if known.description != _MADE:
        return Outcome(f"work pool {name}", UNCHANGED)
    allowed = _allowed(known.base_job_template)
    if going_on is not None:  # nothing becomes allowed by being on the server
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
    """Give the job variables of a deployment that somebody added on the server, as far as its pool takes them.

    Args:
        client: of the server.
        name: of the pool.
        variables: of the deployment.
        ours: environment variables that files name, which are left out.
    """
    from prefect.exceptions import ObjectNotFound

    env = {variable: value for variable, value in (variables.get("env") or {}).items() if variable not in ours}
    others = {variable: value for variable, value in variables.items() if variable != "env"}
    if not env and not others:
        return {}
    with suppress(ObjectNotFound):
        known = client.read_work_pool(name)
        if known.description == _MADE:  # it takes no other variables, and of environments what it allows
            allowed = _allowed(known.base_job_template)
            return {"env": {variable: value for variable, value in env.items() if value in allowed.get(variable, ())}}
    return others | {"env": env}


def _allowed(template: Mapping[str, Any]) -> dict[str, set[str]]:
    """Read the values that a pool's template allows for each environment variable."""
    rules = template.get("variables", {}).get("properties", {}).get("env", {}).get("properties", {})
    return {variable: set(rule["enum"]) for variable, rule in rules.items()}


def _changes(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Say which parts of a pool's template are others."""
    parts = {"variables": "the environments that its runs may have", "job_configuration": "the job of its runs"}
    return [text for part, text in parts.items() if known.get(part) != wanted[part]]


def _template(
    environments: _Environments, allowed: Mapping[str, set[str]], configuration: Mapping[str, Any]
) -> dict[str, Any]:
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
        "job_configuration": {**configuration, "env": "{{ env }}"},
        "variables": closed | {"properties": {"env": closed | {"properties": env}}},
    }
