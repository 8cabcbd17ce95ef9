"""The main flow: the same bits with and without Prefect, named tasks, cached public steps, a statement to read."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from helpers.seeded import SeededNoise
from helpers.task_names import title_of

from pubpriv.curator import Curator
from pubpriv.errors import SpecMismatch
from pubpriv.estimators import MIXTURE
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.estimators.mixture import driver
from pubpriv.estimators.steps import plain as plain_runner
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

pytestmark = pytest.mark.prefect

ANY_REGIME = {
    *("ingest public table", "validate public table", "precondition", "outline of public rows", "superclustering"),
    *("scales inside clusters", "public model"),
}
"""Public tasks that depend on public rows and settings alone."""

PRIVATE = {
    "fit of the model",
    "ingest private table",
    "validate private table",
    "count of whole rows",
    "private PCA",
    "partition",
    "per-component estimation",
    "model choice",
}
AFTER_RELEASES = {"seeding", "weight counting", "tails of components"}
"""Public tasks whose inputs are released answers."""


def groups(n: int, seed: int, d: int, distance: float) -> np.ndarray:
    """Rows of two unit Gaussians in shares 2/3 and 1/3, `distance` apart in every column."""
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows + distance * (np.arange(n) % 3 == 2)[:, None]


# --- the same bits -----------------------------------------------------------------------------------------

CASES = {
    # regime: (columns, distance, public rows, questions that only this regime asks, settings)
    "separated-scarce": (4, 8.0, 12, {"mixture/pca", "mixture/coarse/subspace"}, {}),
    "separated-ample": (4, 8.0, 40, {"mixture/coarse/space"}, {"covariance_type": "diag"}),
    "overlapping": (2, 1.5, 40, {"mixture/start-1/round-1", "mixture/pick-2"}, {"covariance_type": "spherical"}),
    "separated-scarce, k looked for": (
        4,
        8.0,
        30,
        {"mixture/components-3", "mixture/components-2"},
        {"n_components": None, "max_components": 3, "covariance_type": "auto"},
    ),
}


@pytest.mark.parametrize("regime", CASES)
def test_plain_and_prefect_bundles_give_the_same_bits(tmp_path, regime):
    """In simulation a flow's estimate is the plain driver's, bit for bit, in every regime."""
    from pubpriv.tasks.boundary import safe_flow
    from pubpriv.tasks.runner import PrefectRunner

    d, distance, m, asked, settings = CASES[regime]
    private, public = groups(1500, 1, d, distance), groups(m, 2, d, distance)

    def estimate(runner=plain_runner):
        curator = Curator.simulation(private, budget=parse_budget("zcdp:0.5"), seed=7)
        return driver.estimate_mixture(public, curator, **{"n_components": 2} | settings, runner=runner)

    @safe_flow(name=f"simulation, {regime}")
    def simulate():
        return estimate(PrefectRunner(tmp_path / "public-tables"))

    plain, flown = estimate(), simulate()
    assert plain.diagnostics["regime"] == regime.partition(",")[0]
    assert asked <= {charge["label"] for charge in plain.privacy["charges"]}
    for part in ("weights", "means", "covariances"):
        assert getattr(plain, part).tobytes() == getattr(flown, part).tobytes()
    for one, other in zip(_without_time(plain), _without_time(flown), strict=True):
        assert one == other


def _without_time(estimate) -> list[tuple[str, object]]:
    told = estimate.to_json()
    del told["provenance"]["created"]
    return list(told.items())


# --- the flow on a ledger ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flown:
    """A flow run: its estimate, and what Prefect has of it."""

    estimate: object
    run_id: UUID

    def tasks(self, server) -> dict[str, list[str]]:
        """State names of the tasks, by task name, once all of them are final."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

        server.settle()
        mine = FlowRunFilter(id=FlowRunFilterId(any_=[self.run_id]))
        with get_client(sync_client=True) as client:
            for _ in range(600):
                runs = client.read_task_runs(flow_run_filter=mine)
                if "weight counting" in {_task_name(run) for run in runs} and all(
                    run.state and run.state.is_final() for run in runs
                ):
                    break
                time.sleep(0.1)
        found: dict[str, list[str]] = {}
        for run in runs:
            found.setdefault(_task_name(run), []).append(run.state.name)
        return found

    def artifacts(self) -> dict[str, object]:
        """Artifacts by key."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

        mine = FlowRunFilter(id=FlowRunFilterId(any_=[self.run_id]))
        with get_client(sync_client=True) as client:
            return {artifact.key: artifact for artifact in client.read_artifacts(flow_run_filter=mine)}


def _task_name(run) -> str:
    """`per-component estimation` of the run `12. per-component estimation 2 of 2 [private]`."""
    return title_of(run).partition(" 1 of")[0].partition(" 2 of")[0]


@dataclass(frozen=True)
class World:
    """A registered table, and the job that estimates it."""

    url: str
    job: Callable[..., Job]
    fly: Callable[[Job], Flown]
    first: Flown
    second: Flown

    def spent(self) -> int:
        with Ledger.open(self.url) as ledger:
            return ledger.balance("visits").spent.main

    def answers(self, release_id: str) -> dict[str, dict[str, list[int]]]:
        """What a release was answered, by label."""
        with Ledger.open(self.url) as ledger:
            labels = [charge.label for charge in ledger.run("visits", release_id).bill().charges]
            return {label: ledger.run("visits", release_id).find(label).answer for label in labels}


@pytest.fixture(scope="module")
def world(tmp_path_factory, prefect_server) -> World:
    """Two releases of one private table through the flow, of which the second can reuse public results."""
    from pubpriv.flows.estimate import estimate_mixture
    from pubpriv.flows.parameters import parameters_of

    folder: Path = tmp_path_factory.mktemp("world")
    for name, n in (("private", 1500), ("public", 12)):
        pd.DataFrame(groups(n, n, 4, 8.0), columns=list("abcd")).to_parquet(folder / f"{name}.parquet")
    url = f"sqlite:///{folder}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"), unit="one patient")

    def job(release_id: str, n_components: int = 2, budget: str = "zcdp:0.5") -> Job:
        tables = str(folder / "private.parquet"), str(folder / "public.parquet")
        return Job.of(MIXTURE, *tables, None, budget, "visits", url, release_id, n_components=n_components)

    def fly(wanted: Job) -> Flown:
        state = estimate_mixture(parameters_of(wanted), return_state=True)
        return Flown(state.result(), state.state_details.flow_run_id)

    first = fly(job("r1"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SeededNoise, "seed", 6)  # as different as answers of two releases are
        return World(url, job, fly, first, fly(job("r2")))


def test_every_step_is_a_named_task(world, prefect_server):
    """Prefect shows ingestion, preconditioning, superclustering, private PCA and so on, each as a task of its own."""
    tasks = world.first.tasks(prefect_server)
    assert set(tasks) == ANY_REGIME | PRIVATE | AFTER_RELEASES
    assert {state for states in tasks.values() for state in states} == {"Completed"}
    rounds = [charge["label"] for charge in world.first.estimate.privacy["charges"] if "round" in charge["label"]]
    assert len(tasks["per-component estimation"]) == len(rounds)


def test_arrows_follow_the_data(world, prefect_server):
    """Each task is drawn after those that made its arguments, whatever the driver computed between them."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    world.first.tasks(prefect_server)  # all of them are final
    with get_client(sync_client=True) as client:
        mine = FlowRunFilter(id=FlowRunFilterId(any_=[world.first.run_id]))
        runs = {run.id: run for run in client.read_task_runs(flow_run_filter=mine)}
    after = {
        title_of(run): {
            title_of(runs[each.id]) for inputs in run.task_inputs.values() for each in inputs if hasattr(each, "id")
        }
        for run in runs.values()
    }
    assert len(after) == len(runs)
    arrows = [
        ("ingest public table", "validate public table"),
        ("ingest private table", "validate private table"),
        ("validate public table", "precondition"),
        ("precondition", "superclustering"),
        ("validate private table", "private PCA"),
        ("superclustering", "scales inside clusters"),
        ("scales inside clusters", "private PCA"),
        ("private PCA", "seeding"),
        ("seeding", "partition"),
        ("partition", "per-component estimation 1 of 2"),
        ("per-component estimation 1 of 2", "per-component estimation 2 of 2"),
        ("per-component estimation 2 of 2", "weight counting"),
        ("per-component estimation 2 of 2", "model choice"),
        ("public model", "model choice"),
    ]
    assert [(earlier, later) for earlier, later in arrows if earlier not in after[later]] == []
    assert after["ingest public table"] == set()


