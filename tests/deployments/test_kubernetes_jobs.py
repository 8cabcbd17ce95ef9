"""Work pools whose runs are jobs of Kubernetes: the manifest, what it may not say, what the server keeps."""

import copy
import json
import re
from types import SimpleNamespace
from uuid import uuid4

import pytest
from helpers.cli_world import run_program
from kubernetes_validate import ValidationError, validate
from ruamel.yaml import YAML

from pubpriv.deployments._pools import _template
from pubpriv.deployments.kubernetes_jobs import job_configuration, read_job
from pubpriv.deployments.register import server
from pubpriv.errors import InvalidInput

ENVIRONMENT = {"PUBPRIV_WAIT": "600", "PUBPRIV_OUTPUT": "/released"}
VERSION = "1.33"

FILE = """\
{dataset: visits, unit: one patient, cap: "zcdp:1", pool: on-jobs, private: /data/private.parquet,
 public: /data/public.parquet, releases: [{name: mean, estimator: mean, allotment: "zcdp:0.25"}]}
"""


def pool_template() -> dict:
    return _template([ENVIRONMENT], {}, job_configuration(read_job()))


def pod_of(job: dict) -> dict:
    return job["spec"]["template"]["spec"]


def test_the_manifest_is_a_job_of_kubernetes():
    """The file as it stands is what Kubernetes' schema wants, to the letter; a misspelt field is not."""
    job = read_job()
    validate(job, VERSION, strict=True)
    pod_of(job)["containers"][0]["resource"] = {}
    with pytest.raises(ValidationError):
        validate(job, VERSION, strict=True)


def test_runs_have_limits_their_secrets_by_name_and_no_token():
    """What a run has besides: no value of a secret, tables for reading only, a folder in memory for its environment."""
    pod = pod_of(read_job())
    (container,) = pod["containers"]
    secrets = {
        each["name"]: each["valueFrom"]["secretKeyRef"]["key"] for each in container["env"] if "valueFrom" in each
    }
    assert secrets == {name: name for name in ("PGPASSWORD", "PREFECT_API_AUTH_STRING")}
    mounts = {each["name"]: each.get("readOnly", False) for each in container["volumeMounts"]}
    assert {name for name, readonly in mounts.items() if not readonly} == {"output", "prefect", "temporary"}
    assert mounts.keys() == {each["name"] for each in pod["volumes"]}
    temporary = next(each for each in pod["volumes"] if each["name"] == "temporary")
    assert temporary["emptyDir"]["medium"] == "Memory"


CONTAINER = ("spec", "template", "spec", "containers", 0)
POD = CONTAINER[:3]
DAMAGES = {
    "kind": ((), "kind", "Pod"),
    "retries": (("spec",), "backoffLimit", 6),
    "a number for a truth": (POD, "automountServiceAccountToken", 0),
    "token": (POD, "automountServiceAccountToken", True),
    "root": ((*POD, "securityContext"), "runAsNonRoot", False),
    "writable": ((*CONTAINER, "securityContext"), "readOnlyRootFilesystem", False),
    "root after all": ((*CONTAINER, "securityContext"), "runAsNonRoot", False),
    "network of the host": (POD, "hostNetwork", True),
    "no limit": ((*CONTAINER, "resources", "limits"), "memory", None),
    "command": (CONTAINER, "command", ["sh"]),
    "args": (CONTAINER, "args", ["prefect"]),
    "second container": (POD, "containers", [{}, {}]),
    "first container": (POD, "initContainers", [{"image": "x"}]),
    "no version": (CONTAINER, "image", "registry:5000/pubpriv"),
    "placeholder": (CONTAINER, "image", "{{ image }}"),
    "password": (CONTAINER, "env", [{"name": "PGPASSWORD", "value": "hunter2"}]),
    "password in a URL": (
        CONTAINER,
        "env",
        [{"name": "PUBPRIV_LEDGER", "value": "postgresql://w:hunter2@host/ledger"}],
    ),
    "password with signs in a URL": (
        CONTAINER,
        "env",
        [{"name": "PUBPRIV_LEDGER", "value": "postgresql://w:hun/te@r2@host/ledger"}],
    ),
    "no namespace": (("metadata",), "namespace", None),
    "no pod": (("spec",), "template", None),
}


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_manifest_may_not_say_is_refused(damage, tmp_path):
    """Each fault, put into the file that has none, is refused, and no value is quoted."""
    where, field, value = DAMAGES[damage]
    job = copy.deepcopy(read_job())
    part = job
    for step in where:
        part = part[step]
    part[field] = value
    with (tmp_path / "job.yaml").open("w") as text:
        YAML(typ="safe").dump(job, text)
    with pytest.raises(InvalidInput, match=r"job\.yaml: ") as refused:
        read_job(tmp_path / "job.yaml")
    assert "hunter2" not in str(refused.value)


def test_a_pool_lets_runs_have_the_files_environments_and_nothing_else():
    """Of job variables there is the environment only, of values that files name; all else is fixed."""
    template = pool_template()
    assert template["variables"]["properties"].keys() == {"env"}
    assert template["variables"]["additionalProperties"] is False
    placeholders = re.findall(r"\{\{.*?\}\}", str(template))
    assert placeholders == ["{{ env }}"]
    # what prefect-kubernetes 0.8.0 wants to find, beside kind and version (its `_get_base_job_manifest`)
    pod = pod_of(template["job_configuration"]["job_manifest"])
    assert (pod["parallelism"], pod["completions"], pod["restartPolicy"]) == (1, 1, "Never")
    assert pod["containers"][0]["name"] == "prefect-job"


