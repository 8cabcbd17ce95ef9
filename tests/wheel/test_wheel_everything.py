"""`pip install 'pubpriv[all]'` in the folder of somebody whose own modules are called flows, tasks, cli, schemas."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

import pytest

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]

LEDGER = ("--ledger", "sqlite:///ledger.db")
PATIENCE = 150

DATASET = """
dataset: visits
unit: one visit
cap: zcdp:1
private: {folder}/private.parquet
public: {folder}/public.parquet
output: {folder}/released
releases: [{{name: mean, estimator: mean, allotment: "zcdp:0.25", period: month}}]
"""


def test_modules_of_the_users_folder_come_first(everything):
    """Whoever imports `flows` there gets the user's own."""
    traps = {"flows", "tasks", "cli", "schemas", "deployments", "benchmarks"}
    code = f"import {', '.join(sorted(traps))}"
    subprocess.run(
        [everything.bin / "python", "-c", code], cwd=everything.folder, env=everything.environment, check=True
    )
    assert set(everything.trapped().split()) == traps
    (everything.folder / "trapped").unlink()


def test_the_demo_runs_without_prefect(everything):
    """The RAND tables, without Prefect: their quantiles are all good, and a mixture is flagged."""
    assert "verdict: 2 of 2 columns are good" in everything.run("demo", "--plain")
    assert "gap closed" in everything.run("demo", "--mixture", "--plain")


def test_a_fit_gives_the_same_bits_plain_and_as_a_flow(everything):
    """The second one replays the first one's answers, in a flow on a server of its own."""
    everything.run("budget", "set", "visits", "zcdp:1", *LEDGER)
    tables = ("--private", "private.parquet", "--public", "public.parquet", "--components", 2)
    run = ("--budget", "zcdp:0.5", "--dataset", "visits", "--release-id", "one", *LEDGER)
    for how in ("plain", "prefect"):
        everything.run("fit", "mixture", *tables, *run, "--out", f"{how}.json", f"--{how}")
    plain, flown = ((everything.folder / f"{how}.json").read_text() for how in ("plain", "prefect"))
    assert plain == flown


_FIRST_OF_EACH = """
from dataclasses import replace
from itertools import islice
from pubpriv.audit import run
from pubpriv.cli.main import main

def first(findings):
    return lambda fast, seed: islice(findings(fast, seed), 1)

run._CHECKS = tuple(replace(check, findings=first(check.findings)) for check in run._CHECKS)
main()
"""


def test_every_check_of_the_audit_works(everything):
    """The program's audit, with the first finding of each check: the suite has all of them, from the same files."""
    told = everything.run("-c", _FIRST_OF_EACH, "audit", "--fast", "--json", program="python")
    told = json.loads(told.splitlines()[0])
    assert told["holds"]
    checks = [finding["check"] for finding in told["findings"]]
    assert len(checks) == len(set(checks)) > 10


_MISSING = """
import ast, pubpriv
from importlib.util import find_spec
from pathlib import Path

named = set()
for file in Path(pubpriv.__file__).parent.rglob("*.py"):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add(node.module.partition(".")[0])
assert {"numpy", "pandera", "prefect", "pubpriv"} <= named
print(*sorted(name for name in named if find_spec(name) is None))
"""


def test_no_function_imports_what_only_a_checkout_has(everything):
    """Wherever the import stands: a library that tests bring is none of the extras; `all` leaves three out."""
    left_out = {"deltalake", "prefect_kubernetes", "pyiceberg"}
    assert set(everything.run("-c", _MISSING, program="python").split()) <= left_out


@contextmanager
def serving(everything) -> Iterator[dict[str, Any]]:
    """`pubpriv serve` until its end by Ctrl-C: what it wrote when it was ready."""
    ready, log = everything.folder / "ready.json", everything.folder / "serve.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [everything.bin / "pubpriv", "serve", "--port", "0", "--home", "home", "--ready-file", ready],
            cwd=everything.folder, env=everything.environment, stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE
        while not ready.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield json.loads(ready.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()


def test_a_server_runs_a_deployment_of_the_users_own(everything):
    """Server and worker start, the page answers, a deployment of the user's own runs; all of it ends with Ctrl-C."""
    own = everything.folder / "visits.yaml"
    own.write_text(DATASET.format(folder=everything.folder))
    with serving(everything) as served:
        with urlopen(served["ui"], timeout=PATIENCE) as page:
            assert page.status == 200
            assert b"<html" in page.read()
        there = {"PREFECT_API_URL": served["api"], "PUBPRIV_LEDGER": served["ledger"]}
        assert "estimate-mean/visits.mean: created" in everything.run("deploy", own, "--set-budget", **there)
        assert "nothing to change" in everything.run("deploy", own, **there)
        # one of the examples: the worker may name the files of those that `serve` was started with
        run = ("deployment", "run", "estimate-mean/sensors.mean", "--watch", "--watch-timeout", PATIENCE)
        assert "Completed" in everything.run(*run, program="prefect", **there)
    for name in ("server", "worker"):
        with pytest.raises(ProcessLookupError):
            os.kill(served[name], 0)
    assert everything.trapped() == ""
