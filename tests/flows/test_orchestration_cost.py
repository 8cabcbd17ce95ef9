"""What Prefect costs: setting S2 through the command, with and without it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from benchmarks.synthetic import SETTINGS, draw, draw_public

pytestmark = [pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]

MOST_SECONDS = 15


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with the tables of S2 and a ledger with room for three runs."""
    folder, setting = tmp_path_factory.mktemp("s2"), SETTINGS["S2"]
    generator = np.random.default_rng(0)
    truth = draw(setting, generator)
    public, (rows, _) = draw_public(setting, truth, generator), truth.sample(setting.n, generator)
    names = [f"x{i}" for i in range(setting.d)]
    pd.DataFrame(public, columns=names).to_parquet(folder / "public.parquet")
    pd.DataFrame(rows, columns=names).to_parquet(folder / "private.parquet")
    table = pp.PrivateTable.open(folder / "private.parquet", names)
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("s2", budget=pp.parse_budget("zcdp:2"), table=table)
    return folder


def _fit(folder, release_id, out, *options):
    """(seconds of the whole command, the model)."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [Path(sys.executable).with_name("pubpriv"), "fit", "mixture", "--components", "5", "--budget", "zcdp:0.5"]
    command += ["--private", f"{folder}/private.parquet", "--public", f"{folder}/public.parquet", "--dataset", "s2"]
    command += ["--ledger", f"sqlite:///{folder}/ledger.db", "--release-id", release_id, "--out", str(out), "--quiet"]
    start = time.perf_counter()
    subprocess.run([*command, *options], cwd=folder, env=environment, check=True)
    return time.perf_counter() - start, pp.load(out)


def test_prefect_adds_little_time_and_no_bits(world):
    """A run of S2 through Prefect takes at most 15 s more than a plain one; its replay without Prefect is the same.

    The first run beside a ledger makes Prefect's database too, which is told and not held to that.
    """
    plain, _ = _fit(world, "plain", world / "plain.json", "--plain")
    first, _ = _fit(world, "first", world / "first.json", "--prefect")
    flown, model = _fit(world, "flown", world / "flown.json", "--prefect")
    replay, same = _fit(world, "flown", world / "again.json", "--plain")
    print(f"plain {plain:.1f} s, through Prefect {first:.1f} s and then {flown:.1f} s, replayed without {replay:.1f} s")
    assert model.diagnostics["private_model_chosen"]
    assert model.mixture == same.mixture
    assert model.privacy == same.privacy
    assert flown - plain <= MOST_SECONDS
