"""`deployments/compose.yaml` and its Dockerfile, as far as they can be checked without Docker.

The file is held against the compose specification's own JSON schema, and every name in it against what it names:
Prefect's settings and commands, pubpriv's commands and variables, secrets, networks, volumes, versions.
"""

import copy
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from test_docs import PACKAGES, ROOT, wrong_command, wrong_prefect_command

COMPOSE = ROOT / "pubpriv" / "deployments" / "compose.yaml"
DOCKERFILE = ROOT / "pubpriv" / "deployments" / "Dockerfile"
LONG_RUNNING = {"prefect-database", "ledger-database", "prefect", "worker"}

OTHERS = {
    # variables that neither Prefect nor pubpriv reads: PostgreSQL's image, its client library, analytics
    *("POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE", "POSTGRES_INITDB_ARGS"),
    *("PGPASSWORD", "DO_NOT_TRACK"),
}


def read() -> dict[str, Any]:
    """The file as plain dictionaries, anchors and merges resolved."""
    return YAML(typ="safe").load(COMPOSE)


def exported(service: dict[str, Any]) -> dict[str, str]:
    """Variables that a service's command takes from its secrets."""
    text = " ".join(service.get("command", []))
    return dict(re.findall(r'export (\w+)="\$\$\(cat /run/secrets/(\w+)\)"', text))


def faults(compose: dict[str, Any]) -> Iterator[str]:
    """What in the file does not fit together, or names what is not there."""
    for name, service in compose["services"].items():
        yield from (f"{name}: {fault}" for fault in _of_service(service, compose))
        if name in LONG_RUNNING and "healthcheck" not in service:
            yield f"{name}: nobody sees whether it is well"
    for kind in ("secrets", "networks", "volumes"):
        used = {part for service in compose["services"].values() for part in _used(service, kind)}
        yield from (f"{kind}: {part} is never used" for part in compose[kind].keys() - used)
        yield from (f"{kind}: {part} is not declared" for part in used - compose[kind].keys())


def _used(service: dict[str, Any], kind: str) -> list[str]:
    parts = service.get(kind, [])
    if kind == "volumes":
        return [part.partition(":")[0] for part in parts if re.match(r"[a-z]", part)]
    return list(parts)


