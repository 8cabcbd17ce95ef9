"""What runs cost as processes of a worker, alone and all at once, and what the same runs cost inside one process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.bounded import over_bounds
from benchmarks.deploying import PUBPRIV, serving, write_files
from pubpriv.errors import Unavailable

BOUNDS = {
    "processor_seconds_a_run": 15.0,
    "megabytes_a_run": 400.0,
    "processor_seconds_a_run_inside": 2.0,
    "megabytes_a_run_inside": 40.0,
    "seconds_at_once": 180.0,
    "gigabytes_at_once": 3.0,
}
"""Bounds for ten runs on two processors that have nothing else to do."""

_POOL, _PATIENCE, _PATIENCE_AT_END = "crowd", 600, 10
_ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

_INSIDE = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import psutil
from pubpriv.estimators import MEAN
from pubpriv.flows.estimate import FLOWS
from pubpriv.flows.parameters import form_of

forms = [form_of(MEAN)(**form, release_id="inside") for form in json.load(sys.stdin)]
FLOWS["mean"](forms.pop())  # imports, and the first connection
memory = psutil.Process().memory_full_info
before, began = memory().uss, time.process_time()
with ThreadPoolExecutor(len(forms)) as threads:
    list(threads.map(FLOWS["mean"], forms))
print(json.dumps([(time.process_time() - began) / len(forms), (memory().uss - before) / len(forms)]))
"""


def bench(datasets: int) -> dict[str, Any]:
    """Measure processor time and memory of runs; both count the processes of the runs, and not the server.

    Args:
        datasets: whose runs begin together, each of a small table: what is measured is what surrounds a release.
    """
    with TemporaryDirectory() as made:
        folder = Path(made)
        files = write_files(folder, datasets + 1, _POOL)
        with serving(folder) as environment:
            environment |= {"PUBPRIV_ALLOW": str(files), "PUBPRIV_OUTPUT": str(folder / "released")}
            environment |= {"OPENBLAS_NUM_THREADS": "1"}
            deploy = [*PUBPRIV, "deploy", str(files), "--set-budget"]
            subprocess.run(deploy, env=environment, check=True, capture_output=True)
            with _client(environment) as client, _working(environment, folder / "worker.log") as worker:
                deployments = _asked(client, "/deployments/filter", {"work_pools": {"name": {"any_": [_POOL]}}})
                _, alone = _run(client, worker, deployments[:1])
                before = _processor_seconds(worker)
                seconds, together = _run(client, worker, deployments[1:])
                each = (_processor_seconds(worker) - before) / datasets
            forms = [each["parameters"]["parameters"] for each in deployments]
            inside = _inside(environment, forms)
    found = {
        "processor_seconds_a_run": each,
        "megabytes_a_run": alone / 1e6,
        "processor_seconds_a_run_inside": inside[0],
        "megabytes_a_run_inside": inside[1] / 1e6,
        "seconds_at_once": seconds,
        "gigabytes_at_once": together / 1e9,
    }
    return {
        "bench": "fleet at once",
        "datasets": datasets,
        "load": os.getloadavg()[0],
        **over_bounds(found, BOUNDS),
    }


@contextmanager
def _client(environment: dict[str, str]) -> Iterator[Any]:
    """Have Prefect's own client, which asks again where a busy server turns it away."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: environment["PREFECT_API_URL"]}), get_client(sync_client=True) as client:
        yield client


def _asked(client: Any, path: str, body: dict[str, Any]) -> Any:
    """Give the server's answer to a request."""
    return client.request("POST", path, json=body).json()


@contextmanager
def _working(environment: dict[str, str], log: Path) -> Iterator[Any]:
    """Run a worker that counts no runs, and end it."""
    import psutil

    words = ["worker", "start", "--pool", _POOL, "--type", "process", "--install-policy", "never"]
    with log.open("wb") as said:
        command = [sys.executable, "-m", "prefect", *words]
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE_AT_END)
        except subprocess.TimeoutExpired:  # a worker of Prefect's may hang, once it has run something
            process.kill()
            process.wait()


def _run(client: Any, worker: Any, deployments: Sequence[dict[str, Any]]) -> tuple[float, int]:
    """Run deployments together; give the seconds until all have ended, and the most bytes that their processes had.

    Raises:
        Unavailable: a run did not complete.
    """
    began, most = time.monotonic(), 0
    idle = worker.memory_full_info().uss
    ids = [_asked(client, f"/deployments/{each['id']}/create_flow_run", {})["id"] for each in deployments]
    while time.monotonic() - began < _PATIENCE:
        most = max(most, _bytes(worker) - idle)
        runs = _asked(client, "/flow_runs/filter", {"flow_runs": {"id": {"any_": ids}}})
        states = {run["state_type"] for run in runs}
        if states <= _ENDED:
            break
        time.sleep(0.3)
    seconds = time.monotonic() - began
    while worker.children() and time.monotonic() - began < _PATIENCE:
        time.sleep(0.1)  # what a process took is told when it has ended, which is a moment after its run
    if states != {"COMPLETED"}:
        told = {str((run["state"] or {}).get("message")) for run in runs}
        raise Unavailable(f"not all of {len(ids)} runs completed: {'; '.join(sorted({*states, *told}))}")
    return seconds, most


def _bytes(worker: Any) -> int:
    """Give the memory that a worker and its runs share with nobody."""
    import psutil

    total = 0
    for process in (worker, *worker.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_full_info().uss
    return total


def _processor_seconds(worker: Any) -> float:
    """Give what runs of a worker that have ended took of processors."""
    times = worker.cpu_times()
    return float(times.children_user + times.children_system)


def _inside(environment: dict[str, str], forms: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Give processor seconds and bytes a run where all but the first run as threads of one process."""
    command, text = [sys.executable, "-c", _INSIDE], json.dumps(forms)
    done = subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory
