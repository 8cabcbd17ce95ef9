"""The flows of one Gaussian: the same bits with and without Prefect, every step a task, a statement to read."""

import json

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.estimators import GAUSSIAN, MEAN
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.estimators.steps import plain
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms

NUMBERS = {"mean": ("mean",), "everything": ("mean",), "gaussian": ("mean", "covariance")}
"""What is released, by job; `everything` is a mean whose covariance is learnt, by group, of the persons of a month."""


def rows(n: int, seed: int, long_tailed: bool = False) -> np.ndarray:
    generator = np.random.default_rng(seed)
    drawn = generator.standard_normal((n, 3))
    return np.sign(drawn) * np.abs(drawn) ** 3 if long_tailed else drawn


def test_every_form_asks_for_its_job():
    """No setting of a job is missing from its form."""
    from pubpriv.flows.parameters import parameters_of

    common = ("private", "public", ("a",), "zcdp:1", "visits", "sqlite:///l.db", "r1")
    jobs = (
        Job.of(MEAN, *common, covariance="sigma.csv", method="coinpress", rounds=3, force=True),
        Job.of(GAUSSIAN, common[0], None, *common[2:], method="no-public"),
        Job.of(GAUSSIAN, *common, target="moments", method="learner", scale={"a": 2.0}, force=True),
    )
    for job in jobs:
        assert parameters_of(job).job() == job


CASES = {
    # name: (long tails, a degenerate public column, settings, steps that run and steps that do not)
    "auto": (False, False, {"target": "auto"}, {"count_lengths", "examine", "measure_shells"}, {"measure"}),
    "tails": (True, False, {"target": "auto"}, {"cut", "fourth_moments", "measure_shells"}, {"pool"}),
    "degenerate": (False, True, {"target": "moments", "scale": {"x1": 1.0}}, {"learn_scale", "assemble"}, {"measure"}),
    "no-public": (False, False, {"method": "no-public"}, {"find_cells", "standardise", "approach"}, {"precondition"}),
    "incomplete": (
        *(False, False, {"target": "gaussian", "missing": "estimate"}),
        {"count_patterns", "approach_completed", "measure_completed", "judge_completed"},
        {"measure"},
    ),
    "algorithm-2": (False, False, {"method": "algorithm-2"}, {"bound", "mean_round"}, {"approach"}),
}


@pytest.mark.prefect
@pytest.mark.parametrize("name", CASES)
def test_plain_and_prefect_bundles_give_the_same_gaussian(prefect_server, tmp_path, name):
    """In simulation a flow's estimate is the plain driver's, bit for bit, whatever steps the settings take."""
    from pubpriv.tasks.boundary import safe_flow
    from pubpriv.tasks.runner import PrefectRunner

    long_tailed, degenerate, settings, runs, rests = CASES[name]
    private, public = rows(3000, 1, long_tailed), rows(40, 2, long_tailed)
    public[:, 2] *= not degenerate
    if "missing" in settings:
        private[:800, 0] = private[700:1500, 2] = np.nan
    called = set()

    def estimate(runner=plain):
        curator = pp.Curator.simulation(private, pp.parse_budget("approx:4,1e-6"), seed=7)
        helped = None if name == "no-public" else public
        return pp.estimate_gaussian(helped, curator, **settings, runner=runner)

    @safe_flow(name=f"simulation, {name}")
    def simulate():
        run = PrefectRunner(tmp_path / "public-tables")

        def noting(step, place, /, *args):
            called.add(step.name)
            return run(step, place, *args)

        return estimate(noting)

    assert _told(estimate()) == _told(simulate())
    assert runs <= called
    assert not rests & called


def _told(estimate) -> str:
    told = estimate.to_json()
    del told["provenance"]["created"]
    return json.dumps(told)