@cache
def known_variables() -> set[str]:
    """Environment variables that Prefect, pubpriv, or an image reads."""
    from prefect.settings import Settings
    from prefect.settings.legacy import _get_settings_fields

    sources = [path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    return {*OTHERS, *_get_settings_fields(Settings), *re.findall(r"\bPUBPRIV_\w+", "".join(sources))}


def _of_service(service: dict[str, Any], compose: dict[str, Any]) -> Iterator[str]:
    variables = {**service.get("environment", {}), **exported(service)}
    for variable, value in variables.items():
        if variable not in known_variables():
            yield f"nobody reads {variable}"
        if re.search(r"://[^/@\s]+:[^/@\s]+@", str(value)):
            yield f"{variable} carries a password"
    named = set(re.findall(r"/run/secrets/(\w+)", str(service.get("command")) + str(service.get("environment"))))
    if named != set(service.get("secrets", [])):
        yield f"reads the secrets {sorted(named)}, is given {sorted(service.get('secrets', []))}"
    for port in service.get("ports", []):
        if not port.startswith("127.0.0.1:"):
            yield f"{port} is open to other hosts"
    if re.search(r":latest$|^[^:]+$", service["image"]):
        yield f"{service['image']} is not pinned"
    yield from filter(None, [_wrong_last_line(service.get("command", []))])
    for other in service.get("depends_on", {}):
        if not set(service["networks"]) & set(compose["services"][other]["networks"]):
            yield f"waits for {other}, and shares no network with it"


def _wrong_last_line(command: list[str]) -> str | None:
    """What is wrong with the program that a service becomes; the databases' own is not looked at."""
    if command[:2] != ["sh", "-c"]:
        return None
    last = command[2].strip().splitlines()[-1]
    program = last.removeprefix("exec ")
    if program == last:
        return f"{last}: without exec the shell stays, and signals do not arrive"
    return {"pubpriv": wrong_command, "prefect": wrong_prefect_command}[shlex.split(program)[0]](program)


def test_the_file_is_valid():
    """It is what the compose specification's schema wants; a service with a misspelt key is not."""
    import check_jsonschema.builtin_schemas as builtin
    import jsonschema

    path = Path(builtin.__file__).parent / "vendor" / "compose-spec.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    compose = read()
    assert [error.message for error in validator.iter_errors(compose)] == []
    compose["services"]["worker"]["comand"] = "sleep"
    assert not validator.is_valid(compose)


def test_everything_it_names_is_there():
    """Settings, commands, secrets, networks and volumes; no password, no open port, no unpinned image."""
    compose = read()
    assert compose["services"].keys() == LONG_RUNNING | {"deploy"}
    assert list(faults(compose)) == []


def _misspelt_setting(services):
    services["prefect"]["environment"]["PREFECT_SERVER_UI_V3_ENABLED"] = "false"


def _unknown_variable(services):
    services["worker"]["environment"]["PUBPRIV_LODGER"] = "sqlite:///x.db"


def _password(services):
    services["worker"]["environment"]["PUBPRIV_LEDGER"] = "postgresql://ledger:secret@ledger-database/ledger"


def _open_port(services):
    services["prefect"]["ports"] = ["4200:4200"]


def _latest(services):
    services["prefect"]["image"] = "pubpriv:latest"


def _no_such_option(services):
    services["worker"]["command"][2] = "exec prefect worker start --pol pubpriv"


def _no_such_command(services):
    services["deploy"]["command"][2] = "exec pubpriv deplore"


def _shell_stays(services):
    services["deploy"]["command"][2] = "pubpriv budget"


def _secret_not_granted(services):
    services["worker"]["secrets"] = ["prefect_auth"]


def _no_network(services):
    services["deploy"]["networks"] = ["ledger-database"]


def _no_health(services):
    del services["worker"]["healthcheck"]


@pytest.mark.parametrize(
    "damage",
    [
        *(_misspelt_setting, _unknown_variable, _password, _open_port, _latest, _no_such_option),
        *(_no_such_command, _shell_stays, _secret_not_granted, _no_network, _no_health),
    ],
    ids=lambda damage: damage.__name__.strip("_"),
)
def test_a_fault_is_seen(damage):
    """Each kind of fault, put into the file that has none, is found."""
    compose = copy.deepcopy(read())
    before = set(faults(compose))
    damage(compose["services"])
    assert set(faults(compose)) - before


def test_only_the_worker_sees_tables_and_nobody_can_write_them():
    """The tables are mounted read-only, the server has neither them nor the ledger, and output is the worker's."""
    services = read()["services"]
    mounts = [(name, mount) for name, service in services.items() for mount in service.get("volumes", [])]
    tables = [(name, mount) for name, mount in mounts if "PUBPRIV_TABLES" in mount]
    assert {name for name, _ in tables} == {"deploy", "worker"}
    assert all(mount.endswith(":ro") for _, mount in tables)
    assert "ledger-database" not in services["prefect"]["networks"]
    assert "PUBPRIV_LEDGER" not in services["prefect"]["environment"]


def test_the_image_is_made_of_what_the_project_pins():
    """Its Python is the one that is tested, its libraries come from constraints.txt, and it has every package."""
    from prefect import __version__ as prefect_version

    from pubpriv.privacy.ledger.database import _OLDEST_SERVER

    lines = DOCKERFILE.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    services = read()["services"]
    assert re.search(r"^FROM python:3\.11-", lines, flags=re.MULTILINE)
    extras = "accounting,postgres,prefect"
    assert re.search(rf"^RUN pip install -c constraints\.txt '\.\[{extras}\]'", lines, flags=re.MULTILINE)
    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    assert f"prefect=={prefect_version}" in constraints
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    copied = {words[1] for line in lines.splitlines() if (words := line.split())[:1] == ["COPY"] and len(words) == 3}
    assert packages <= copied
    assert all((ROOT / name).is_dir() for name in copied)
    ours = {service["image"] for service in services.values() if "build" in service}
    assert ours == {f"pubpriv:{project['project']['version']}"}
    theirs = {service["image"] for service in services.values() if "build" not in service}
    versions = {int(re.fullmatch(r"postgres:(\d+)-bookworm", image)[1]) for image in theirs}
    assert min(versions) * 10_000 >= _OLDEST_SERVER
