"""`deployments/compose.yaml`, its Dockerfile and its scripts, as far as they can be checked without a container engine.

The file is held against the compose specification's own JSON schema, and every name in it against what it names:
Prefect's settings and commands, pubpriv's commands and variables, secrets, networks, volumes, versions.
"""

import copy
import json
import re
import shlex
import subprocess
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
EGRESS = ROOT / "pubpriv" / "deployments" / "compose.egress.yaml"
LONG_RUNNING = {"prefect-database", "ledger-database", "prefect", "worker", "export"}
TABLES = {"deploy", "worker", "tools"}
"""Services that are given the tables, for reading."""

OTHERS = {
    # variables that neither Prefect nor pubpriv reads: PostgreSQL's image, its client library, analytics
    *("POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE", "POSTGRES_INITDB_ARGS"),
    *("PGPASSWORD", "PGHOST", "PGUSER", "PGDATABASE", "DO_NOT_TRACK"),
}


def read() -> dict[str, Any]:
    """The file as plain dictionaries, anchors and merges resolved."""
    return YAML(typ="safe").load(COMPOSE)


def exported(service: dict[str, Any]) -> dict[str, str]:
    """Variables that a service has from its secrets: the image's entry point names each after its file."""
    given = service.get("secrets", [])
    return {secret["target"]: secret["source"] for secret in given if isinstance(secret, dict)}


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
    return [part["source"] if isinstance(part, dict) else part for part in parts]


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
    yield from _of_secrets(service, variables)
    if not {"mem_limit", "pids_limit"} <= service.keys():
        yield "may take all of the machine"
    for port in service.get("ports", []):
        if not port.startswith("127.0.0.1:"):
            yield f"{port} is open to other hosts"
    image = re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", service["image"])
    if re.search(r":latest$|^[^:]+$", image):
        yield f"{image} is not pinned"
    yield from filter(None, [_wrong_command(service.get("command", []))])
    for other in service.get("depends_on", {}):
        if not set(service["networks"]) & set(compose["services"][other]["networks"]):
            yield f"waits for {other}, and shares no network with it"


def _of_secrets(service: dict[str, Any], variables: dict[str, Any]) -> Iterator[str]:
    """What does not fit between the secrets of a service and those who read them."""
    read = re.findall(r"/run/secrets/(\w+)", f"{service.get('entrypoint')} {service.get('environment')}")
    files = {secret for secret in service.get("secrets", []) if isinstance(secret, str)}
    if not set(read) <= files:
        yield f"reads the secrets {sorted(read)}, is given {sorted(files)}"
    if "build" in service and files:
        yield f"{sorted(files)} become no variables: they have no target"
    if "@ledger-database" in str(variables.get("PUBPRIV_LEDGER")) and "PGPASSWORD" not in variables:
        yield "has no password for the ledger"
    if "PREFECT_API_URL" in variables and "PREFECT_API_AUTH_STRING" not in variables:
        yield "has no word for the server"


def _wrong_command(command: list[str]) -> str | None:
    """What is wrong with the programs of a service; the databases' own are not looked at."""
    lines = [shlex.join(command)]
    if command[:2] == ["sh", "-c"]:
        lines = [line.strip().removesuffix("&&").split("||")[0].strip() for line in command[2].splitlines()]
    checks = {"pubpriv": wrong_command, "prefect": wrong_prefect_command}
    found = [checks[line.split()[0]](line) for line in lines if line.split()[:1] and line.split()[0] in checks]
    return next(filter(None, found), None)


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
    assert compose["services"].keys() == LONG_RUNNING | TABLES | {"ledger", "prefect-backup"}
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
    services["worker"]["command"] += ["--pol", "pubpriv"]


def _no_such_command(services):
    services["deploy"]["command"][1] = "deplore"


def _no_such_command_in_a_loop(services):
    services["export"]["command"][2] = services["export"]["command"][2].replace("ledger verify", "ledger verity")


def _secret_not_granted(services):
    services["worker"]["secrets"] = services["worker"]["secrets"][1:]


