"""The flow that audits a ledger: what is right is listed, and one wrong record or model fails the run."""

import json
from fractions import Fraction

import pytest
import sqlalchemy as sa
from helpers.stores import drop_guards, raw
from helpers.tables import gaussian_tables

from pubpriv.data.codec import to_json
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.errors import LedgerViolation
from pubpriv.estimators import MEAN
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.released.files import _store_release

pytestmark = pytest.mark.prefect


@pytest.fixture
def world(tmp_path, monkeypatch, prefect_server):
    """A ledger with two datasets, of which one has a stored release."""
    tables = gaussian_tables(tmp_path)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        for name in ("visits", "idle"):
            ledger.register(name, budget=parse_budget("zcdp:1"))
    _store_release(run_job(Job.of(MEAN, *tables, None, "zcdp:0.5", "visits", url, "r1")), tmp_path / "released")
    monkeypatch.setenv("PUBPRIV_LEDGER", url)
    monkeypatch.setenv("PUBPRIV_OUTPUT", str(tmp_path / "released"))
    return url, tmp_path / "released" / "models" / "visits" / "r1.json"


def audited(**parameters):
    """The final state of a run, and the rows of its table."""
    from pubpriv.flows.audit_ledger import AuditParameters, audit_ledger

    state = audit_ledger(AuditParameters(**parameters), return_state=True)
    return state, _rows(state.state_details.flow_run_id)


def _rows(run_id) -> list[dict[str, str]]:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    with get_client(sync_client=True) as client:
        mine = FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))
        artifacts = {artifact.key: artifact for artifact in client.read_artifacts(flow_run_filter=mine)}
    return json.loads(artifacts["ledger-audit"].data)


def test_books_and_models_that_hold_are_listed(world):
    """Every dataset of the ledger and every stored model, each right, with records and amounts."""
    state, rows = audited()
    assert state.is_completed()
    assert state.result() == 3
    told = {row["what"]: row for row in rows}
    assert set(told) == {"dataset visits", "dataset idle", "model visits/r1.json"}
    assert {row["result"] for row in rows} == {"right"}
    assert told["dataset visits"]["cap"] == "1 rho"
    assert told["dataset visits"]["spent"].startswith("0.49999")
    assert told["dataset idle"]["spent"] == "0 rho"


def test_a_model_of_closed_books_is_neither_right_nor_wrong(world, tmp_path, monkeypatch):
    """The ledger that carries them on does not have its bill, and says who does."""
    new = f"sqlite:///{tmp_path}/new.db"
    with Ledger.open(world[0]) as ledger, Ledger.open(new) as books:
        ledger.carry_on(books, tmp_path / "archive.jsonl")
    monkeypatch.setenv("PUBPRIV_LEDGER", new)
    state, rows = audited()
    assert state.is_completed()
    told = {row["what"]: row for row in rows}
    assert told["dataset visits"]["spent"].startswith("0.49999")
    assert told["model visits/r1.json"]["result"] == "archived"
    assert "ledger.db, which still has its answers" in told["model visits/r1.json"]["finding"]


def test_a_model_that_the_ledger_does_not_account_for_fails_the_run(world):
    """A bill that somebody made smaller: the run fails and names the file; the books themselves are right."""
    _, model = world
    told = json.loads(model.read_text())
    told["privacy"]["charges"].pop()
    model.write_text(json.dumps(told))
    state, rows = audited()
    assert state.is_failed()
    assert "1 of 3 checks found something wrong" in state.message
    assert "r1.json" in state.message
    assert "its charges is" in state.message
    assert [row["what"] for row in rows if row["result"] == "wrong"] == ["model visits/r1.json"]
    assert audited(newest=0)[0].is_completed()


def test_a_record_that_was_touched_fails_the_run(world):
    """A cheaper charge in the database: that dataset is wrong, the other is still looked at."""
    url, _ = world
    with raw(url) as connection:
        drop_guards(connection)
        changed = "UPDATE records SET body = replace(body, 'ClippedSums', 'Counts') WHERE kind = 'charged'"
        assert connection.execute(sa.text(changed)).rowcount > 0
    state, rows = audited()
    assert state.is_failed()
    with pytest.raises(LedgerViolation, match="stop charging this ledger"):
        state.result()
    found = {row["what"]: row["result"] for row in rows}
    assert found.pop("ledger") == "wrong"  # its triggers are gone
    assert found == {"dataset visits": "wrong", "dataset idle": "right"}


def test_a_charge_that_is_not_its_questions_fails_the_run(world):
    """Appended without the door, by the ledger's own method: the record is named."""
    url, _ = world
    with Ledger.open(url) as ledger:
        ledger.run("idle", "r").open(parse_budget("zcdp:0.1"))
        cheap = GaussianEvent(Fraction(2, 10**12), ((1 << 40, 1),))
        ledger.run("idle", "r").charge("mean/a", to_json(Counts(Everything(), 1)), cheap)
    state, rows = audited()
    assert state.is_failed()
    assert "not charged as its question costs" in state.message
    assert [row["what"] for row in rows if row["result"] == "wrong"] == ["dataset idle"]
