"""The commands as a person or a script uses them."""

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL, fit_arguments, two_groups
from helpers.served import PUBPRIV

from pubpriv import load
from pubpriv.privacy.ledger import Ledger

# --- budget ------------------------------------------------------------------------------------------------


def test_set_registers_once_and_says_what(program, folder):
    """`budget set` registers a dataset, says so, and does nothing the second time."""
    for _ in range(2):
        told = program("budget", "set", "labs", "zcdp:0.25", "--ledger", URL, "--unit", "one sample")
        assert (told.code, told.out) == (0, "")
        assert told.err == "dataset labs has a budget of 0.25-zCDP\n"
    with Ledger.open(URL) as ledger:
        assert len(ledger.records("labs")) == 1


def test_set_declares_a_table(program, balance, folder):
    """`budget set --private --columns` declares the table by its source columns."""
    arguments = ["budget", "set", "labs", "zcdp:1", "--ledger", URL, "--private", "private.parquet"]
    told = program(*arguments, "--columns", "log1p(b),a")
    assert told.code == 0
    (declared,) = balance("labs")["tables"]
    assert (declared["uri"], declared["columns"]) == (str(folder / "private.parquet"), ["a", "b"])
    refused = program(*arguments)
    assert refused.code == 2
    assert "--columns" in refused.err


@pytest.mark.long
def test_a_cap_is_raised_with_a_reason_and_never_lowered_below_what_is_spent(program, fit, balance):
    """Another cap needs --raise and --reason, and has to cover what is spent."""
    assert fit().code == 0
    change = ["budget", "set", "visits", "--ledger", URL]
    for flags in ([], ["--raise"], ["--reason", "more data"]):
        told = program(*change, "zcdp:3", *flags)
        assert told.code == 2
        assert "--raise" in told.err
        assert "--reason" in told.err
    assert balance()["cap"] == 2.0
    assert program(*change, "zcdp:3", "--raise", "--reason", "more data").code == 0
    assert balance()["cap"] == 3.0
    assert program(*change, "zcdp:0.4", "--raise", "--reason", "less").code != 0
    assert balance()["cap"] == 3.0


@pytest.mark.parametrize(
    ("cap", "kind", "main"), [("zcdp:2", "zcdp", 2.0), ("pure:1.5", "pure", 1.5), ("approx:4,1e-6", "approx", None)]
)
def test_show_tells_numbers_and_exact_texts(program, balance, folder, cap, kind, main):
    """`budget show --json` has numbers in the main unit, delta_* beside them, and exact decimal texts."""
    program("budget", "set", "labs", cap, "--ledger", URL, "--unit", "one sample")
    told = balance("labs")
    assert (told["dataset"], told["unit"], told["kind"]) == ("labs", "one sample", kind)
    for name in ("cap", "spent", "held", "remaining"):
        for field in (name, f"delta_{name}"):
            assert isinstance(told[field], float)
            assert float(told["exact"][field]) == told[field]
    assert told["cap"] == told["remaining"]
    assert (told["spent"], told["held"]) == (0, 0)
    if main is None:  # mu^2 of a Gaussian that is (4, 0.99e-6)-DP, and the reserve for failure terms
        assert told["cap"] == pytest.approx(2 * 0.351, rel=0.01)
        assert told["delta_cap"] == 1e-8
    else:
        assert (told["cap"], told["delta_cap"]) == (main, 0)


@pytest.mark.long
def test_show_and_history_for_people(program, fit):
    """Without --json the same is a table, with a line per run."""
    assert fit(release_id="r1").code == 0
    shown = program("budget", "show", "visits", "--ledger", URL)
    assert shown.code == 0
    for word in ("2-zCDP", "one patient", "cap", "spent", "held", "remaining", "rho"):
        assert word in shown.out
    history = program("budget", "history", "visits", "--ledger", URL)
    assert history.code == 0
    for word in ("mixture/round-1", "LiftedGram", "answered", "run r1: 0.5-zCDP", "closed"):
        assert word in history.out


@pytest.mark.long
def test_history_adds_up_to_what_is_spent(program, fit, balance):
    """The costs in `budget history --json` sum to `spent`, exactly."""
    assert fit(release_id="r1").code == 0
    charges = json.loads(program("budget", "history", "visits", "--ledger", URL, "--json").out)
    assert {charge["release_id"] for charge in charges} == {"r1"}
    assert {charge["state"] for charge in charges} == {"answered"}
    assert len({charge["label"] for charge in charges}) == len(charges) > 1
    units = sum(round(float(charge["cost"]) * 10**12) for charge in charges)
    assert units == round(float(balance()["exact"]["spent"]) * 10**12)


