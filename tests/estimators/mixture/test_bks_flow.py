"""The paper's algorithms through Prefect: every step a task, and the same bits."""

import json

import pytest
from helpers.bks_world import blobs, run, watched

from pubpriv.curator import Curator
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture.driver import estimate_mixture
from pubpriv.estimators.steps import plain
from pubpriv.privacy.budgets import parse_budget

METHODS = ("bks-scarce", "bks-ample")


@pytest.mark.parametrize("method", METHODS)
def test_what_steps_take_and_give_crosses_to_a_task_and_to_the_ledger(method):
    """Every argument and value of a step is admitted at the boundary, and its JSON gives it back bit for bit."""
    from pubpriv.tasks._crossing import check_crossing

    runner, seen = watched()
    public, private, _ = blobs(12.0, d=6, n=1500)
    run(public, private, method, budget="zcdp:1", runner=runner)
    for calls in seen.values():
        for arguments, value in calls:
            for item in (*arguments, value):
                if not isinstance(item, Curator | PublicTable):
                    check_crossing(item)
                    assert from_json(json.loads(json.dumps(to_json(item)))) == item
    assert len(seen) == (8 if method == "bks-scarce" else 5)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_plain_and_prefect_runs_agree(tmp_path):
    """In simulation a flow's estimates are the plain driver's, bit for bit: answers, diagnostics and charges too."""
    from pubpriv.tasks.boundary import safe_flow
    from pubpriv.tasks.runner import PrefectRunner

    public, private, _ = blobs(12.0, d=6, n=1500)

    def told(method, runner=plain):
        curator = Curator.simulation(private, budget=parse_budget("zcdp:1"), seed=7)
        estimate = estimate_mixture(public, curator, n_components=2, method=method, runner=runner).to_json()
        del estimate["provenance"]["created"]  # the time of day
        return estimate

    @safe_flow(name="simulation, the paper's algorithms")
    def simulate():
        return [told(method, PrefectRunner(tmp_path / "public-tables")) for method in METHODS]

    without = [told(method) for method in METHODS]
    for estimate, asked in zip(without, (True, False), strict=True):
        assert estimate["diagnostics"]["private_model_chosen"]
        assert ("mixture/level-1/query" in estimate["diagnostics"]["rounds"]) == asked
    assert simulate() == without
