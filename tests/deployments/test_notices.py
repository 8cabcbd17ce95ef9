"""`notify` in a file: automations that are made, changed and deleted with it, and messages that arrive."""

from uuid import uuid4

import pytest

from pubpriv.deployments._notices import Subject, Target, notices
from pubpriv.deployments.files import read
from pubpriv.deployments.register import register, server
from pubpriv.deployments.render import render
from pubpriv.errors import InvalidInput

TEXT = """\
dataset: {name}
unit: one patient
cap: zcdp:1
private: /data/private.parquet
public: /data/public.parquet
releases:
  - {{name: mean, estimator: mean, allotment: "zcdp:0.25"}}
"""


def automations(*kinds: str, is_dataset: bool = True):
    """What is made for these kinds, by what they are told of."""
    made = notices(
        Subject("visits", is_dataset, ("visits.mean",)), kinds, Target("slack-webhook/ops", uuid4()), {"pubpriv"}
    )
    return {each.name.partition("visits: ")[2]: each for each in made}


def test_a_refused_run_is_told_as_refused_or_as_failed_but_once():
    """One automation where both are asked for; else the message of the state tells the two apart."""
    assert list(automations("failed", "refused")) == ["failed, refused"]
    only = {kind: automations(kind)[kind].trigger.match.root["prefect.state-message"] for kind in ("failed", "refused")}
    assert only == {"failed": "!*BudgetExceeded: *", "refused": "*BudgetExceeded: *"}


def test_doubtful_numbers_are_told_of_a_dataset():
    """By the event that a run emits, and nobody is told by an audit."""
    made = automations("doubtful")["doubtful"]
    assert made.trigger.expect == {"pubpriv.release.doubtful"}
    assert made.trigger.match.root["prefect.resource.id"] == "pubpriv.dataset.visits"
    assert automations("doubtful", is_dataset=False) == {}


def test_an_audit_tells_of_ledgers_and_of_no_budget():
    """What it finds concerns any dataset; what a budget comes to is told by the dataset's own runs."""
    made = automations("low", "export-old", is_dataset=False)
    assert list(made) == ["export-old"]
    assert made["export-old"].trigger.match.root["prefect.resource.id"] == "pubpriv.dataset.*"
    assert list(automations("low", is_dataset=False)) == []


@pytest.fixture
def told(prefect_server):
    """A block of the server that notifies."""
    from prefect.blocks.webhook import Webhook

    name = f"ops-{uuid4().hex[:8]}"
    Webhook(url="http://127.0.0.1:9/nobody").save(name)
    return f"webhook/{name}"


@pytest.fixture
def deployed(tmp_path):
    """Registers a file; gives what became of its automations."""
    name = f"told-{uuid4().hex[:8]}"

    def deploy(notify: str, **options):
        (tmp_path / "visits.yaml").write_text(TEXT.format(name=name) + notify)
        with server() as client:
            outcomes = register(client, render([read(tmp_path / "visits.yaml")]), **options)
        return {each.what.rpartition(": ")[2].strip("'"): each.result for each in outcomes if "notice" in each.what}

    return name, deploy


@pytest.mark.prefect
def test_automations_follow_the_file(told, deployed):
    """Created once, unchanged the second time, told and not made by a dry run, deleted when the file asks no more."""
    _, deploy = deployed
    text = f"notify: [{{block: {told}, on: [crashed, low]}}]\n"
    assert deploy(text, dry_run=True) == {"crashed": "created", "low": "created"}
    assert deploy(text) == {"crashed": "created", "low": "created"}
    assert deploy(text) == {"crashed": "unchanged", "low": "unchanged"}
    assert deploy(text.replace("low", "failed"), dry_run=True)["low"] == "removed"
    assert deploy(text.replace("low", "failed")) == {"crashed": "unchanged", "failed": "created", "low": "removed"}
    assert deploy("") == {"crashed": "removed", "failed": "removed"}


@pytest.mark.prefect
def test_a_block_that_is_not_there_is_refused_before_anything_is_made(prefect_server, deployed):
    """The message names the block and where to make it."""
    name, deploy = deployed
    with pytest.raises(InvalidInput, match="this server has no block slack-webhook/nowhere"):
        deploy("notify: [{block: slack-webhook/nowhere}]\n")
    with server() as client:
        assert name not in {each.name.partition(".")[0] for each in client.read_deployments()}