# --- on a ledger ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """A registered table, and jobs that estimate its mean and its Gaussian."""
    folder = tmp_path_factory.mktemp("world")
    for name, n in (("private", 1500), ("public", 8)):
        pd.DataFrame(rows(n, n), columns=list("abc")).to_parquet(folder / f"{name}.parquet")
    days = pd.Timestamp("2024-02-01") + pd.to_timedelta(np.arange(3000) % 40, "D")
    frame = pd.DataFrame(rows(3000, 3), columns=list("abc")).assign(seen=days, who=np.arange(3000) // 2)
    frame.assign(region=np.resize(["north", "south"], 3000)).to_parquet(folder / "months.parquet")
    url = f"sqlite:///{folder}/ledger.db"
    months = PeriodTerms("month", "seen", pp.parse_budget("zcdp:1"))
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=pp.parse_budget("zcdp:2"), unit="one patient")
        ledger.register("months", pp.parse_budget("zcdp:2"), unit="one patient", person="who", periods=months)
    tables = str(folder / "private.parquet"), str(folder / "public.parquet")
    common = (*tables, None, "zcdp:0.5", "visits", url)
    grown = (str(folder / "months.parquet"), tables[1], ("a", "b", "c"), "zcdp:0.5", "months", url)
    groups = {"by": "region", "by_values": ("north", "south"), "rows_of": "2024-02"}
    return {
        "mean": Job.of(MEAN, *common, "mean"),
        "everything": Job.of(MEAN, *grown, "everything", covariance="unknown", **groups),
        "gaussian": Job.of(GAUSSIAN, *common, "gaussian"),
    }


@pytest.mark.prefect
@pytest.mark.parametrize("name", NUMBERS)
def test_a_flow_pays_once_replays_plainly_and_shows_statement_and_estimates(prefect_server, jobs, name):
    """Its numbers come back without Prefect at no cost; artifacts list every charge and every column."""
    from pubpriv.flows.estimate import FLOWS
    from pubpriv.flows.parameters import parameters_of

    kind, dataset = jobs[name].estimator.name, jobs[name].dataset
    state = FLOWS[kind](parameters_of(jobs[name]), return_state=True)
    estimate = state.result()
    with Ledger.open(jobs[name].ledger) as ledger:
        charges = ledger.run(dataset, name).bill().charges
        spent = ledger.balance(dataset).spent.main
    again = run_job(jobs[name])
    for part in NUMBERS[name]:
        assert getattr(again, part).tobytes() == getattr(estimate, part).tobytes()
    assert (again.groups and again.groups.to_json()) == (estimate.groups and estimate.groups.to_json())
    assert bool(estimate.groups) == (name == "everything")
    with Ledger.open(jobs[name].ledger) as ledger:
        assert ledger.balance(dataset).spent.main == spent
    shown = _artifacts(state.state_details.flow_run_id)
    assert set(shown) >= {f"{dataset}--charges", f"{dataset}--privacy", f"{dataset}--{kind}"}
    assert [row["label"] for row in json.loads(shown[f"{dataset}--charges"].data)] == [
        charge.label for charge in charges
    ]
    assert "one patient" in shown[f"{dataset}--privacy"].data
    table = json.loads(shown[f"{dataset}--{kind}"].data)
    assert [row["column"] for row in table] == ["a", "b", "c"]
    assert [row["mean"] for row in table] == pytest.approx(estimate.mean, rel=1e-8)
    errors = estimate.standard_errors["mean"]["privacy"]
    assert [row["error of mean (privacy)"] for row in table] == pytest.approx(errors, rel=1e-8)
    if kind == "mean":
        assert not any("variance" in row for row in table)
    else:
        assert [row["variance"] for row in table] == pytest.approx(np.diag(estimate.covariance), rel=1e-8)


def _artifacts(run_id) -> dict[str, object]:
    """Artifacts of a flow run, by key."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    with get_client(sync_client=True) as client:
        mine = FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))
        return {artifact.key: artifact for artifact in client.read_artifacts(flow_run_filter=mine)}
