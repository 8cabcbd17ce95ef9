"""A released mean or Gaussian, replayed on a machine whose BLAS runs another kernel, is the same to the last bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_kernels import kernels, own_kernel

from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

RUN = """
import json, sys
from pathlib import Path
import threadpoolctl
from pubpriv.estimators import GAUSSIAN, MEAN
from pubpriv.estimators.jobs import Job, run_job
folder, told = sys.argv[1:]
common = f"{folder}/private.parquet", f"{folder}/public.parquet", None, "zcdp:0.2", "visits", f"sqlite:///{folder}/ledger.db"
jobs = {
    "auto": Job.of(GAUSSIAN, *common, "auto"),
    "gaussian": Job.of(GAUSSIAN, *common, "gaussian", target="gaussian"),
    "moments": Job.of(GAUSSIAN, *common, "moments", target="moments"),
    "algorithm-2": Job.of(GAUSSIAN, *common, "algorithm-2", method="algorithm-2"),
    "mean": Job.of(MEAN, *common, "mean", covariance=f"{folder}/sigma.csv"),
    "coinpress": Job.of(MEAN, *common, "coinpress", covariance=f"{folder}/sigma.csv", method="coinpress"),
}
models = {}
for name, job in jobs.items():
    models[name] = run_job(job).to_json()
    del models[name]["provenance"]["created"]
Path(told).write_text(json.dumps(models))
print({i["architecture"] for i in threadpoolctl.threadpool_info() if i["internal_api"] == "openblas"})
"""


def models_under(kernel: str | None, folder: Path) -> dict[str, dict]:
    """All jobs of `RUN` in a process of its own; a kernel is forced if it is named."""
    environment = {**os.environ, **({"OPENBLAS_CORETYPE": kernel} if kernel else {})}
    command = [sys.executable, "-c", RUN, str(folder), str(folder / f"{kernel}.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (done.stdout.strip() == own_kernel()) == (kernel is None)
    return json.loads((folder / f"{kernel}.json").read_text())


@pytest.mark.storm
def test_a_replay_under_another_kernel_is_the_same_model_and_free(tmp_path):
    """Every target and method: numbers, errors, diagnostics, statement; the ledger gets no record."""
    if not kernels():
        pytest.skip("BLAS has one kernel here")
    generator = np.random.default_rng(0)
    for name, n in (("private", 3000), ("public", 12)):
        pd.DataFrame(generator.standard_normal((n, 3)) + 5, columns=list("abc")).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    (tmp_path / "sigma.csv").write_text("1,.3,.1\n.3,2,.2\n.1,.2,1\n")
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:2"))
    first = models_under(None, tmp_path)
    with Ledger.open(url) as ledger:
        records = ledger.records("visits")
    for kernel in kernels():
        again = models_under(kernel, tmp_path)
        assert [name for name in first if again[name] != first[name]] == []
    with Ledger.open(url) as ledger:
        kept = [record for record in ledger.records("visits") if record.kind not in {"opened", "closed"}]
        assert kept == [record for record in records if record.kind not in {"opened", "closed"}]