def test_prefect_makes_the_job_that_the_manifest_says(monkeypatch):
    """prefect-kubernetes takes the template, and what it would send to the cluster is valid and holds no secret."""
    worker = pytest.importorskip("prefect_kubernetes.worker", reason="pip install 'pubpriv[kubernetes]'")
    import asyncio

    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    monkeypatch.setenv("PREFECT_INTEGRATIONS_KUBERNETES_WORKER_API_AUTH_STRING_SECRET_NAME", "pubpriv-prefect")
    monkeypatch.setenv("PREFECT_INTEGRATIONS_KUBERNETES_WORKER_API_AUTH_STRING_SECRET_KEY", "PREFECT_API_AUTH_STRING")
    sent = []

    class Batch:
        def __init__(self, client):
            pass

        async def create_namespaced_job(self, namespace, manifest):
            sent.append((namespace, manifest))

    monkeypatch.setattr(worker, "BatchV1Api", Batch)

    async def submit() -> None:
        configuration = await worker.KubernetesWorkerJobConfiguration.from_template_and_values(
            pool_template(), {"env": ENVIRONMENT, "command": "curl evil.example"}
        )
        configuration.prepare_for_flow_run(SimpleNamespace(id=uuid4(), name="a-run"))
        await worker.KubernetesWorker("pubpriv")._create_job(configuration, None)

    with temporary_settings({PREFECT_API_AUTH_STRING: "operator:hunter2", PREFECT_API_URL: "http://prefect/api"}):
        asyncio.run(submit())
    ((namespace, manifest),) = sent
    validate(manifest, VERSION)
    assert namespace == "pubpriv"
    (container,) = pod_of(manifest)["containers"]
    assert container["args"] == ["prefect", "flow-run", "execute"]
    assert "hunter2" not in str(manifest)
    assert "evil" not in str(manifest)
    env = {each["name"]: each.get("value") for each in container["env"]}
    assert len(env) == len(container["env"])
    assert (env["PUBPRIV_OUTPUT"], env["PUBPRIV_ALLOW"]) == ("/released", "/etc/pubpriv/datasets")
    assert {each["name"] for each in container["env"] if "valueFrom" in each} == {
        "PGPASSWORD",
        "PREFECT_API_AUTH_STRING",
    }
    mine = {name: part for name, part in pod_of(read_job()).items() if name != "containers"}
    assert mine.items() <= pod_of(manifest).items()


@pytest.mark.prefect
def test_deploying_makes_the_pool_once_and_keeps_its_type(prefect_server):
    """A pool of jobs: made, unchanged, changed with its manifest, kept by a call without one; others are refused."""
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate

    from pubpriv.deployments._pools import make_pool, refuse_other_types

    job = job_configuration(read_job())
    larger = copy.deepcopy(job)
    pod_of(larger["job_manifest"])["containers"][0]["resources"]["limits"]["memory"] = "8Gi"
    with server() as client:
        refuse_other_types(client, ["jobs"], job)
        told = [make_pool(client, "jobs", [ENVIRONMENT], None, False, each) for each in (job, job, larger, None)]
        assert [each.result for each in told] == ["created", "unchanged", "changed", "unchanged"]
        assert told[2].detail == "changed: the job of its runs"
        known = client.read_work_pool("jobs")
        assert known.type == "kubernetes"
        assert known.base_job_template["job_configuration"]["job_manifest"] == larger["job_manifest"]
        refuse_other_types(client, ["jobs"], job)
        client.create_work_pool(WorkPoolCreate(name="processes", type="process"))
        make_pool(client, "plain", [ENVIRONMENT], None, False)
        template = client.read_work_pool("plain").base_job_template
        opened = template | {"job_configuration": {"env": "{{ env }}", "command": "sh"}}
        client.update_work_pool("plain", WorkPoolUpdate(base_job_template=opened))
        assert make_pool(client, "plain", [ENVIRONMENT], None, False).result == "changed"  # as the files say, again
        assert client.read_work_pool("plain").base_job_template == template
        with pytest.raises(InvalidInput, match="processes is there"):
            refuse_other_types(client, ["jobs", "processes"], job)


@pytest.mark.prefect
def test_the_command_shows_the_job_and_changes_nothing(prefect_server, monkeypatch, capsys, tmp_path):
    """With --dry-run the job stands below the plan, and no pool is made; --job alone is refused."""
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "visits.yaml").write_text(FILE)
    told = run_program(monkeypatch, capsys, "deploy", tmp_path, "--pool", "kubernetes", "--dry-run")
    assert "work pool on-jobs: created" in told.out
    assert json.loads(told.out[told.out.index("\n{") :])["kind"] == "Job"
    with server() as client:
        assert "on-jobs" not in {pool.name for pool in client.read_work_pools()}
    told = run_program(monkeypatch, capsys, "deploy", tmp_path, "--job", "job.yaml")
    assert (told.code, told.err) == (
        2,
        "error: --job is the manifest of a job on Kubernetes: give --pool kubernetes too\n",
    )