def test_recover_returns_what_an_open_run_holds_and_nothing_that_was_charged(program, balance, folder):
    """`budget recover` ends an open run, after which its hold is free again; a second time it does nothing."""
    from pubpriv.privacy.budgets import parse_budget

    with Ledger.open(URL) as ledger:
        ledger.run("visits", "r1").open(parse_budget("zcdp:0.5"))
    assert (balance()["held"], balance()["open_runs"]) == (0.5, {"r1": 0.5})
    shown = program("budget", "show", "visits", "--ledger", URL)
    assert "pubpriv budget recover r1 --dataset visits" in shown.out
    for _ in range(2):
        assert program("budget", "recover", "r1", "--dataset", "visits", "--ledger", URL).code == 0
        assert (balance()["held"], balance()["remaining"], balance()["open_runs"]) == (0, 2.0, {})
    unknown = program("budget", "recover", "r2", "--dataset", "visits", "--ledger", URL)
    assert unknown.code == 2
    assert "no run with release id 'r2'" in unknown.err


def test_the_ledger_may_come_from_the_environment(program, folder, monkeypatch):
    """PUBPRIV_LEDGER stands in for --ledger, and --ledger wins."""
    monkeypatch.setenv("PUBPRIV_LEDGER", URL)
    assert program("budget", "show", "visits").code == 0
    assert program("budget", "show", "visits", "--ledger", "sqlite:///nowhere.db").code == 2
    assert program(*fit_arguments("--plain", ledger=None)).code == 0


# --- fit mixture -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_model_file_has_every_promised_key(fit, balance, folder):
    """`fit mixture` writes format 2 with shapes, statement, provenance and errors, components by falling weight."""
    told = fit(release_id="r1", columns="a,log1p(b)")
    assert told.code in {0, 4}
    model = json.loads((folder / "model.json").read_text())
    assert list(model) == [
        "format", "kind", "method", "estimand", "converged", "columns", "weights", "means", "covariances",
        "standard_errors", "privacy", "provenance", "diagnostics", "public", "findings", "states",
    ]  # fmt: skip
    assert (model["format"], model["kind"], model["columns"]) == (2, "gaussian-mixture", ["a", "log1p(b)"])
    assert isinstance(model["method"], str)
    assert isinstance(model["converged"], bool)
    shapes = {"weights": (2,), "means": (2, 2), "covariances": (2, 2, 2)}
    for part, shape in shapes.items():
        assert np.shape(model[part]) == shape
        errors = model["standard_errors"][part]
        assert {"sampling", "privacy"} <= errors.keys() <= {"sampling", "privacy", "clipping"}
        assert {np.shape(value) for value in errors.values()} == {shape}
    assert sum(model["weights"]) == pytest.approx(1)
    assert model["weights"] == sorted(model["weights"], reverse=True)
    assert all(np.linalg.eigvalsh(covariance).min() > 0 for covariance in model["covariances"])

    privacy = model["privacy"]
    assert set(privacy) == {"unit", "neighbouring", "kind", "guarantee", "spent", "charges"}
    assert (privacy["unit"], privacy["kind"]) == ("one patient", "zcdp")
    assert "0.5-zCDP" in privacy["guarantee"]["text"]
    for charge in privacy["charges"]:
        assert set(charge) == {"label", "question", "sensitivity", "noise_scale", "cost"}

    provenance = model["provenance"]
    assert set(provenance) == {
        "dataset", "release_id", "n_private", "n_public", "public_sha256", "chain_head", "version", "created",
    }  # fmt: skip
    assert (provenance["dataset"], provenance["release_id"]) == ("visits", "r1")
    assert provenance["n_private"] == 2000
    assert provenance["n_public"] == (pd.read_parquet(folder / "public.parquet").b > -1).sum()
    with Ledger.open(URL) as ledger:
        ledger.verify("visits", expected_head=provenance["chain_head"])
        labels = [charge.label for charge in ledger.run("visits", "r1").bill().charges]
    assert [charge["label"] for charge in privacy["charges"]] == labels
    assert balance()["held"] == 0


def test_a_model_file_reads_back_as_it_was(fit, folder):
    """`pubpriv.load` gives what was written, as arrays, and as scikit-learn's object."""
    assert fit().code == 0
    model = load(folder / "model.json")
    assert json.loads((folder / "model.json").read_text()) == model.to_json()
    rows = model.sample(500, seed=1)
    assert model.to_sklearn().score_samples(rows) == pytest.approx(model.log_density(rows))
    assert (folder / "model.json").stat().st_mode & 0o777 == 0o666 & ~_umask()


@pytest.mark.long
def test_two_far_groups_are_found(fit, folder):
    """The released model has the shares and places of the two groups in the table."""
    two_groups(30, seed=2).to_parquet(folder / "public.parquet")  # three rows find the groups, not their shapes
    assert fit(budget="zcdp:1").code == 0
    model = load(folder / "model.json")
    assert model.weights == pytest.approx([0.6, 0.4], abs=0.1)
    assert model.means == pytest.approx(np.array([[0, 0], [8, 8]]), abs=1.5)


