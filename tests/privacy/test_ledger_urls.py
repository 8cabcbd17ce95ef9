"""Ledger URLs: passwords reach the driver and nothing else."""

import os
import pickle
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from helpers.stores import PASSWORD, raw

from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.privacy.ledger import Ledger, urls

SECRET = "hunter2/@:"
URL = "postgresql://ann:hunter2%2F%40%3A@db.example:5433/ledger?sslmode=require"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    """No password from an earlier test, and none in the environment."""
    monkeypatch.setattr(urls, "_passwords", {})
    monkeypatch.delenv(urls.VARIABLE, raising=False)


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgres"])
def test_one_ledger_has_one_name_without_its_password(scheme):
    """However the scheme is written, what is shown is the same and holds no secret."""
    address = urls.understand(URL.replace("postgresql", scheme))
    assert address.shown == "postgresql://ann@db.example:5433/ledger?sslmode=require"
    assert address.url.password == SECRET
    assert "hunter2" not in f"{address} {address!r} {address.url} {address.url!r}"
    assert address.masked(f"could not use {SECRET} here") == "could not use *** here"


def test_what_is_shown_opens_again_in_this_process():
    """A task of the same process gets the URL without its password, and the driver gets the password."""
    shown = urls.without_password(URL)
    assert "hunter2" not in shown
    assert urls.understand(shown).url.password == SECRET


def test_another_process_finds_the_password_in_its_environment(monkeypatch):
    """The same URL in `PUBPRIV_LEDGER` supplies it; the URL of another ledger does not."""
    shown = "postgresql://ann@db.example:5433/ledger?sslmode=require"
    assert urls.understand(shown).url.password is None
    monkeypatch.setenv(urls.VARIABLE, URL.replace("5433", "5434"))
    assert urls.understand(shown).url.password is None
    monkeypatch.setenv(urls.VARIABLE, URL)
    assert urls.understand(shown).url.password == SECRET


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:hunter2@h/db",
        "postgresql://ann:hunter2@h",
        "postgresql://ann:hunter2@h:port/db",
        "postgresql://ann@h/db?password=hunter2",
        "postgresql://ann@h/db?sslpassword=hunter2",
        "postgresql://ann@h/db?options=-cfsync%3Dhunter2",
        "postgresql://ann:pa@hunter2@h/db",
        "postgresql://ann:hun@hunter2@h:5432/db",
        "postgresql://ann:p@h/hunter2:x@h/db?sslmode=require",
        "postgresql://ann%3Ahunter2@h/db",
        "postgresql://ann:hunter2/db",
        "postgresql://ann:hunter2",
        "postgresql:/ann:hunter2@h/db",
        "Postgresql://ann:hunter2/db",
        " postgresql://ann:hunter2@h/db",
        "postgresql://ann@h/db?host=u:hunter2%40h",
        "postgresql://ann@h/db?sslmode=require&password=a@hunter2",
        "postgresql://ann@h/db?sslmode=require&hunter2=1",
        "postgresql://ann@h/db?password=a&hunter2=b",
        "mysql://h/db?password=hunter2",
        "mysql://h/db?user=a&password=b&hunter2",
        "sqlite://ann:hunter2",
        "sqlite:///ledger.db?key=hunter2",
        "ann:hunter2@h/db",
        "host=h password=hunter2",
    ],
)
def test_a_url_that_is_refused_is_refused_without_its_password(url):
    """Bad input, and nothing that could be a secret in the message."""
    with pytest.raises(InvalidInput) as refused:
        Ledger.open(url)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("password", ["made@up", "a@b/c:d", "@", "x@y?z=1", "ends@"])
def test_a_password_with_an_unescaped_sign_is_refused_with_what_to_do(password, monkeypatch):
    """Where the password ends is not guessed: a part of it would be taken for the host, and shown with it.

    Encoded as the message says, the whole of it reaches the driver.
    """
    with pytest.raises(InvalidInput, match="%40 for @") as refused:
        urls.understand(f"postgresql://ann:{password}@db.example/ledger")
    assert "postgresql://ann@db.example/ledger has a second @" in str(refused.value)
    encoded = urls.understand(f"postgresql://ann:{quote(password, safe='')}@db.example/ledger")
    assert (encoded.url.password, encoded.shown) == (password, "postgresql://ann@db.example/ledger")
    monkeypatch.setenv(urls.VARIABLE, f"postgresql://ann:{password}@db.example/ledger")
    assert urls.understand("postgresql://bob@db.example/ledger").url.password is None  # no word about the other URL


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///folder/ledger.db", "sqlite:///{0}/folder/ledger.db"),
        ("sqlite:///../ledger.db", "sqlite:///{1}/ledger.db"),
        ("sqlite:////absolute/ledger.db", "sqlite:////absolute/ledger.db"),
        ("sqlite:///~/ledger.db", "sqlite:///{2}/ledger.db"),
    ],
)
def test_the_path_of_an_sqlite_ledger_is_shown_from_the_root(url, shown, tmp_path, monkeypatch):
    """What is printed on a page, or in a command to copy, is used in other folders too."""
    monkeypatch.chdir(tmp_path)
    wanted = shown.format(tmp_path, tmp_path.parent, os.path.expanduser("~"))
    assert urls.without_password(url) == wanted
    assert urls.without_password(wanted) == wanted


def test_a_wrong_password_is_told_without_any(postgres):
    """The server's refusal names the user and what to do; no form of the password."""
    with pytest.raises(Unavailable, match="PUBPRIV_LEDGER") as refused:
        Ledger.open(postgres.url("postgres", "wr0ng/word"))
    assert "wr0ng" not in f"{refused.value} {refused.value.__context__} {refused.value.__cause__}"


def test_a_database_that_is_not_there_and_one_of_something_else(postgres):
    """Exit 5 with what to do; exit 2 where the database belongs to others."""
    with pytest.raises(Unavailable, match="createdb"):
        Ledger.open(postgres.url("nowhere"))
    url = postgres.new_url()
    with pytest.raises(InvalidInput, match="budget set"):
        Ledger.open(url, create=False)
    with raw(url) as connection:
        connection.execute(sa.text("CREATE TABLE other (name TEXT)"))
    with pytest.raises(InvalidInput, match="database of its own"):
        Ledger.open(url)


def test_no_handle_carries_a_password(postgres):
    """What travels to tasks, and what a ledger says of itself, opens here and holds no secret."""
    with Ledger.open(postgres.new_url()) as ledger:
        told = f"{ledger.url} {ledger.reference} {pickle.dumps(ledger.reference)!r}"
        assert PASSWORD not in told
        assert "ss%40word" not in told
        with Ledger.open(ledger.reference, create=False) as again:
            assert again.datasets() == []
        assert PASSWORD not in os.environ.get(urls.VARIABLE, "")
