"""The paper's algorithms through Prefect: every step a task, and the same bits. A few seconds, one flow for both."""

import pytest
from bks_world import blobs

from pubpriv.curator import Curator
from pubpriv.mixture.pipeline import estimate_mixture
from pubpriv.privacy.budgets import parse_budget

pytestmark = pytest.mark.prefect


METHODS = ("bks-scarce", "bks-ample")


def test_plain_and_prefect_runs_agree(tmp_path):
    """In simulation a flow's estimates are the plain driver's, bit for bit: answers, diagnostics and charges too."""
    from tasks.guard import safe_flow
    from tasks.mixture import mixture_steps

    public, private, _ = blobs(12.0, d=6, n=1500)

    def told(method, **steps):
        curator = Curator.simulation(private, budget=parse_budget("zcdp:1"), seed=7)
        estimate = estimate_mixture(public, curator, n_components=2, method=method, **steps).to_json()
        del estimate["provenance"]["created"]  # the time of day
        return estimate

    @safe_flow(name="simulation, the paper's algorithms")
    def simulate():
        return [told(method, steps=mixture_steps(tmp_path / "public-tables")) for method in METHODS]

    plain = [told(method) for method in METHODS]
    for estimate, asked in zip(plain, (True, False), strict=True):
        assert estimate["diagnostics"]["private_model_chosen"]
        assert ("mixture/level-1/query" in estimate["diagnostics"]["rounds"]) == asked
    assert simulate() == plain