def test_the_same_release_id_spends_nothing_and_says_the_same(fit, balance, folder):
    """A second fit with the same release id replays: same numbers, same screen, no charge, same file again."""
    first = fit(release_id="r1")
    spent = balance()["exact"]["spent"]
    model = json.loads((folder / "model.json").read_text())
    second = fit(release_id="r1")
    again = json.loads((folder / "model.json").read_text())
    assert (first.code, second.code) == (0, 0)
    assert first.out == second.out
    assert balance()["exact"]["spent"] == spent
    for name in ("weights", "means", "covariances", "standard_errors", "privacy", "diagnostics"):
        assert model[name] == again[name]


@pytest.mark.long
def test_a_fresh_release_id_is_made_and_printed(fit, folder):
    """Without --release-id each run makes its own, and prints it before anything is asked."""
    ids = []
    for _ in range(2):
        told = fit("--overwrite")
        assert told.code == 0
        line = next(line for line in told.lines if line.startswith("release id "))
        word = line.removeprefix("release id ").split()[0]
        assert f"--release-id {word}" in line
        assert load(folder / "model.json").provenance["release_id"] == word
        ids.append(word)
    assert ids[0] != ids[1]
    with Ledger.open(URL) as ledger:
        assert [run.release_id for run in ledger.history("visits")] == ids


def test_a_spent_budget_refuses_the_next_release_and_still_replays(fit, folder):
    """When nothing is left a new release is refused with exit code 3, and an old one comes back for free."""
    assert fit(release_id="r1", budget="zcdp:2").code == 0
    refused = fit("--overwrite", release_id="r2")
    assert refused.code == 3
    assert refused.lines[-1].startswith("error: ")
    assert fit(release_id="r1", budget="zcdp:2").code == 0


def test_a_model_that_did_not_converge_is_written_and_flagged(program, folder):
    """Exit code 4: noise drowns the covariances of ten columns, while the means are far better than the public ones."""
    generator = np.random.default_rng(0)
    names = [f"x{i}" for i in range(10)]
    for name, n, scale in (("private", 1000, 1.0), ("public", 4, 5.0)):
        rows = scale * generator.standard_normal((n, 10)) + 40.0 * (np.arange(n) % 2)[:, None]
        pd.DataFrame(rows, columns=names).to_parquet(folder / f"{name}.parquet")
    told = program(*fit_arguments("--plain", budget="zcdp:0.02"))
    assert told.code == 4
    assert "some numbers are doubtful, hence exit code 4" in told.err
    model = load(folder / "model.json")
    assert not model.converged
    assert any("noise is larger than the covariances" in line for line in told.lines)


@pytest.mark.long
def test_a_disk_that_refuses_the_model_costs_nothing_but_another_try(fit, balance, folder, monkeypatch):
    """A model that cannot be written is exit code 5 with the line that writes it for free."""
    import pubpriv.released.estimate

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(pubpriv.released.estimate, "write_atomically", full)
        told = fit(release_id="r1")
    assert told.code == 5
    assert "No space left on device" in told.lines[-1]
    assert "--release-id r1" in told.lines[-1]
    spent = balance()["spent"]
    assert fit(release_id="r1").code == 0
    assert balance()["spent"] == spent


# --- help and start-up -------------------------------------------------------------------------------------

