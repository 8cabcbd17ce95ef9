"""What a command loads, by fresh processes: names of modules, not seconds, which `pubpriv bench startup` measures."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from benchmarks import startup

HEAVY = {
    "alembic", "dask", "distributed", "dp_accounting", "fsspec", "hypothesis", "jinja2", "mpmath",
    "numpy", "opendp", "pandas", "pandera", "prefect", "pyarrow", "rich", "scipy", "sklearn", "sqlalchemy",
}  # fmt: skip
"""Nobody waits for these before they are used."""

NEVER = {
    "alembic", "dask", "distributed", "dp_accounting", "fsspec", "jinja2", "opendp.prelude", "pandas", "pandera",
    "prefect", "scipy.linalg", "scipy.optimize", "scipy.stats",
}  # fmt: skip
"""No plain fit of Parquet tables needs them."""

PROGRAM = (
    "import sys\nfrom pubpriv.cli.main import main\n"
    "try: main()\nfinally: sys.stderr.write('loaded: ' + ' '.join(sys.modules) + '\\n')"
)


def loaded(code: str, *arguments: object) -> set[str]:
    """Modules that a fresh process has at its end."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr  # 4: these tables have two groups, and a single Gaussian says so
    return set(done.stderr.rpartition("loaded: ")[2].split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Any:
    """Small tables of two groups, and a ledger that knows them."""
    folder = tmp_path_factory.mktemp("startup")
    generator = np.random.default_rng(0)
    for name, n in (("private", 3000), ("public", 40)):
        rows = generator.standard_normal((n, 2)) + 12 * (np.arange(n) % 2)[:, None]
        pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), folder / f"{name}.parquet")
    table = pp.PrivateTable.open(folder / "private.parquet", ["a", "b"])
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(100), table=table)
    return folder


def fit_of(folder: Any, *words: str) -> set[str]:
    """Modules that a plain fit loads."""
    tables = ["--private", folder / "private.parquet", "--public", folder / "public.parquet"]
    run = ["--dataset", "visits", "--ledger", f"sqlite:///{folder}/ledger.db", "--budget", "zcdp:0.5", "--plain"]
    return loaded(PROGRAM, "fit", *words, *tables, *run, "--out", folder / "model.json", "--overwrite")


def test_importing_the_package_loads_nothing():
    """Names are loaded when they are used, the version too."""
    code = "import sys, pubpriv\nsys.stderr.write('loaded: ' + ' '.join(sys.modules))"
    found = loaded(code)
    assert "pubpriv" in found
    assert not found & HEAVY
    assert "importlib.metadata" not in found


def test_help_loads_no_command():
    """The list of commands is written without them."""
    found = loaded(PROGRAM, "--help")
    assert "typer" in found
    assert not found & (HEAVY | {"pydantic"})
    ours = {name.removeprefix("pubpriv.cli.") for name in found if name.startswith("pubpriv.cli.")}
    assert ours == {"main", "console", "extras"}


def test_a_command_loads_no_other(folder):
    """A balance is shown by what reads ledgers."""
    found = loaded(PROGRAM, "budget", "show", "visits", "--ledger", f"sqlite:///{folder}/ledger.db")
    assert "sqlalchemy" in found
    assert not found & (HEAVY - {"sqlalchemy", "rich", "mpmath"})
    assert not {"pubpriv.cli.fit", "pubpriv.cli.bench", "pubpriv.cli.operate", "pubpriv.released.report"} & found


@pytest.mark.long
def test_what_serve_needs_before_it_has_set_an_environment_loads_no_prefect():
    """Prefect reads its environment when it is imported, so the server's address would come too late."""
    code = "import sys\nimport pubpriv.cli.operate, pubpriv.deployments.examples, pubpriv.deployments.serving\n"
    assert "prefect" not in loaded(code + "sys.stderr.write('loaded: ' + ' '.join(sys.modules))")


@pytest.mark.parametrize("words", ["mean --covariance unknown", "gaussian"])
def test_a_plain_fit_loads_what_it_uses(folder, words):
    """No table library beside Arrow, no orchestrator, no schemas, no clustering."""
    found = fit_of(folder, *words.split())
    assert "opendp" in found
    assert not found & (NEVER | {"sklearn", "pubpriv.released.report", "pubpriv.estimators.mixture.driver"})


@pytest.mark.long
def test_a_plain_mixture_loads_clustering_and_no_schemas(folder):
    """scikit-learn clusters the public rows; tests of its own may bring pandas, nothing else does."""
    found = fit_of(folder, "mixture", "--components", "2")
    assert {"opendp", "sklearn"} <= found
    assert not found & (NEVER - {"scipy.linalg", "scipy.optimize", "scipy.stats", "pandas"})


@pytest.mark.slow
def test_every_start_keeps_its_bound():
    """`pubpriv bench startup`, by processor time: what else the machine does counts for less."""
    found = startup.bench(repeats=5)
    for row in found["rows"]:
        assert row["processor_ratio"] <= (row["bound"] or 3.0), row
