"""Runs as jobs of Kubernetes: a manifest is read, checked, and made the job of a work pool."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pubpriv.common.urls import has_credentials
from pubpriv.errors import InvalidInput
from pubpriv.flows.dataset_files import filled, read_yaml

JOB = Path(__file__).parent / "kubernetes-job.yaml"
"""The default manifest of a run."""

_POD = "spec", "template", "spec"
_CONTAINER = *_POD, "containers", 0

_WANTED: dict[tuple[str | int, ...], tuple[Any, str]] = {
    ("apiVersion",): ("batch/v1", "a run is a Job"),
    ("kind",): ("Job", "a run is a Job"),
    ("spec", "backoffLimit"): (0, "the server runs a crashed release again, and Kubernetes must not do it too"),
    (*_POD, "restartPolicy"): ("Never", "the server runs a crashed release again, and Kubernetes must not do it too"),
    (*_POD, "automountServiceAccountToken"): (False, "a run asks nothing of the cluster"),
    (*_POD, "securityContext", "runAsNonRoot"): (True, "a run needs no root"),
    (*_CONTAINER, "name"): ("prefect-job", "Prefect looks for that name"),
    (*_CONTAINER, "securityContext", "readOnlyRootFilesystem"): (True, "a run writes to its volumes only"),
    (*_CONTAINER, "securityContext", "allowPrivilegeEscalation"): (False, "a run needs no root"),
}
"""Required values in a manifest, with the reasons."""

_HOST = "hostNetwork", "hostPID", "hostIPC"

_SECRET = re.compile(r"(PASSWORD|SECRET|TOKEN|AUTH_STRING|API_KEY)(?!.*_FILE$)")


def read_job(file: Path = JOB) -> dict[str, Any]:
    """Read the manifest of a job, and refuse one that is not strict enough.

    Raises:
        InvalidInput: it cannot be read, lacks what `_WANTED` lists or a limit, names a command or an image without a
            version, or holds a secret in plain text. Values of variables are never quoted.
    """
    read = filled(read_yaml(file), lambda name: f"${{{name}}}")
    job: dict[str, Any] = json.loads(json.dumps(read, default=str))  # plain numbers and texts, as a server keeps them
    if faults := list(_faults(job)):
        raise InvalidInput(f"{file}: " + "; ".join(faults))
    return job


def job_configuration(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a Kubernetes work pool from a manifest, in which only the environment is variable.

    Prefect wants `completions` and `parallelism` among the fields of the pod, although they belong to the job;
    Kubernetes ignores them there.
    """
    pod = {"completions": 1, "parallelism": 1} | job["spec"]["template"]["spec"]
    spec = job["spec"] | {"template": job["spec"]["template"] | {"spec": pod}}
    return {
        "namespace": job["metadata"]["namespace"],
        "job_manifest": {**job, "spec": spec},
        "stream_output": False,  # output of a run stays in its pod
    }


def _faults(job: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a manifest."""
    for place, (value, why) in _WANTED.items():
        found = _at(job, *place)
        if type(found) is not type(value) or found != value:
            yield f"{_named(place)} must be {json.dumps(value)}: {why}"
    if not isinstance(_at(job, "metadata", "namespace"), str):
        yield "metadata.namespace is missing: name the namespace of the runs"
    yield from (f"leave {field} out: a run stays in its pod" for field in _HOST if _at(job, *_POD, field))
    if "{{" in json.dumps(job):
        yield "it has {{ }} in it: whoever may start runs could put something there; write the value"
    containers = _at(job, *_POD, "containers")
    if not isinstance(containers, list) or len(containers) != 1 or _at(job, *_POD, "initContainers"):
        yield f"{_named(_POD)} must have one container, and none before it"
        return
    yield from _faults_of_container(containers[0])


def _faults_of_container(container: Any) -> Iterator[str]:
    for kind in ("cpu", "memory"):
        if not _at(container, "resources", "limits", kind):
            yield f"resources.limits.{kind} is missing: a run could take all of its machine"
    security = _at(container, "securityContext")
    if _at(security, "runAsNonRoot") is False or _at(security, "privileged"):
        yield "the container's securityContext takes back what the pod's says: a run needs no root"
    for field in ("command", "args"):
        if _at(container, field) is not None:
            yield f"leave {field} out: Prefect gives the command, and the image reads the secrets first"
    image = str(_at(container, "image") or "")
    version = image.rpartition("/")[2].partition(":")[2]
    if "@sha256:" not in image and version in ("", "latest"):
        yield "image must name a version, or a digest"
    for variable in _at(container, "env") or ():
        name, value = _at(variable, "name"), str(_at(variable, "value") or "")
        if has_credentials(value) or (value and _SECRET.search(str(name))):
            yield f"{name} holds a secret in plain text: take it from a Secret, with valueFrom.secretKeyRef"


def _at(data: Any, *place: str | int) -> Any:
    """Return the value at a place of a manifest, or None."""
    for part in place:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _named(place: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
