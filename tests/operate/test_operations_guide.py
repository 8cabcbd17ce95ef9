"""docs/operations.md, word by word, from an empty machine: a fresh PostgreSQL, server and folders.

Every block of commands is run, in order, in one shell. What differs from the page is where things are: HOST, the
server's port, and folders of the system that become folders of the test. A block that cannot be run says why, in a
comment before it.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.stores import PASSWORD, running_postgres

from pubpriv.deployments.serving import free_port

pytestmark = pytest.mark.operate

GUIDE = Path(__file__).parents[2] / "docs" / "operations.md"
BLOCK = re.compile(r"(?:<!-- not run by the tests: (?P<why>[^>]+) -->\n)?^```\w*\n(?P<commands>.*?)^```$", re.M | re.S)
FOLDERS = ("/etc/pubpriv", "/srv/tables", "/var/lib/pubpriv/output", "/var/lib/node_exporter", "/backup")
_PATIENCE = 240
"""Seconds in which all of it is done."""

DATASET = """
dataset: patients
unit: one patient
cap: approx:4,1e-6
private: {tables}/patients.parquet
public: {tables}/volunteers.parquet
columns: [age, cost]
releases:
  - {{name: mean, estimator: mean, allotment: "approx:0.5,1e-7", period: month}}
"""


def blocks() -> list[str]:
    """The commands of each block that is to be run."""
    return [found["commands"] for found in BLOCK.finditer(GUIDE.read_text(encoding="utf-8")) if not found["why"]]


def _tables(folder: Path) -> None:
    generator = np.random.default_rng(11)
    for name, n in (("patients", 4000), ("volunteers", 30), ("visits", 9000)):
        rows = generator.normal([50.0, 900.0], [12.0, 150.0], size=(n, 2))
        table = pd.DataFrame(rows, columns=["age", "cost"])
        if name == "visits":
            table["arrived"] = pd.Timestamp("2026-09-01") + pd.to_timedelta(np.arange(n) * 60 // n, unit="D")
        table.to_parquet(folder / f"{name}.parquet")


def test_every_block_says_that_it_is_run_or_why_not():
    """There are blocks of both kinds, and a reason is words."""
    found = list(BLOCK.finditer(GUIDE.read_text(encoding="utf-8")))
    assert len(found) > 6
    assert all(len(block["why"].split()) > 3 for block in found if block["why"])
    assert 2 * sum(block["why"] is not None for block in found) < len(found)


def test_the_guide_can_be_followed(tmp_path):
    """All its commands end with 0, a release is there, and the ledger agrees with it."""
    for folder in FOLDERS:
        (tmp_path / folder[1:]).mkdir(parents=True)
    (tmp_path / "etc/pubpriv/datasets").mkdir()
    (tmp_path / "etc/pubpriv/datasets/patients.yaml").write_text(DATASET.format(tables=tmp_path / "srv/tables"))
    _tables(tmp_path / "srv/tables")
    with running_postgres() as server:
        script = "\n".join(blocks())
        for folder in FOLDERS:
            script = re.sub(rf"(?<![\w/]){folder}(?=[/\s:]|$)", str(tmp_path / folder[1:]), script, flags=re.M)
        script = script.replace("HOST", f"127.0.0.1:{server.port}").replace("4200", str(free_port()))
        # what a person does at a keyboard: each password is typed twice
        script = re.sub(r"createuser --pwprompt (\w+)", r"printf '%s\\n%s\\n' 'word' 'word' | createuser -P \1", script)
        (tmp_path / "guide.sh").write_text(f"set -euxo pipefail\n{script}\n")
        colon = PASSWORD.replace(":", "\\:")
        here = f"127.0.0.1:{server.port}:*"
        (tmp_path / "pgpass").write_text(f"{here}:pubpriv:{colon}\n{here}:*:word\n")
        (tmp_path / "pgpass").chmod(0o600)
        programs = [str(Path(sys.executable).parent), str(server.programs), os.environ["PATH"]]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PUBPRIV"))}
        environment |= {"PATH": ":".join(programs), "PGPASSFILE": str(tmp_path / "pgpass"), "PGUSER": "pubpriv"}
        environment |= {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PREFECT_HOME": str(tmp_path / "prefect")}
        shell = [str(shutil.which("bash")), str(tmp_path / "guide.sh")]
        with (tmp_path / "log").open("wb") as log:
            running = subprocess.Popen(
                shell,
                env=environment,
                cwd=tmp_path,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                code: int | None = running.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
    assert code == 0, (tmp_path / "log").read_text()[-6000:]
    assert list((tmp_path / "var/lib/pubpriv/output").rglob("latest*.json"))
    assert "pubpriv_releases_that_fit" in (tmp_path / "var/lib/node_exporter/pubpriv.prom").read_text()
