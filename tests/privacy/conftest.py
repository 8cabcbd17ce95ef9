"""Ledgers in both kinds of database: what a test asks of `store` it shows of SQLite and of PostgreSQL."""

import pytest
from helpers import stores

from pubpriv.privacy.ledger.witness import VARIABLE


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Ledgers in SQLite files."""
    return stores.Files(tmp_path_factory.mktemp("ledgers"))


@pytest.fixture(params=stores.KINDS)
def store(request):
    """Where ledgers are."""
    return request.getfixturevalue({"sqlite": "files", "postgresql": "postgres"}[request.param])


@pytest.fixture
def new_ledger_url(store):
    """Makes URLs of ledgers without datasets."""
    return lambda: store.copied(stores.empty)


@pytest.fixture
def ledger_url(new_ledger_url):
    """One such URL."""
    return new_ledger_url()


@pytest.fixture(autouse=True)
def no_witness(monkeypatch):
    """None from the environment."""
    monkeypatch.delenv(VARIABLE, raising=False)
