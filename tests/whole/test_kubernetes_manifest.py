"""`deployments/kubernetes.yaml` and the job beside it, as far as they can be checked without a cluster.

Each part is held against Kubernetes' own schema, and every name in them against what it names.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes_validate import validate
from ruamel.yaml import YAML
from test_compose import _wrong_command, known_variables
from yamllint import linter
from yamllint.config import YamlLintConfig

from pubpriv.deployments.kubernetes_jobs import JOB, read_job
from pubpriv.privacy.ledger.urls import understand

MANIFEST = JOB.with_name("kubernetes.yaml")
VERSION = "1.33"

STYLE = "{extends: default, rules: {line-length: {max: 125}, comments: {min-spaces-from-content: 1}}}"

BY_HAND = {("Secret", name) for name in ("pubpriv-ledger-writer", "pubpriv-ledger-reader", "pubpriv-prefect")} | {
    ("ConfigMap", "datasets")
}
"""What the head of the file says how to make."""

# settings of prefect-kubernetes 0.8.0, which is not installed everywhere
INTEGRATION = {
    "PREFECT_INTEGRATIONS_KUBERNETES_WORKER_API_AUTH_STRING_SECRET_NAME",
    "PREFECT_INTEGRATIONS_KUBERNETES_WORKER_API_AUTH_STRING_SECRET_KEY",
    "PREFECT_INTEGRATIONS_KUBERNETES_OBSERVER_NAMESPACES",
    "PREFECT_INTEGRATIONS_KUBERNETES_OBSERVER_FORWARD_CRASHED_RUN_LOGS",
}


def read() -> list[dict[str, Any]]:
    """All parts, the job of a run among them, as plain dictionaries."""
    return [*YAML(typ="safe").load_all(MANIFEST), read_job()]


def templates(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The pods that are made."""
    for part in parts:
        spec = part.get("spec", {})
        found = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if found:
            yield found


def faults(parts: list[dict[str, Any]]) -> Iterator[str]:
    """What in the parts does not fit together, or names what is not there."""
    there = {(part["kind"], part["metadata"].get("name")) for part in parts} | BY_HAND
    yield from (
        f"{part['kind']} is in no namespace" for part in parts[1:] if part["metadata"]["namespace"] != "pubpriv"
    )
    for template in templates(parts):
        name, pod = template["metadata"]["labels"]["pubpriv"], template["spec"]
        yield from (f"{name}: {kind} {of} is not there" for kind, of in _named(pod) if (kind, of) not in there)
        yield from (f"{name}: {fault}" for fault in _of_pod(pod))
        reached = set(_ports(parts, template["metadata"]["labels"]))
        wanted = {"worker": {53, 443, 4200, 6443}, "run": {53, 4200, 5432}, "export": {53, 5432}}
        if reached != wanted[name]:
            yield f"{name}: reaches the ports {sorted(reached)}"