def test_a_second_release_reuses_public_results_and_never_a_private_one(world, prefect_server):
    """Under a new release id public steps are `Cached`; private ones, and what follows from releases, are run again."""
    tasks = world.second.tasks(prefect_server)
    assert {name: set(tasks[name]) for name in ANY_REGIME} == {name: {"Cached"} for name in ANY_REGIME}
    assert {name: set(tasks[name]) for name in PRIVATE} == {name: {"Completed"} for name in PRIVATE}
    assert {name: set(tasks[name]) for name in AFTER_RELEASES} == {name: {"Completed"} for name in AFTER_RELEASES}
    first, second = world.answers("r1"), world.answers("r2")
    assert first.keys() == second.keys()
    assert [label for label in first if first[label] == second[label]] == []
    # means may be the same: where noise hides that the private ones are better, the public ones are released
    told = [flown.estimate.diagnostics["advantage_over_public"] for flown in (world.first, world.second)]
    assert told[0] != told[1]


def test_the_statement_is_an_artifact_with_one_row_per_charge_of_the_ledger(world):
    """The table artifact lists label, question and cost of every charge; the page tells guarantee and unit."""
    with Ledger.open(world.url) as ledger:
        charges = ledger.run("visits", "r1").bill().charges
    artifacts = world.first.artifacts()
    assert set(artifacts) >= {"visits--charges", "visits--privacy", "visits--components"}
    table, page = artifacts["visits--charges"], artifacts["visits--privacy"]
    assert (table.type, page.type) == ("table", "markdown")
    rows = json.loads(table.data)
    assert [(row["label"], row["question"]) for row in rows] == [(c.label, c.question) for c in charges]
    paid = [round(float(row["cost"].split()[0]) * 10**12) for row in rows]
    assert paid == [charge.price_run.main for charge in charges]
    for words in ("one patient", "0.5-zCDP", "replace one record", "release r1"):
        assert words in page.data


