"""PostgreSQL stopped and started in mid-run: the run fails with exit 5, or finishes, and the books balance."""

import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import run_program
from helpers.stores import PASSWORD, running_postgres

from pubpriv.estimators import MIXTURE
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

pytestmark = pytest.mark.long

DATASET, RELEASE_ID, ALLOTMENT = "visits", "r1", "zcdp:0.5"

_TESTS = str(Path(__file__).parents[1])
_PROGRAM = f"import sys; sys.path.append({_TESTS!r}); from helpers.seeded import seed_noise; seed_noise()"
SEEDED = [sys.executable, "-c", f"{_PROGRAM}; from pubpriv.cli.main import main; main()"]
"""`pubpriv` with noise from a seed: of real runs on these tables some in a hundred ask more, or are flagged."""


@pytest.fixture(scope="module")
def server():
    """A server of this file's own, for it is stopped."""
    with running_postgres() as made:
        yield made


@dataclass(frozen=True)
class World:
    """Tables, the words of a plain run, and what a clean run charges."""

    folder: Path
    url: str
    clean: int

    def words(self) -> list[str]:
        """What is typed after `pubpriv`."""
        tables = ["--private", f"{self.folder}/private.parquet", "--public", f"{self.folder}/public.parquet"]
        run = ["--dataset", DATASET, "--release-id", RELEASE_ID, "--budget", ALLOTMENT, "--components", "2"]
        files = ["--ledger", self.url, "--out", str(self.model), "--plain"]
        return ["fit", "mixture", *tables, *run, *files]

    @property
    def model(self) -> Path:
        """Where a run writes its model."""
        return self.folder / "model.json"


@pytest.fixture
def program(monkeypatch, capfd):
    """Run `pubpriv` with arguments in this process; what libraries in C write is seen, too."""
    return partial(run_program, monkeypatch, capfd)


@pytest.fixture
def world(server, tmp_path):
    """A registered dataset in a database of its own."""
    server.start()
    generator = np.random.default_rng(3)
    for name, n in (("private", 900), ("public", 12)):
        rows = generator.standard_normal((n, 3)) + 30.0 * (np.arange(n) % 3 == 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(tmp_path / f"{name}.parquet", row_group_size=400)
    remote, local = server.new_url(), f"sqlite:///{tmp_path}/clean.db"
    for url in (remote, local):
        with Ledger.open(url) as ledger:
            ledger.register(DATASET, budget=parse_budget("zcdp:2"))
    tables = f"{tmp_path}/private.parquet", f"{tmp_path}/public.parquet"
    run_job(Job.of(MIXTURE, *tables, None, ALLOTMENT, DATASET, local, RELEASE_ID, n_components=2))
    with Ledger.open(local) as ledger:
        return World(tmp_path, remote, ledger.balance(DATASET).spent.main)


# which of the run's announced steps the server is stopped after, and how
STOPS = [(3, signal.SIGQUIT), pytest.param(7, signal.SIGINT, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("step", "how"), STOPS, ids=lambda value: str(getattr(value, "name", value)))
def test_a_server_that_stops_in_mid_run(server, world, program, step, how):
    """Exit 5 and a line that says so, or exit 0; afterwards the same release id ends at a clean run's cost."""
    child = subprocess.Popen([*SEEDED, *world.words()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = []
    for line in child.stderr:
        told.append(line)
        if len([step for step in told if step.startswith("  ")]) == step:
            break
    server.stop(how)
    _, rest = child.communicate(timeout=120)
    text = "".join(told) + rest
    assert child.returncode in (0, 5), text
    if child.returncode == 5:
        assert "does not answer" in rest.splitlines()[-1]
        assert "Traceback" not in text
    refused = program(*world.words())  # nobody answers: the same words, before anything else is done
    assert refused.code == 5, refused.err
    assert PASSWORD not in text + refused.err
    server.start()

    assert program(*world.words()).code == 0
    before = world.model.read_text()
    again = program(*world.words())
    assert again.code == 0, again.err
    with Ledger.open(world.url) as ledger:
        ledger.verify(DATASET)
        run, balance = ledger.run(DATASET, RELEASE_ID).bill(), ledger.balance(DATASET)
    assert run.state.closed
    assert all(charge.answered for charge in run.charges)
    assert (balance.spent.main, balance.held.main) == (world.clean, 0)
    assert before.split('"created"')[0] == world.model.read_text().split('"created"')[0]


def test_no_password_is_printed(server, world, program):
    """Through `budget show` and a whole run, what is printed and written tells where, and never the password."""
    done = program(*world.words())
    assert done.code == 0, done.err
    texts = [done.out, done.err, world.model.read_text()]
    for arguments in (["budget", "show", DATASET], ["budget", "show", "nobody"], ["ledger", "verify"]):
        done = program(*arguments, "--ledger", world.url)
        texts += [done.out, done.err]
    assert "--ledger postgresql" in texts[-3]  # what to type, for a dataset that nobody registered
    for text in texts:
        assert PASSWORD not in text
        assert "s3cret" not in text
