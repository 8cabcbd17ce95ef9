"""Ledgers in both kinds of database: what a test asks of `new_ledger_url` it shows of SQLite and of PostgreSQL."""

import itertools

import pytest
from helpers import stores

from pubpriv.privacy.ledger.witness import VARIABLE


@pytest.fixture(params=stores.KINDS)
def new_ledger_url(request, tmp_path):
    """Makes URLs of ledgers that do not exist yet."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").new_url
    numbers = itertools.count()
    return lambda: f"sqlite:///{tmp_path / 'folder' / f'ledger-{next(numbers)}.db'}"


@pytest.fixture
def ledger_url(new_ledger_url):
    """One such URL."""
    return new_ledger_url()


@pytest.fixture(autouse=True)
def no_witness(monkeypatch):
    """None from the environment."""
    monkeypatch.delenv(VARIABLE, raising=False)
