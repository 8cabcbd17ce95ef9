"""A plan, a release, its page and the ledger, by clicks: the commands are real, in processes of their own."""

import re
import time

import pytest
from helpers.desk import CANARY, HOME, client, entry

import pubpriv as pp

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBPRIV_LEDGER", f"sqlite:///{folder / 'ledger.db'}")
        patch.delenv("PREFECT_API_URL", raising=False)
        yield entry(folder)


def sent(browser, path, **fields):
    """Send a form; the address that it leads to."""
    answer = browser.post(path, data=fields, headers={"origin": HOME})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def ended(browser, run):
    """The page of a command when it has ended."""
    while not browser.get(f"{run}/progress").json()["done"]:
        time.sleep(0.2)
    return browser.get(run).text


def test_a_release_by_clicks(visits, tmp_path):
    """What a plan foretells is released, paid for once, and read."""
    with client({"visits": visits}, tmp_path) as browser:
        assert "2 of 2 rho left" in browser.get("/").text
        plan = sent(browser, "/datasets/visits/plan/mean", budget="zcdp:0.1")
        planned = ended(browser, plan)
        assert "Predicted errors" in planned
        assert "2 of 2 rho left" in browser.get("/").text
        release = sent(browser, f"{plan}/release", in_spite="yes")
        released = ended(browser, release)
        assert "Released, for 0.1 rho" in released
        link = re.search(r'href="(/datasets/visits/releases/[^"/]+)"', released)[1]
        report = browser.get(link)
        assert report.status_code == 200
        assert report.headers["content-security-policy"].startswith("sandbox")
        assert "1.9 of 2 rho left" in browser.get("/datasets/visits").text
        model = browser.get(f"{link}/model")
        assert model.json()["provenance"]["dataset"] == "visits"
        assert not any(str(CANARY) in page for page in (planned, released, report.text, model.text))


def test_a_plan_that_cannot_be_says_why(visits, tmp_path):
    """And what a command refuses costs nothing."""
    with client({"visits": visits}, tmp_path) as browser:
        shown = ended(browser, sent(browser, "/datasets/visits/plan/gaussian", budget="zcdp:much"))
        assert 'role="alert"' in shown
        assert "much" in shown
        form = browser.get(re.search(r'href="([^"]+[?]of=[^"]+)"', shown)[1]).text
    assert 'value="zcdp:much"' in form


def test_a_release_that_was_stopped_goes_on_under_its_name(visits, tmp_path):
    """Its command is ended at once, and the release is paid for once."""
    with pp.Ledger.open(f"sqlite:///{visits.file.with_name('ledger.db')}") as ledger:
        before = ledger.balance("visits").spent
    with client({"visits": visits}, tmp_path) as browser:
        plan = sent(browser, "/datasets/visits/plan/gaussian", budget="zcdp:0.2")
        ended(browser, plan)
        first = sent(browser, f"{plan}/release", in_spite="yes")
        assert sent(browser, f"{first}/stop") == first
        assert "Go on with this release" in browser.get(first).text
        again = sent(browser, f"{first}/resume", in_spite="yes")
        assert "Released" in ended(browser, again)
        names = [re.search(r"--release-id=(\S+)", browser.get(run).text)[1] for run in (first, again)]
        assert names[0] == names[1]
    with pp.Ledger.open(f"sqlite:///{visits.file.with_name('ledger.db')}") as ledger:
        spent = (ledger.balance("visits").spent - before).main
    assert spent == pytest.approx(0.2 * pp.privacy.units.UNIT, rel=1e-6)
