"""Messages that arrive at a web server of ours: what befalls a dataset's runs and its budget, once each."""

import pytest
from helpers.datasets import MEAN, write_dataset
from helpers.served import PATIENCE, Served
from helpers.tables import write_groups
from helpers.waiting import eventually
from helpers.webhook import Inbox, inbox

pytestmark = [pytest.mark.operate, pytest.mark.timeout(600)]

NOTIFY = [{"block": "webhook/on-call"}, {"block": "custom-webhook/budgets", "on": ["exhausted"]}]


@pytest.fixture(scope="module")
def told(served: Served, tmp_path_factory):
    """A deployed dataset, and what arrives at the two blocks that its file names."""
    from prefect.blocks.notifications import CustomWebhookNotificationBlock
    from prefect.blocks.webhook import Webhook
    from prefect.settings import PREFECT_API_URL, temporary_settings

    folder = tmp_path_factory.mktemp("told")
    write_groups(folder, "told", 5)
    file = write_dataset(served.datasets, "told", folder, "zcdp:0.1", MEAN, notify=NOTIFY)  # pays for one run
    with inbox() as everything, inbox() as budgets:
        with temporary_settings({PREFECT_API_URL: served.api}):
            Webhook(url=everything.url).save("on-call")
            parts = {"subject": "{{subject}}", "body": "{{body}}"}
            CustomWebhookNotificationBlock(name="budgets", url=budgets.url, json_data=parts).save("budgets")
        done = served.run("deploy", file, "--set-budget")
        assert done.returncode == 0, done.stdout + done.stderr
        yield served, everything, budgets


def arrived(received: Inbox, words: str) -> list[str]:
    """Bodies of messages about something, once there is one."""
    eventually(lambda: bool(received.about(words)), f"a message about {words}", PATIENCE)
    return [each["body"] for each in received.about(words)]


def test_a_budget_that_ends_is_told_with_the_refusal_and_by_name_of_block(told):
    """The first run leaves too little for another, the second is refused: three messages to one, one to the other."""
    served, everything, budgets = told
    assert served.await_run(served.trigger("told.mean", release_id="one")).state_name == "Completed"
    (low,) = arrived(everything, "pubpriv.budget.low: told")
    assert "room for 0 more runs" in low
    refused = served.await_run(served.trigger("told.mean", release_id="two"))
    (failed,) = arrived(everything, "told-two Failed")
    assert "BudgetExceeded: the allotment does not fit" in failed
    assert f"/runs/flow-run/{refused.id}" in failed
    for received in (everything, budgets):
        (exhausted,) = arrived(received, "pubpriv.budget.exhausted: told")
        assert "switch it on again" in exhausted
    assert (len(everything.messages), len(budgets.messages)) == (3, 1)


def test_a_run_that_fails_and_one_that_crashes_are_told_once_each(told):
    """A crash is reported by the run's own process and by the worker; settings that cannot be say which."""
    from prefect.states import Crashed

    served, everything, _ = told
    wrong = served.await_run(served.trigger("told.mean", release_id="three", columns=["nowhere"]))
    (failed,) = arrived(everything, f"{wrong.name} Failed")
    assert "nowhere" in failed
    with served.client() as client:
        run = client.create_flow_run_from_deployment(served.deployment("told.mean").id)
        for who in ("", ", says the worker"):
            client.set_flow_run_state(run.id, Crashed(message=f"killed{who}"), force=True)
    assert arrived(everything, f"{run.name} Crashed") == [everything.about("Crashed")[0]["body"]]