def _secret_of_no_variable(services):
    services["worker"]["secrets"] = [*services["worker"]["secrets"], "ledger_owner"]


def _no_limit(services):
    del services["worker"]["mem_limit"]


def _no_network(services):
    services["deploy"]["networks"] = ["operator"]


def _no_health(services):
    del services["worker"]["healthcheck"]


@pytest.mark.parametrize(
    "damage",
    [
        *(_misspelt_setting, _unknown_variable, _password, _open_port, _latest, _no_such_option),
        *(_no_such_command, _no_such_command_in_a_loop, _secret_not_granted, _secret_of_no_variable),
        *(_no_limit, _no_network, _no_health),
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
    assert {name for name, _ in tables} == TABLES
    assert all(mount.endswith(":ro") for _, mount in tables)
    assert "ledger-database" not in services["prefect"]["networks"]
    assert "PUBPRIV_LEDGER" not in services["prefect"]["environment"]


def test_each_has_the_role_that_it_needs():
    """Workers append, the export reads, and only what a person calls or what migrates is the ledger's owner."""
    secrets = {name: exported(service).get("PGPASSWORD") for name, service in read()["services"].items()}
    users = {
        name: re.match(r"postgresql://(\w+)@", service.get("environment", {}).get("PUBPRIV_LEDGER", ""))
        for name, service in read()["services"].items()
    }
    roles = {name: found[1] for name, found in users.items() if found}
    owner, writer = {"ledger", "tools"}, {"deploy", "worker"}
    expected = dict.fromkeys(owner, "ledger_owner") | dict.fromkeys(writer, "ledger_writer")
    assert roles == expected | {"export": "ledger_reader"}
    assert {name: secret for name, secret in secrets.items() if secret} == roles


def test_egress_is_added_to_services_that_are_there():
    """The second file names services of the first, and one network more."""
    added = YAML(typ="safe").load(EGRESS)
    assert added["services"].keys() == TABLES
    assert all(service["networks"] == ["egress"] for service in added["services"].values())
    assert added["networks"].keys() == {"egress"}


def test_secrets_become_variables_of_the_program(tmp_path):
    """The entry point reads each file into the variable of its name, and becomes the program."""
    script = (DOCKERFILE.parent / "with-secrets").read_text(encoding="utf-8")
    (tmp_path / "PGPASSWORD").write_text("a b$c'\n")
    placed = tmp_path / "with-secrets"
    placed.write_text(script.replace("/run/secrets", str(tmp_path)).replace(f"{tmp_path}/*", f"{tmp_path}/PG*"))
    done = subprocess.run(
        ["sh", str(placed), "sh", "-c", 'printf %s "$PGPASSWORD"'], capture_output=True, text=True, check=True
    )
    assert done.stdout == "a b$c'"


def test_the_image_is_made_of_what_the_project_pins():
    """Its Python is the one that is tested, its libraries come from constraints.txt, and it has every package."""
    from prefect import __version__ as prefect_version

    from pubpriv.privacy.ledger._database import _OLDEST_SERVER

    lines = DOCKERFILE.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    services = read()["services"]
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.11-", lines, flags=re.MULTILINE)
    extras = "accounting,postgres,prefect"
    assert f"\nARG EXTRAS={extras}\n" in lines
    assert re.search(r'^RUN pip install -c constraints\.txt "\.\[\$\{EXTRAS\}\]"', lines, flags=re.MULTILINE)
    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    assert f"prefect=={prefect_version}" in constraints
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    copied = {words[1] for line in lines.splitlines() if (words := line.split())[:1] == ["COPY"] and len(words) == 3}
    assert packages <= copied
    assert all((ROOT / name).is_dir() for name in copied)
    ours = {service["image"] for service in services.values() if "build" in service}
    assert ours == {f"pubpriv:{project['project']['version']}"}
    theirs = {service["image"] for service in services.values() if "build" not in service}
    versions = {int(re.fullmatch(r"\$\{POSTGRES_IMAGE:-postgres:(\d+)-bookworm\}", image)[1]) for image in theirs}
    assert min(versions) * 10_000 >= _OLDEST_SERVER
