"""What an operator sees in the UI, in a headless browser: steps, cached public ones, artifacts, a form that refuses.

Pictures of every page are in `test-screenshots/` afterwards: they are there to be looked at.
"""

import re
import secrets
from urllib.parse import urlsplit

import pytest
from helpers.served import PATIENCE, Served
from helpers.waiting import eventually

pytestmark = [pytest.mark.operate, pytest.mark.timeout(600)]

PUBLIC = ("ingest public table", "precondition", "superclustering", "public model")
PRIVATE = ("ingest private table", "partition", "per-component estimation", "model choice")


@pytest.fixture(scope="module")
def two_runs(served: Served):
    """Two finished runs of the mixture, two releases of their own."""
    runs = []
    for release_id in (f"browser-{secrets.token_hex(3)}" for _ in range(2)):
        run = served.await_run(served.trigger("visits.mixture", release_id=release_id))
        assert run.state_name == "Completed", f"{run.state.message}\n{served.worker_log()}"
        runs.append(run)
    return runs


def steps(text: str) -> dict[str, str]:
    """Titles of task runs in the list of a flow run, without numbers and suffixes that some have, and their states."""
    title, state = (
        r"^(?:\d+\. )?(.+?)(?: \d+ of \d+.*?)?(?: \[private\])?(?:-[0-9a-f]{3})?",
        r"\n(Completed|Cached|Failed|Crashed|Running|Pending)$",
    )
    return dict(re.findall(title + state, text, flags=re.MULTILINE))


def only_ours(requests: list[str], served: Served) -> bool:
    """Nobody but the server of the page was asked for anything."""
    asked = [urlsplit(request) for request in requests]
    return {url.netloc for url in asked if url.scheme not in ("data", "blob")} == {urlsplit(served.ui).netloc}


def test_the_page_of_a_run_shows_its_steps_by_name(browser, served, two_runs):
    """Each step has a name that says what it does; a graph and logs are there; no other host is asked."""
    with browser.open(f"{served.ui}/runs/flow-run/{two_runs[0].id}", 1400, 1000) as seen:
        seen.page.get_by_text("Completed", exact=True).first.wait_for()
        seen.page.wait_for_timeout(3000)  # the graph draws itself
        seen.shot("run-graph")
        seen.page.get_by_text("Task Runs", exact=True).first.click()
        seen.page.get_by_text(re.compile(r"^1\. ingest public table")).first.wait_for()
        seen.shot("run-first-steps")
        found = steps(seen.text())
        assert {*PUBLIC, *PRIVATE} <= found.keys()
        assert set(found.values()) <= {"Completed", "Cached"}
        assert only_ours(seen.requests, served)


def test_public_steps_of_the_second_run_are_cached(browser, served, two_runs):
    """What was computed from the public table alone is found again; what asks the private one is not cached."""
    with browser.open(f"{served.ui}/runs/flow-run/{two_runs[1].id}", 1400, 1000) as seen:
        seen.page.get_by_text("Task Runs", exact=True).first.click()
        seen.page.get_by_text(re.compile(r"^1\. ingest public table")).first.wait_for()
        seen.shot("run-second-steps")
        found = steps(seen.text())
        assert {name: found[name] for name in PUBLIC} == dict.fromkeys(PUBLIC, "Cached")
        assert {name: found[name] for name in PRIVATE} == dict.fromkeys(PRIVATE, "Completed")


def artifacts(served: Served, run) -> dict[str, str]:
    """Keys of a run's artifacts, and their identities."""
    with served.client() as client:
        body = {"artifacts": {"flow_run_id": {"any_": [str(run.id)]}}, "limit": 100}
        found = client.request("POST", "/artifacts/filter", json=body).json()
    return {each["key"]: each["id"] for each in found if each["key"]}


