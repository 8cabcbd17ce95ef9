"""What a fleet costs to deploy: seconds until `pubpriv serve` is up, and to deploy hundreds of datasets, twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.bounded import over_bounds
from pubpriv.errors import Unavailable

BOUNDS = {"up_seconds": 30.0, "fresh_seconds": 300.0, "again_seconds": 60.0}
"""Bounds for two hundred datasets on two processors that have nothing else to do."""

_PATIENCE = 300
PUBPRIV = [sys.executable, "-c", "from pubpriv.cli.main import main; main()"]

_FILE = """\
dataset: {name}
unit: one patient
cap: zcdp:4
private: {folder}/{name}.parquet
table_changes: true
public: {folder}/public.parquet
pool: {pool}
releases:
  - {{name: mean, estimator: mean, allotment: "zcdp:0.1", schedule: {{cron: "{minute} 2 * * *"}}}}
"""


def bench(datasets: int) -> dict[str, Any]:
    """Measure wall-clock seconds beside their bounds; the machine should have nothing else to do.

    Args:
        datasets: each with a file, a table, and one release a day.
    """
    with TemporaryDirectory() as made:
        folder = Path(made)
        files = write_files(folder, datasets)
        began = time.monotonic()
        with serving(folder) as environment:
            found = {"up_seconds": time.monotonic() - began}
            for name in ("fresh_seconds", "again_seconds"):
                began = time.monotonic()
                command = [*PUBPRIV, "deploy", str(files), "--set-budget"]
                subprocess.run(command, env=environment, check=True, capture_output=True)
                found[name] = time.monotonic() - began
    return {
        "bench": "fleet deploy",
        "datasets": datasets,
        "load": os.getloadavg()[0],
        **over_bounds(found, BOUNDS),
    }


def write_files(folder: Path, datasets: int, pool: str = "pubpriv") -> Path:
    """Write tables and dataset files of a pool; give the folder of the files."""
    files, tables = folder / "datasets", folder / "tables"
    files.mkdir()
    tables.mkdir()
    rows = pd.DataFrame(np.random.default_rng(1).standard_normal((2012, 2)), columns=["a", "b"])
    for name in ("public", *(f"d{number:04d}" for number in range(datasets))):
        (rows[:12] if name == "public" else rows[12:]).to_parquet(tables / f"{name}.parquet")
        if name != "public":
            text = _FILE.format(name=name, folder=tables, minute=int(name[1:]) % 60, pool=pool)
            (files / f"{name}.yaml").write_text(text, encoding="utf-8")
    return files


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Run `pubpriv serve` with nothing but an audit, and end it; give the environment of commands that speak to it."""
    ready, home = folder / "ready.json", folder / "home"
    (folder / "served.yaml").write_text("audit: books\n", encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "PUBPRIV_"))}
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # or each run would compile all libraries anew
    words = ["serve", "--port", "0", "--home", str(home), "--no-examples", "--datasets", str(folder / "served.yaml")]
    command = [*PUBPRIV, *words, "--ready-file", str(ready)]
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, env=own, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Unavailable(f"pubpriv serve did not start:\n{(folder / 'serve.log').read_text()}")
            time.sleep(0.05)
        told = json.loads(ready.read_text(encoding="utf-8"))
        yield own | {
            "PREFECT_API_URL": told["api"],
            "PREFECT_HOME": str(home / "prefect"),
            "PUBPRIV_LEDGER": told["ledger"],
        }
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