def test_the_released_components_are_an_artifact(world):
    """A table lists each component with its weight and means, as the model has them, to nine digits."""
    estimate = world.first.estimate
    rows = json.loads(world.first.artifacts()["visits--components"].data)
    assert [row["weight"] for row in rows] == pytest.approx(estimate.weights, rel=1e-8)
    means = np.array([[row[f"mean of {name}"] for name in estimate.columns] for row in rows])
    assert means == pytest.approx(estimate.means, rel=1e-8)
    assert means.tolist() == [[float(f"{mean:.9g}") for mean in component] for component in estimate.means]


def test_a_replay_spends_nothing_and_gives_the_same_numbers(world):
    """The same release id again, as a flow or plainly, charges nothing and returns the same model."""
    before = world.spent()
    expected = world.first.estimate
    for again in (world.fly(world.job("r1")).estimate, run_job(world.job("r1"))):
        for part in ("weights", "means", "covariances"):
            assert getattr(again, part).tobytes() == getattr(expected, part).tobytes()
    assert world.spent() == before
    with Ledger.open(world.url) as ledger:
        ledger.verify("visits")


def test_a_refusal_leaves_the_flow_as_it_is_and_spends_nothing(world):
    """A release id with other settings fails the flow with the ledger's own words."""
    before = world.spent()
    with pytest.raises(SpecMismatch, match="n_components: 2 then, 1 now"):
        world.fly(world.job("r1", n_components=1))
    assert world.spent() == before
