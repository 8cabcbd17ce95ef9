"""What a flow run leaves in the UI and in the output folder: public facts, a warning in time, a refusal in words."""

import base64
import json
import re
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from uuid import UUID
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from helpers.tables import gaussian_tables

import pubpriv as pp
from pubpriv.estimators import MEAN
from pubpriv.estimators.jobs import Job
from pubpriv.privacy.ledger import Ledger
from pubpriv.tasks.artifacts import Subject

pytestmark = pytest.mark.prefect

WARD = Subject("ward.7")


@dataclass(frozen=True)
class Flown:
    """A flow run: how it ended, what it shows, what it told."""

    state: object
    artifacts: dict[str, object]
    tags: list[str]

    @property
    def run_id(self) -> UUID:
        return self.state.state_details.flow_run_id


@pytest.fixture(scope="module")
def world(tmp_path_factory, prefect_server):
    """Runs r1 and r2 of one dataset, r3 for which there is no room, and the folder of all files."""
    from pubpriv.flows.estimate import estimate_mean
    from pubpriv.flows.parameters import parameters_of

    folder: Path = tmp_path_factory.mktemp("published")
    tables = gaussian_tables(folder, private=1500)
    url = f"sqlite:///{folder}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("ward.7", budget=pp.parse_budget("zcdp:0.75"), unit="one patient")

    def fly(release_id: str, budget: str = "zcdp:0.25") -> Flown:
        wanted = parameters_of(Job.of(MEAN, *tables, None, budget, "ward.7", url, release_id))
        state = estimate_mean(wanted.model_copy(update={"warn_below": 2}), return_state=True)
        run_id = state.state_details.flow_run_id
        return Flown(state, _artifacts(run_id), _tags(run_id))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBPRIV_OUTPUT", str(folder / "out"))
        runs = {"r1": fly("r1")}
        patch.setenv("PUBPRIV_OUTPUT_URL", "https://reports.example/")
        runs |= {"r2": fly("r2"), "r3": fly("r3", "zcdp:0.5")}
    others, astray = folder / "others.parquet", folder / "astray.parquet"
    pd.read_parquet(tables[0])[:1400].to_parquet(others)
    (pd.read_parquet(tables[1]) + 40).to_parquet(astray)
    with Ledger.open(url) as ledger:
        ledger.register("ward.8", budget=pp.parse_budget("zcdp:0.75"), unit="one patient")
    wanted = parameters_of(Job.of(MEAN, str(others), str(astray), None, "zcdp:0.25", "ward.8", url, "d1"))
    state = estimate_mean(wanted, return_state=True)
    runs["doubtful"] = Flown(state, *(of(state.state_details.flow_run_id) for of in (_artifacts, _tags)))
    prefect_server.settle()
    return folder, runs


def _artifacts(run_id) -> dict[str, object]:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    with get_client(sync_client=True) as client:
        mine = FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))
        found = client.read_artifacts(flow_run_filter=mine)
    return {artifact.key: artifact for artifact in found if artifact.key}  # Prefect's own, of results, have none


def _tags(run_id) -> list[str]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_flow_run(run_id).tags


def _events(name: str, count: int, dataset: str = "ward.7") -> list[dict]:
    """Payloads of the events of this name about a dataset, oldest first, once there are `count`."""
    from prefect.client.orchestration import get_client

    wanted = {"event": {"name": [name]}, "resource": {"id": [f"pubpriv.dataset.{dataset}"]}, "order": "ASC"}
    with get_client(sync_client=True) as client:
        for _ in range(600):
            found = client.request("POST", "/events/filter", json={"filter": wanted}).json()["events"]
            if len(found) >= count:
                break
            time.sleep(0.1)
    return [event["payload"] for event in found]


def _svg(markdown: str) -> ElementTree.Element:
    """The picture inside the text."""
    found = re.search(r"!\[[^\]]+\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", markdown)
    assert found is not None
    return ElementTree.fromstring(base64.b64decode(found[1]))


def test_a_finished_run_shows_statement_model_budget_picture_and_report(world):
    """Each artifact is there under the dataset's name; pictures are whole SVG files with a text alternative."""
    folder, runs = world
    shown = runs["r1"].artifacts
    parts = ("privacy", "charges", "mean", "picture", "budget", "runs", "report")
    assert set(shown) == {WARD.key(part) for part in parts}
    for name in (WARD.key("picture"), WARD.key("budget")):
        svg = _svg(shown[name].data)
        assert svg.tag.endswith("svg")
        assert svg.find("{*}desc").text
    assert "room for 2 more runs of" in shown[WARD.key("budget")].data
    rows = json.loads(runs["r2"].artifacts[WARD.key("runs")].data)
    assert [row["release"] for row in rows] == ["r2", "r1"]
    assert "spent 0.25 rho" in runs["r2"].tags
    assert runs["r3"].tags == []
    assert rows[0]["left after it"] == pytest.approx(0.25, abs=1e-8)
    page = folder / "out" / "models" / "ward.7" / "r1.html"
    assert str(page) in shown[WARD.key("report")].data
    link = "(https://reports.example/models/ward.7/r2.html)"
    assert link in runs["r2"].artifacts[WARD.key("report")].data