def test_artifacts_open(browser, served, two_runs):
    """Each artifact of a run opens and shows something; the statement says what is guaranteed, with its numbers."""
    found = artifacts(served, two_runs[0])
    assert {"visits--mixture--privacy", "visits--mixture--charges", "visits--mixture--components"} <= found.keys()
    for key, identity in found.items():
        with browser.open(f"{served.ui}/artifacts/artifact/{identity}", 1400, 1000) as seen:
            seen.page.get_by_text(key, exact=True).first.wait_for()
            seen.page.wait_for_load_state("networkidle")
            seen.shot(f"artifact-{key}")
            text = seen.text()
            assert only_ours(seen.requests, served)
        if key == "visits--mixture--privacy":
            assert "neighbouring" in text
            assert two_runs[0].name.removeprefix("visits-") in text


@pytest.mark.parametrize("components", ["999", "0"])
def test_the_form_refuses_a_bad_number_of_components(browser, served, components):
    """The message names the field, the value and the bound, and no run is made."""
    sync_api = pytest.importorskip("playwright.sync_api")
    deployment = served.deployment("visits.mixture")
    before = {run.id for run in served.runs("visits.mixture")}
    with browser.open(f"{served.ui}/deployments/deployment/{deployment.id}/run", 1400, 1000) as seen:
        field = seen.page.locator(".p-label", has_text="Number of mixture components").last.locator("input")
        sync_api.expect(field).to_have_value("2")  # what the deployment has; before that, the form is not ready
        seen.shot("form")
        field.fill(components)
        seen.page.get_by_role("button", name="Submit").click()
        bound = "greater than the maximum" if components == "999" else "less than the minimum"
        said = seen.page.get_by_text(re.compile(f"{components} is {bound} of [0-9]+")).first
        said.wait_for()
        seen.page.wait_for_timeout(800)  # it fades in
        seen.shot(f"form-refuses-{components}", whole=False)
        assert "components" in said.inner_text()
    assert {run.id for run in served.runs("visits.mixture")} == before


def test_the_form_as_it_is_starts_a_run(browser, served):
    """Nothing has to be filled in: what the deployment has is right, and the server takes it."""
    sync_api = pytest.importorskip("playwright.sync_api")
    deployment = served.deployment("visits.mean")
    before = {run.id for run in served.runs("visits.mean")}
    with browser.open(f"{served.ui}/deployments/deployment/{deployment.id}/run", 1400, 1000) as seen:
        field = seen.page.locator(".p-label", has_text="Allotment of this run").last.locator("textarea")
        sync_api.expect(field).to_have_value("zcdp:0.1")
        seen.page.wait_for_timeout(3000)  # the page asks about deployment and pool before it takes a click
        seen.page.get_by_role("button", name="Submit").click()
        eventually(lambda: len(served.runs("visits.mean")) > len(before), "a run is made", PATIENCE)
    (run,) = (run for run in served.runs("visits.mean") if run.id not in before)
    assert served.await_run(run.id).state_name == "Completed", served.worker_log()


def test_the_form_says_what_each_field_means(browser, served):
    """Every field of the form has a description under it."""
    deployment = served.deployment("visits.mixture")
    schema = deployment.parameter_openapi_schema["definitions"]["MixtureParameters"]["properties"]
    with browser.open(f"{served.ui}/deployments/deployment/{deployment.id}/run", 1400, 1000) as seen:
        for field in schema.values():
            seen.page.get_by_text(" ".join(field["description"].split())).first.wait_for()


def test_pages_of_the_whole_can_be_looked_at(browser, served, two_runs):
    """Dashboard, deployments, automations, slots and events open; nothing on them asks another host."""
    for page, word in {
        "dashboard": "Flow Runs",
        "deployments": "visits.mixture",
        "automations": "pubpriv: pause a deployment",
        "concurrency-limits": "private-visits",
        "events": "Event",
    }.items():
        with browser.open(f"{served.ui}/{page}", 1400, 1000) as seen:
            seen.page.get_by_text(re.compile(word)).first.wait_for()
            seen.page.wait_for_timeout(1500)
            seen.shot(f"ui-{page}")
            assert only_ours(seen.requests, served), page