COMMANDS = [
    "", "fit", "fit mixture", "fit mean", "fit gaussian", "fit quantiles", "fit describe",
    "fit regression", "plan regression",
    "plan", "plan mean", "plan gaussian", "plan mixture", "plan quantiles", "plan describe",
    "budget", "budget set", "budget show", "budget history", "budget report", "budget recover", "ledger",
    "ledger verify", "ledger export", "ledger restore", "ledger grant", "ledger close", "audit", "bench", "bench scan",
    "bench demo", "bench mixture", "bench best-radius", "bench looks", "bench verdicts", "bench regression",
    "bench rehearsal",
    "bench gaussian", "bench figure1", "bench memory", "bench ledger", "bench startup", "bench honest", "bench shift",
    "bench buys", "bench missing", "bench no-public", "bench persons", "bench pure", "bench groups", "bench quantiles",
    "bench bounds",
    "bench fleet", "bench fleet history", "bench fleet year", "bench fleet deploy", "bench fleet at-once",
    "bench fleet dask",
    "demo", "doctor", "init", "open", "show", "status",
    "report", "explain", "compare", "regress", "pca", "sample", "deploy", "serve", "backfill",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_a_page(program, command):
    """--help of every command works and fits on a page."""
    told = program(*command.split(), "--help")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("Usage: pubpriv")
    assert 5 < len(told.out.splitlines()) < 80


def test_help_names_no_command_that_is_not_tested_here(program):
    """What `--help` lists are the commands above: nothing is offered that does not exist yet."""
    groups = defaultdict(set)
    for command in filter(None, COMMANDS):
        group, _, name = command.rpartition(" ")
        groups[group].add(name)
    for group in ("", "fit", "plan", "budget", "ledger", "bench", "bench fleet"):
        listed = program(*group.split(), "--help").out.partition("Commands:\n")[2].splitlines()
        assert {line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "} == groups[group]


def test_help_loads_nothing_heavy():
    """`pubpriv --help` starts in well under a second, without Prefect, scikit-learn, OpenDP or SQLAlchemy.

    Its own processor time counts, of the second start if the first one compiled it: what else is at work does not.
    """
    code = (
        "import sys\nsys.argv = ['pubpriv', '--help']\nfrom pubpriv.cli.main import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    took = []
    for _ in range(2):
        before = os.times()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        after = os.times()
        took.append(after.children_user + after.children_system - before.children_user - before.children_system)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "typer" in loaded
    heavy = {"prefect", "sklearn", "opendp", "sqlalchemy", "alembic", "pandas", "pyarrow", "scipy", "mpmath", "rich"}
    assert not loaded & heavy
    assert min(took) < 0.6


# --- with Prefect --------------------------------------------------------------------------------------------


@pytest.fixture
def server_url(prefect_server) -> str:
    """The API of the session's server, so that a command does not start its own."""
    from prefect.settings import PREFECT_API_URL

    return str(PREFECT_API_URL.value())


@pytest.mark.prefect
def test_a_refusal_comes_before_a_flow_and_a_release_id(folder, balance, server_url):
    """A budget that has no room is refused with exit code 3 and one line, with Prefect as without it."""
    two_groups(3, seed=2).to_parquet(folder / "public.parquet")
    command = [*PUBPRIV, *map(str, fit_arguments(budget="zcdp:2.5", release_id="r1"))]
    environment = {**os.environ, "PREFECT_API_URL": server_url}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    bound, last = done.stderr.splitlines()
    assert bound.startswith("dataset visits declares no table yet: this run binds it to ")
    assert last.startswith("error: the allotment does not fit")
    assert (balance()["spent"], balance()["held"]) == (0, 0)
    assert not (folder / ".pubpriv").exists()


# --- Ctrl-C ------------------------------------------------------------------------------------------------


def interrupted(folder: Path, *arguments: object, at: str, **environment: str) -> subprocess.CompletedProcess:
    """A fit as a process of its own that gets SIGINT when it says `at`."""
    command = [*PUBPRIV, *map(str, arguments)]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    heard = []
    for line in process.stderr:
        heard.append(line)
        if at in line:
            process.send_signal(signal.SIGINT)
            break
    out, rest = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, "".join(heard) + rest)


def check_interruption_and_resume(folder, fit, balance, arguments, **environment):
    """Interrupt a fit of a large table at its first estimate, look, and run it to its end."""
    two_groups(1_200_000, seed=1).to_parquet(folder / "private.parquet", row_group_size=50_000)
    done = interrupted(folder, *arguments, at="per-component estimation", **environment)
    assert done.returncode == 130
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "to resume, run the same command with --release-id r1",
        "interrupted: answers that were paid for are kept",
    ]
    assert not (folder / "model.json").exists()
    before = balance()
    assert 0 < before["spent"] < 0.5
    assert before["spent"] + before["held"] == pytest.approx(0.5)

    assert fit(release_id="r1").code == 0
    with Ledger.open(URL) as ledger:
        kinds = [record.kind for record in ledger.records("visits")]
        charges = ledger.run("visits", "r1").bill().charges
        ledger.verify("visits")
    assert len({charge.label for charge in charges}) == len(charges) == kinds.count("charged")
    assert kinds.count("published") == len(charges)
    assert balance()["held"] == 0
    assert balance()["spent"] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.long
def test_an_interrupted_fit_says_how_to_resume_and_resumes(fit, balance, folder):
    """Ctrl-C leaves with 130 and the option that resumes; the rerun finishes with one charge per label."""
    check_interruption_and_resume(folder, fit, balance, fit_arguments("--plain", release_id="r1"))


@pytest.mark.slow
@pytest.mark.prefect
def test_an_interrupted_flow_says_how_to_resume_and_resumes_without_prefect(fit, balance, folder, server_url):
    """The same with Prefect, and the rerun without it: one ledger, one run."""
    arguments = fit_arguments(release_id="r1")
    check_interruption_and_resume(folder, fit, balance, arguments, PREFECT_API_URL=server_url)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
