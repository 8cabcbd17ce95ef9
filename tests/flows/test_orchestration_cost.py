"""What Prefect costs: setting S2 through the command, with and without it."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.turns import quickest

import pubpriv as pp
from benchmarks.synthetic import SETTINGS, draw, draw_public

pytestmark = [pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]

MOST_FLOWS = 2
"""Times that Prefect may add to a run what a flow of empty tasks takes, its server's start and end included."""

BARE = """
from prefect import flow, task

@task
def nothing(): pass

@flow
def nothings():
    for _ in range(40): nothing()

nothings()
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with the tables of S2 and a ledger with room for seven runs."""
    folder, setting = tmp_path_factory.mktemp("s2"), SETTINGS["S2"]
    generator = np.random.default_rng(0)
    truth = draw(setting, generator)
    public, (rows, _) = draw_public(setting, truth, generator), truth.sample(setting.n, generator)
    names = [f"x{i}" for i in range(setting.d)]
    pd.DataFrame(public, columns=names).to_parquet(folder / "public.parquet")
    pd.DataFrame(rows, columns=names).to_parquet(folder / "private.parquet")
    table = pp.PrivateTable.open(folder / "private.parquet", names)
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("s2", budget=pp.parse_budget("zcdp:4"), table=table)
    return folder


def _environment(**more):
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | more


def _fit(folder, release_id, *options):
    """What the whole command releases."""
    out = folder / f"{release_id}{''.join(options)}.json"
    command = [Path(sys.executable).with_name("pubpriv"), "fit", "mixture", "--components", "5", "--budget", "zcdp:0.5"]
    command += ["--private", f"{folder}/private.parquet", "--public", f"{folder}/public.parquet", "--dataset", "s2"]
    command += ["--ledger", f"sqlite:///{folder}/ledger.db", "--release-id", release_id, "--out", str(out), "--quiet"]
    subprocess.run([*command, *options], cwd=folder, env=_environment(), check=True)
    return pp.load(out)


def _bare(folder):
    """Prefect alone: its server, and a flow of about as many tasks as a run of S2 has steps."""
    patience = {"PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    environment = _environment(
        PREFECT_HOME=str(folder / "bare"), PREFECT_SERVER_ALLOW_EPHEMERAL_MODE="true", **patience
    )
    subprocess.run([sys.executable, "-c", BARE], cwd=folder, env=environment, check=True, capture_output=True)


def test_prefect_adds_little_time_and_no_bits(world):
    """A run of S2 through Prefect takes little more than a plain one and a flow of empty tasks together.

    All are measured in turns. The first flow beside a ledger, and the first with a home of its own, make Prefect's
    database too, which is not held against either. The replay without Prefect is the same.
    """
    _bare(world)
    model = _fit(world, "first", "--prefect")
    numbers = count()
    bare, plain, flown = quickest(
        3,
        lambda: _bare(world),
        lambda: _fit(world, f"plain-{next(numbers)}", "--plain"),
        lambda: _fit(world, f"flown-{next(numbers)}", "--prefect"),
    )
    print(f"plain {plain:.1f} s, through Prefect {flown:.1f} s, Prefect alone {bare:.1f} s")
    same = _fit(world, "first", "--plain")
    assert model.diagnostics["private_model_chosen"]
    assert model.mixture == same.mixture
    assert model.privacy == same.privacy
    assert flown - plain <= MOST_FLOWS * bare
