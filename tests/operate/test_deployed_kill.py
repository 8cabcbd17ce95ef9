"""kill -9 and Cancel under a worker: one set of charges, the answers that were published, and nothing else."""

import os
import signal
import time
from collections import Counter
from contextlib import suppress

import psutil
import pytest
from helpers.frail import Frail, deploy, flow_processes, prefect, working
from helpers.served import Served
from helpers.waiting import eventually

from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def orphaned(served: Served, tmp_path_factory):
    """A dataset whose worker, with the run that it was at, was killed in mid-run; the run, and what it left."""
    folder = tmp_path_factory.mktemp("orphaned")
    frail = deploy(served, folder / "tables", "orphaned", "orphaned")
    with working(served, frail.pool, folder / "worker.log") as worker:
        run = frail.trigger("r1")
        frail.await_answers("r1", 1)
        worker.kill()
    return frail, run, frail.answers("r1"), folder / "worker.log"


@pytest.fixture(scope="module")
def frail(served: Served, orphaned, tmp_path_factory) -> Frail:
    """A dataset with the same rows under the server's own worker, and one release that nobody disturbed: `clean`."""
    del orphaned  # is left alone meanwhile: it takes the server two minutes to notice
    made = deploy(served, tmp_path_factory.mktemp("frail") / "tables", "frail", served.pool)
    assert served.await_run(made.trigger("clean")).state_name == "Completed", served.worker_log()
    return made


def assert_one_set_of_charges(frail: Frail, release_id: str, clean: Frail) -> None:
    """One charge and one answer for each question, at the price of a run that nobody disturbed; the run is closed."""
    records = Counter(entry for entry in frail.records(release_id) if entry[0] != "attempted")
    assert records == Counter((kind, label) for label in clean.bill("clean") for kind in ("charged", "published"))
    assert frail.bill(release_id) == clean.bill("clean")
    with Ledger.open(frail.served.ledger, create=False) as ledger:
        ledger.verify(frail.name)
        assert ledger.run(frail.name, release_id).bill().state.closed


def assert_replayed(frail: Frail, release_id: str) -> None:
    """The release once more: it costs nothing, and is the same to the last bit, or it would have been refused."""
    model, bill = frail.model(release_id).read_bytes(), frail.bill(release_id)
    again = frail.served.await_run(frail.trigger(release_id))
    assert again.state_name == "Completed", again.state.message
    assert frail.model(release_id).read_bytes() == model
    assert frail.bill(release_id) == bill


def test_cancel_keeps_and_pays_what_was_published_and_nothing_else(frail):
    """Cancelled as the UI does it: the state says so, no model is stored; the same release id goes on later."""
    served = frail.served
    run = frail.trigger("cancelled")
    frail.await_answers("cancelled", 1)
    with served.client() as client:
        client.request("POST", f"/flow_runs/{run}/set_state", json={"state": {"type": "CANCELLING"}})
    asked = time.monotonic()
    assert served.await_run(run).state_name == "Cancelled"
    print(f"cancelled after {time.monotonic() - asked:.1f} s")
    left, answers = frail.records("cancelled"), frail.answers("cancelled")
    kinds = Counter(kind for kind, _ in left)
    assert 1 <= kinds["published"] < len(frail.bill("clean"))
    assert kinds["charged"] - kinds["published"] in (0, 1)
    assert not frail.model("cancelled").exists()
    time.sleep(3)
    assert frail.records("cancelled") == left
    with Ledger.open(served.ledger, create=False) as ledger:
        assert ledger.run(frail.name, "cancelled").bill().state.charged.main == sum(frail.bill("cancelled").values())

    free_the_slot(frail)
    assert served.await_run(frail.trigger("cancelled")).state_name == "Completed"
    assert frail.answers("cancelled").items() >= answers.items()
    assert_one_set_of_charges(frail, "cancelled", frail)


def test_a_killed_run_is_run_again_at_the_price_of_one(frail):
    """kill -9 of the flow's process: the worker reports it and lives, and another run goes on where it stopped."""
    served = frail.served
    run = frail.trigger("killed")
    frail.await_answers("killed", 1)
    for pid in flow_processes(served.worker, run):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    answers = frail.answers("killed")
    assert len(answers) < len(frail.bill("clean"))
    assert served.await_run(run).state_name == "Crashed"
    free_the_slot(frail)
    assert served.await_next(run, frail.deployment).state_name == "Completed", served.worker_log()
    assert frail.answers("killed").items() >= answers.items()
    assert_one_set_of_charges(frail, "killed", frail)
    assert psutil.pid_exists(served.worker)
    assert len([each for each in served.runs(frail.deployment) if each.parameters["parameters"].get("resumes")]) == 1
    assert_replayed(frail, "killed")


def free_the_slot(frail: Frail) -> None:
    """What docs/operations.md tells operators to do where they do not want to wait for the lease to run out."""
    prefect(frail.served, "gcl", "update", f"private-{frail.name}", "--active-slots", 0)


def test_a_worker_that_was_killed_in_mid_run_is_replaced_at_the_price_of_one_run(orphaned, frail):
    """kill -9 of worker and run: the server notices by the missing heartbeat; a new worker takes what it makes."""
    lost, run, answers, log = orphaned
    served = lost.served
    assert 1 <= len(answers) < len(frail.bill("clean"))
    eventually(lambda: state(served, run) == "Crashed", "the server notices that the run is dead", seconds=240)
    with working(served, lost.pool, log):
        assert served.await_next(run, lost.deployment).state_name == "Completed", log.read_text()[-3000:]
        assert lost.answers("r1").items() >= answers.items()
        assert_one_set_of_charges(lost, "r1", frail)
        assert_replayed(lost, "r1")


def state(served: Served, run) -> str:
    """Name of a run's state."""
    with served.client() as client:
        return client.read_flow_run(run).state_name
