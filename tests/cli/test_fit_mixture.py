"""`fit mixture` and `plan mixture`: how many components, of what type, by which method; early warnings."""

import json

import numpy as np
import pytest
from helpers.cli_world import fit_arguments, two_groups

from pubpriv import load
from pubpriv.cli.fit import _through_prefect

PLAN = ["plan", "mixture", "--rows", 2000, "--public-rows", 30, "--dims", 3, "--budget", "zcdp:0.5"]


@pytest.fixture
def more_public(folder):
    """Thirty public rows instead of three."""
    two_groups(30, seed=2).to_parquet(folder / "public.parquet")


@pytest.mark.long
@pytest.mark.usefixtures("more_public")
def test_the_number_of_components_is_found(fit, folder):
    """Without --components two groups are found; the model says what was tried."""
    told = fit(components=None, max_components=3)
    assert told.code == 0, told.err
    model = load(folder / "model.json")
    assert len(model.weights) == 2
    assert [line["components"] for line in model.diagnostics["components_tried"]] == [3, 2]


@pytest.mark.usefixtures("more_public")
def test_fewer_numbers_can_be_asked_for(fit, folder):
    """--covariance-type diag writes diagonal covariances."""
    assert fit(covariance_type="diag", min_weight=0.3).code == 0
    for covariance in load(folder / "model.json").covariances:
        assert np.array_equal(covariance, np.diag(np.diag(covariance)))


@pytest.mark.parametrize(
    ("plain", "prefect", "server", "flown"),
    [
        (False, False, None, False),
        (False, False, "http://127.0.0.1:4200/api", True),
        (True, False, "http://127.0.0.1:4200/api", False),
        (False, True, None, True),
    ],
)
def test_a_fit_is_a_flow_where_somebody_asked_for_prefect(monkeypatch, plain, prefect, server, flown):
    """By naming a server or by --prefect; --plain says no."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    if server:
        monkeypatch.setenv("PREFECT_API_URL", server)
    assert _through_prefect(plain, prefect) is flown


def test_a_fit_starts_no_server_of_its_own_accord(program, folder, monkeypatch):
    """Without options and without PREFECT_API_URL it runs here; asked for both ways it is refused."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert program(*fit_arguments()).code == 0
    assert not (folder / ".pubpriv").exists()
    both = program(*fit_arguments("--plain", "--prefect", release_id="r2"))
    assert (both.code, both.lines[-1]) == (2, "error: --plain runs without Prefect, --prefect with it: give one")


@pytest.mark.long
def test_few_public_rows_are_warned_of_before_the_run(fit, folder):
    """The line comes before the first step."""
    two_groups(3, seed=2).to_parquet(folder / "public.parquet")
    told = fit()
    (first,) = [i for i, line in enumerate(told.lines) if line.startswith("warning: 3 public rows are few")][:1]
    assert first < told.lines.index("  step 1: ingest public table")


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"max_components": 4}, "--components says how many there are"),
        ({"components": None, "max_components": 0}, "max_components must be a positive integer"),
        ({"components": None, "method": "bks-scarce"}, "needs the number of components"),
        ({"method": "em"}, "method must be one of auto, bks-scarce, bks-ample"),
        ({"constants": "tight"}, "constants must be one of"),
        ({"covariance_type": "tied"}, "covariance_type must be one of"),
        ({"min_weight": 0.9}, "min_weight must be"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused_for_nothing(fit, balance, changed, why):
    """Exit code 2 and one line, and nothing is held or spent."""
    told = fit(**changed)
    assert told.code == 2
    assert why in told.lines[-1]
    assert (balance()["spent"], balance()["held"]) == (0, 0)


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (["--components", 2, "--covariance-type", "spherical"], "mixture/round-1"),
        (["--max-components", 4], "mixture/components-4"),
        ([], "mixture/components-8"),
        (["--components", 2, "--method", "bks-scarce"], "mixture/level-1/query"),
        (["--components", 2, "--method", "bks-ample", "--constants", "paper"], "mixture/round-1"),
    ],
    ids=["spherical", "at most four", "looked for", "bks-scarce", "bks-ample"],
)
def test_what_a_fit_can_be_asked_a_plan_can_be_asked(program, options, label):
    """The same options; the steps are those of the method, and the regime is told with its reason."""
    told = program(*PLAN, *options, "--json")
    assert told.code == 0, told.err
    plan = json.loads(told.out)
    assert label in [step["label"] for step in plan["steps"]]
    assert sum(step["share"] for step in plan["steps"]) == pytest.approx(1)
    assert any(note.startswith(("separated", "overlapping", "bks")) for note in plan["notes"])
