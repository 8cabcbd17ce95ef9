"""Work pools whose runs cannot be given commands, or environments that no dataset file names."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pubpriv.deployments.outcomes import CHANGED, CREATED, UNCHANGED, Outcome

_MADE = "Made by `pubpriv deploy`: its runs take the environments of the dataset files, and no commands"
"""Description of a work pool by which it is known for ours."""

_Environments = Iterable[Mapping[str, str]]


def make_pool(
    client: Any, name: str, environments: _Environments, going_on: _Environments | None, dry_run: bool
) -> Outcome:
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
        return Outcome(f"work pool {name}", CREATED, f"start a worker: prefect worker start --pool {name}")
    if known.description != _MADE:
        return Outcome(f"work pool {name}", UNCHANGED)
    allowed = _allowed(known.base_job_template)
    if going_on is not None:  # nothing becomes allowed by standing on the server
        needed = [(variable, value) for each in going_on for variable, value in each.items()]
        allowed = {
            variable: {value for value in values if (variable, value) in needed} for variable, values in allowed.items()
        }
    template = _template(environments, allowed)
    if template == known.base_job_template:
        return Outcome(f"work pool {name}", UNCHANGED)
    if not dry_run:
        client.update_work_pool(name, WorkPoolUpdate(base_job_template=template, description=_MADE))
    return Outcome(f"work pool {name}", CHANGED, "changed: the environments that its runs may have")


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