def _named(pod: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a pod names: secrets, claims, configurations, its account."""
    yield "ServiceAccount", pod["serviceAccountName"]
    for variable in pod["containers"][0]["env"]:
        if "valueFrom" in variable:
            yield "Secret", variable["valueFrom"]["secretKeyRef"]["name"]
    for volume in pod["volumes"]:
        if "persistentVolumeClaim" in volume:
            yield "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]


def _of_pod(pod: dict[str, Any]) -> Iterator[str]:
    (container,) = pod["containers"]
    for variable in container["env"]:
        if variable["name"] not in known_variables() | INTEGRATION | {"OPENBLAS_NUM_THREADS"}:
            yield f"nobody reads {variable['name']}"
        if variable["name"] == "PUBPRIV_LEDGER" and understand(variable["value"]).carries_password(variable["value"]):
            yield "a password in plain text"
    if {each["name"] for each in container["volumeMounts"]} != {each["name"] for each in pod["volumes"]}:
        yield "volumes that are not mounted, or mounts of no volume"
    yield from filter(None, [_wrong_command(container.get("args", []))])
    if container["resources"]["limits"].keys() != {"cpu", "memory"}:
        yield "may take all of its machine"
    security = {**pod["securityContext"], **container["securityContext"]}
    wanted = {"runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}
    if not (wanted | {"capabilities": {"drop": ["ALL"]}}).items() <= security.items():
        yield "may do more than it needs"
    if ("worker" in pod["serviceAccountName"]) != pod["automountServiceAccountToken"]:
        yield "only the worker asks the cluster for something"


def _ports(parts: list[dict[str, Any]], labels: dict[str, str]) -> Iterator[int]:
    """Ports that a pod may reach, by the policies that select it."""
    for part in parts:
        if part["kind"] != "NetworkPolicy" or not _selected(part["spec"]["podSelector"], labels):
            continue
        for rule in part["spec"].get("egress", []):
            assert rule["to"]
            yield from (port["port"] for port in rule["ports"])


def _selected(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    expressions = selector.get("matchExpressions", [])
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        each["operator"] == "In" and labels.get(each["key"]) in each["values"] for each in expressions
    )


def test_every_part_is_what_kubernetes_takes():
    """Each is valid by its schema, to the letter."""
    parts = read()
    for part in parts:
        validate(part, VERSION, strict=True)
    kinds = [part["kind"] for part in parts]
    assert {"Namespace", "Role", "RoleBinding", "Deployment", "CronJob", "Job", "NetworkPolicy"} < set(kinds)
    assert "Secret" not in kinds


@pytest.mark.parametrize("file", [MANIFEST, JOB], ids=lambda file: file.name)
def test_the_files_are_tidy(file):
    """yamllint finds nothing; it finds a key that is there twice."""
    text, style = file.read_text(encoding="utf-8"), YamlLintConfig(STYLE)
    assert list(linter.run(text, style)) == []
    assert list(linter.run(text + "kind: Job\nkind: Job\n", style))


def test_everything_they_name_is_there():
    """Accounts, secrets, claims, variables, commands; and each pod reaches what it needs and no more."""
    assert list(faults(read())) == []


def _worker(parts):
    return next(part for part in parts if part["kind"] == "Deployment")["spec"]["template"]["spec"]


DAMAGES = {
    "variable": lambda parts: _worker(parts)["containers"][0]["env"][0].update(name="PREFECT_API_URI"),
    "option": lambda parts: _worker(parts)["containers"][0]["args"].append("--pol=pubpriv"),
    "account": lambda parts: _worker(parts).update(serviceAccountName="pubpriv-worker-2"),
    "secret": lambda parts: parts[-1]["spec"]["template"]["spec"]["containers"][0]["env"][-1]["valueFrom"].update(
        secretKeyRef={"name": "prefect", "key": "x"}
    ),
    "claim": lambda parts: parts.pop(
        next(n for n, part in enumerate(parts) if part["metadata"].get("name") == "tables")
    ),
    "token": lambda parts: parts[-1]["spec"]["template"]["spec"].update(automountServiceAccountToken=True),
    "network": lambda parts: parts[-2]["spec"].update(podSelector={}),
    "namespace": lambda parts: parts[3]["metadata"].update(namespace="default"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_fault_is_seen(damage):
    """Each kind of fault, put into files that have none, is found."""
    parts = read()
    DAMAGES[damage](parts)
    assert list(faults(parts))


def test_the_worker_may_make_jobs_and_nothing_else():
    """It reads no secret, no log and no other namespace, and is given neither tables nor the ledger."""
    parts = read()
    (role,) = (part for part in parts if part["kind"] == "Role")
    rights = {name: set(rule["verbs"]) for rule in role["rules"] for name in rule["resources"]}
    assert rights == {"jobs": {"create", "delete", "get", "list", "watch"}, "pods": {"get", "list", "watch"}}
    assert not {part["kind"] for part in parts} & {"ClusterRole", "ClusterRoleBinding"}
    worker = _worker(parts)
    assert all("persistentVolumeClaim" not in volume for volume in worker["volumes"])
    names = {variable["name"] for variable in worker["containers"][0]["env"]}
    assert not names & {"PUBPRIV_LEDGER", "PGPASSWORD"}
    assert names >= INTEGRATION


def test_the_integration_reads_its_settings(monkeypatch):
    """What the worker is told arrives: secrets by name, its namespace alone, and no output of runs that died."""
    settings = pytest.importorskip("prefect_kubernetes.settings", reason="pip install 'pubpriv[kubernetes]'")
    variables = {variable["name"]: variable.get("value") for variable in _worker(read())["containers"][0]["env"]}
    for name in INTEGRATION:
        monkeypatch.setenv(name, variables[name])
    found = settings.KubernetesSettings()
    assert found.worker.api_auth_string_secret_name == "pubpriv-prefect"
    assert found.worker.api_auth_string_secret_key == "PREFECT_API_AUTH_STRING"
    assert found.observer.namespaces == {"pubpriv"}
    assert found.observer.forward_crashed_run_logs is False
