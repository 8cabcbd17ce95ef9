"""Who may ask: a browser with the link or the cookie, from our own pages, under our own name."""

import pytest
from helpers.desk import CANARY, HOME, KEYS, client, entry

PAGES = ("/", "/datasets/visits", "/datasets/visits/plan/mean", "/static/web.css", "/runs/none", "/nothing")


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    return entry(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def stranger(visits, tmp_path):
    """A browser that was not let in."""
    with client({"visits": visits}, tmp_path, entered=False) as browser:
        yield browser


@pytest.fixture
def browser(visits, tmp_path):
    """A browser that was let in."""
    with client({"visits": visits}, tmp_path) as browser:
        yield browser


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_sees_nothing(stranger, page):
    """Neither what is there nor whether it is there."""
    answer = stranger.get(page)
    assert answer.status_code == 403
    assert "visits" not in answer.text


def test_the_link_lets_a_browser_in_and_leaves_no_token(stranger):
    """It goes on to a page whose address has no token; scripts and other sites do not get the cookie."""
    answer = stranger.get(f"/enter?token={KEYS.token}")
    assert answer.status_code == 200
    assert KEYS.token not in answer.text
    assert answer.headers["referrer-policy"] == "no-referrer"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert KEYS.token not in cookie
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "?token=", "?token=other", f"?token={KEYS.session}", f"?key={KEYS.token}"])
def test_another_link_lets_nobody_in(stranger, token):
    """Nor does the cookie's value as a token."""
    answer = stranger.get(f"/enter{token}")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert stranger.get("/").status_code == 403


@pytest.mark.parametrize("host", ["pubpriv.example:8765", "127.0.0.1", "127.0.0.1:80", "localhost:8766", ""])
def test_other_names_are_refused(browser, host):
    """A name that was made to mean this machine."""
    assert browser.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", [None, "null", "http://pubpriv.example", "http://localhost:8765", f"{HOME}.example"])
def test_forms_of_other_pages_are_refused(browser, origin):
    """And nothing is started."""
    headers = {} if origin is None else {"origin": origin}
    answer = browser.post("/datasets/visits/plan/mean", data={"budget": "zcdp:0.1"}, headers=headers)
    assert answer.status_code == 403
    assert "Since this server started" not in browser.get("/datasets/visits").text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(browser, method):
    assert browser.request(method, "/").status_code == 403


@pytest.mark.parametrize("page", [*PAGES, "/enter"])
def test_no_answer_tells_others_where_one_was(browser, page):
    """No referrer, nothing kept, no frame, no script but ours."""
    headers = browser.get(page).headers
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "'unsafe" not in headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["/static/../guard.py", "/static/%2e%2e/guard.py", "/static//etc/hostname", "/static/"]
)
def test_no_file_but_ours_is_served(browser, path):
    assert browser.get(path).status_code in (404, 405)


@pytest.mark.parametrize("name", ["..", "%2e%2e%2fvisits", "latest", "../../ledger.db", "*"])
def test_a_release_is_one_of_the_folder(browser, name):
    """Its name is looked up, and never a path."""
    assert browser.get(f"/datasets/visits/releases/{name}/model").status_code == 404


def test_a_long_form_is_not_read_to_its_end(browser):
    answer = browser.post("/datasets/visits/plan/mean", content=b"a" * 200_000, headers={"origin": HOME})
    assert answer.status_code == 413


def test_pages_hold_nothing_of_a_row(browser):
    for page in PAGES:
        assert str(CANARY) not in browser.get(page).text