def test_doubtful_numbers_are_told_by_column(world):
    """In tags of the run, in its table of numbers and in an event, on which a notice or an automation can act."""
    run = world[1]["doubtful"]
    estimate = run.state.result()
    assert not estimate.converged
    assert {"flagged", *(f"doubtful {name}" for name in estimate.columns)} <= {*run.tags}
    table = run.artifacts[Subject("ward.8").key("mean")]
    assert [row["state"] for row in json.loads(table.data)] == ["doubtful"] * len(estimate.columns)
    assert estimate.verdict in table.description
    (told,) = _events("pubpriv.release.doubtful", 1, "ward.8")
    assert (told["release_id"], told["columns"]) == ("d1", list(estimate.columns))
    assert estimate.verdict in told["text"]


def test_the_last_task_keeps_the_release(world):
    """Model, table and page of each release are in the output folder; the model is what the flow returned."""
    folder, runs = world
    home = folder / "out" / "models" / "ward.7"
    kept = {path.name for path in home.iterdir() if not path.name.startswith(".")}
    assert kept == {"latest.json"} | {f"r{i}.{kind}" for i in (1, 2) for kind in ("json", "parquet", "html")}
    assert json.loads((home / "r1.json").read_text()) == json.loads(json.dumps(runs["r1"].state.result().to_json()))
    assert "<svg" in (home / "r1.html").read_text()


def test_a_plain_run_keeps_the_same_tree(world, tmp_path, monkeypatch):
    """The release that a flow kept, replayed without Prefect into an empty folder: same files, same content."""
    from pubpriv.cli.fit import admit, run

    folder, _ = world
    monkeypatch.setenv("PUBPRIV_OUTPUT", str(tmp_path))
    tables = str(folder / "private.parquet"), str(folder / "public.parquet")
    job = Job.of(MEAN, *tables, None, "zcdp:0.25", "ward.7", f"sqlite:///{folder}/ledger.db", "r2")
    run(job, admit(job), flown=False)
    kept, again = (root / "models" / "ward.7" for root in (folder / "out", tmp_path))
    r2 = {"r2.json", "r2.parquet", "r2.html", "latest.json"}
    assert {path.name for path in again.iterdir()} == r2 | {".lock"}
    flown, plain = (json.loads((home / "r2.json").read_text()) for home in (kept, again))
    for told in (flown, plain):
        told["provenance"].pop("created")
    assert plain == flown
    tables_kept = [pd.read_parquet(home / "r2.parquet").drop(columns="created") for home in (kept, again)]
    assert tables_kept[0].equals(tables_kept[1])
    day = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:]+( UTC|\+00:00))?")
    pages = [day.sub("DAY", (home / "r2.html").read_text()) for home in (kept, again)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(("root", "release_id"), [("out", "r" * 201), ("file/x", "r1")], ids=["name", "folder"])
def test_a_run_whose_files_could_not_be_kept_does_not_begin(tmp_path, monkeypatch, root, release_id):
    """A name that makes no file, a folder that cannot be made: refused before the ledger is opened."""
    from pubpriv.errors import InvalidInput
    from pubpriv.tasks.publish import refusals_shown

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PUBPRIV_OUTPUT", str(tmp_path / root))
    job = Job.of(MEAN, "private.parquet", "public.parquet", None, "zcdp:1", "ward.7", "sqlite:///none.db", release_id)
    with pytest.raises(InvalidInput, match=r"is no name for a file|cannot be written"), refusals_shown(job):
        pytest.fail("the run began")


def test_a_budget_that_runs_low_is_told_in_time(world):
    """After r1 two more runs fit, which is enough; after r2 one, and an event says so with the ledger's figures."""
    [payload] = _events("pubpriv.budget.low", 1)
    assert (payload["release_id"], payload["runs_that_fit"], payload["warn_below"]) == ("r2", 1, 2)
    assert payload["remaining"].startswith("0.25")
    assert "0.25" in payload["allotment_of_a_run"]


def test_a_run_without_budget_is_refused_in_words(world):
    """The state says spent, remaining and what to do; nothing was opened or read."""
    folder, runs = world
    refused = runs["r3"]
    assert refused.state.is_failed()
    assert re.search(r"spent 0\.\d+ rho, held 0 rho, requested 0\.5 rho, remaining 0\.25", refused.state.message)
    assert "What fits: zcdp:0.25" in refused.state.message
    assert set(refused.artifacts) == {WARD.key(part) for part in ("refused", "budget", "runs")}
    assert "Nothing was read" in refused.artifacts[WARD.key("refused")].data
    [payload] = _events("pubpriv.budget.exhausted", 1)
    assert payload["release_id"] == "r3"
    assert payload["runs_that_fit"] == 0
    with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        assert [run.release_id for run in ledger.history("ward.7")] == ["r1", "r2"]


def test_automations_are_registered_once(prefect_server):
    """A second registration changes nothing, another heartbeat changes one automation."""
    from pubpriv.flows.automations import ensure_automations

    ensure_automations()
    assert ensure_automations() == []
    assert ensure_automations(heartbeat_seconds=40) == ["pubpriv: a flow run without signs of life has crashed"]


def test_no_two_subjects_share_a_key():
    """Names that only dashes, dots or capitals tell apart have keys of their own, which Prefect takes."""
    subjects = [("a-b", "c"), ("a", "b-c"), ("a-b-c", None), ("A-b", "c"), ("a.b", "c"), ("a-", "b-c"), ("a--b", "c")]
    keys = [Subject(*names).key("budget") for names in subjects]
    assert len(set(keys)) == len(subjects)
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in keys)
    assert Subject("a-b", "c").key("budget") == "a-b--c--budget"


def test_a_long_scan_has_a_bar_and_a_step_a_line(prefect_server, monkeypatch):
    """The bar ends at 100 percent of the blocks; the log line says what the step charged."""
    from pubpriv.data import progress
    from pubpriv.data.questions import Counts
    from pubpriv.data.regions import Everything
    from pubpriv.estimators.steps import Place, step
    from pubpriv.tasks.boundary import safe_flow
    from pubpriv.tasks.runner import PrefectRunner

    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.001)
    monkeypatch.setattr(progress, "_EVERY_SECONDS", 0.05)
    curator = pp.Curator.simulation(np.zeros((3_000_000, 2)), pp.parse_budget("zcdp:1"), seed=1)

    @step(title="count rows", private=True)
    def count_rows(curator, label):
        return float(curator.release(Counts.priced(Everything(), Fraction(1, 4)), label).values["count"][0])

    @safe_flow(name="one count")
    def counting() -> None:
        PrefectRunner("unused")(count_rows, Place(), curator, "n")

    state = counting(return_state=True)
    assert state.is_completed()
    run_id = state.state_details.flow_run_id
    [bar] = _artifacts(run_id).values()
    assert (bar.key, bar.type, float(bar.data)) == ("simulation--progress", "progress", 100.0)
    assert bar.description == "1. count rows [private]: blocks of the private table read"
    prefect_server.settle()
    assert re.search(
        r"1\. count rows \[private\]: \d+\.\d s, charged 0\.125 rho for 1 answer$", _log(run_id), re.MULTILINE
    )


def _log(run_id: UUID) -> str:
    """Log lines of a flow run."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId

    with get_client(sync_client=True) as client:
        lines = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id])))
    return "\n".join(line.message for line in lines)


@pytest.mark.slow
def test_a_run_that_gives_no_sign_of_life_has_crashed(prefect_server):
    """A deployed run whose heartbeats end is marked by the server; a run of somebody else's flow is left alone."""
    from prefect.client.orchestration import get_client
    from prefect.events import emit_event
    from prefect.states import Running

    from pubpriv.flows.automations import ensure_automations
    from pubpriv.flows.estimate import estimate_mean

    ensure_automations(heartbeat_seconds=4)
    tags = {"ours": "pubpriv", "theirs": "other"}
    with get_client(sync_client=True) as client:
        runs = {name: client.create_flow_run(estimate_mean, tags=[tag], state=Running()) for name, tag in tags.items()}
        for name, run in runs.items():
            tag = {"prefect.resource.id": f"prefect.tag.{tags[name]}", "prefect.resource.role": "tag"}
            resource = {"prefect.resource.id": f"prefect.flow-run.{run.id}"}
            emit_event("prefect.flow-run.heartbeat", resource=resource, related=[tag])
        for _ in range(120):
            states = {name: client.read_flow_run(run.id).state for name, run in runs.items()}
            if states["ours"].is_crashed():
                break
            time.sleep(0.5)
        time.sleep(6)
        assert "no sign of life" in states["ours"].message
        assert client.read_flow_run(runs["theirs"].id).state.is_running()
