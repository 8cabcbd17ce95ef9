"""Roles of a ledger in PostgreSQL: a writer appends and does nothing else, a reader reads."""

import secrets

import numpy as np
import pytest
import sqlalchemy as sa
from helpers.stores import raw
from typer.testing import CliRunner

from pubpriv import Curator, Ledger, PrivateTable, PublicTable, estimate_mean
from pubpriv.cli.main import app
from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger.roles import grant


def _roles(url):
    """New roles for a database, and their URLs."""
    parsed = sa.make_url(url)
    names = [f"{kind}_{secrets.token_hex(4)}" for kind in ("writer", "reader")]
    with raw(url) as connection:
        for name in names:
            connection.execute(sa.text(f"CREATE ROLE {name} LOGIN PASSWORD 'word'"))
    return names, [parsed.set(username=name, password="word").render_as_string(hide_password=False) for name in names]


@pytest.fixture(scope="module")
def guarded(postgres, tmp_path_factory):
    """A ledger with a dataset, and the URLs of its owner, writer and reader."""
    import pandas as pd

    owner = postgres.new_url()
    (writer, reader), urls = _roles(owner)
    done = CliRunner().invoke(app, ["ledger", "grant", "--writer", writer, "--reader", reader, "--ledger", owner])
    assert done.exit_code == 0, done.output
    assert "GRANT UPDATE ON datasets" in done.output
    path = tmp_path_factory.mktemp("roles") / "rows.parquet"
    pd.DataFrame(np.random.default_rng(5).normal(size=(500, 2)), columns=["a", "b"]).to_parquet(path)
    with Ledger.open(owner) as ledger:
        ledger.register("people", budget=ZeroConcentratedDP(1.0), table=PrivateTable.open(path, ["a", "b"]), unit="one")
    return path, owner, *urls


def test_a_fit_runs_as_the_writer(guarded):
    """It charges and publishes with the rights to append."""
    path, _, writer, _ = guarded
    public = PublicTable.open(np.random.default_rng(6).normal(size=(20, 2)), ["a", "b"])
    with (
        Ledger.open(writer, create=False) as ledger,
        Curator(PrivateTable.open(path, ["a", "b"]), ledger, "people", "zcdp:0.1", "r1") as curator,
    ):
        assert estimate_mean(public, curator).mean.shape == (2,)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE records SET body = '{}'", "DELETE FROM records", "TRUNCATE records", "DROP TABLE records"],
)
def test_the_writer_changes_no_record(guarded, statement):
    """Neither by the statement nor, with the rights of an owner, past the triggers."""
    _, owner, writer, _ = guarded
    with pytest.raises(sa.exc.ProgrammingError, match=r"permission denied|must be owner"), raw(writer) as connection:
        connection.execute(sa.text(statement))
    if "DROP" not in statement:
        with pytest.raises(sa.exc.DBAPIError), raw(owner) as connection:
            connection.execute(sa.text(statement))


def test_a_reader_verifies_and_exports_but_does_not_charge(guarded, tmp_path):
    """What an auditor runs works; a registration is refused."""
    _, _, _, reader = guarded
    with Ledger.open(reader, create=False) as ledger:
        assert ledger.verify("people").records > 0
        ledger.export(tmp_path / "books.jsonl", [])
        with pytest.raises(Unavailable, match="permission denied"):
            ledger.register("others", budget=ZeroConcentratedDP(1.0), unit="one")


def test_rights_are_refused_with_a_word(guarded, tmp_path):
    """A role that is not there, a file, no role at all: each says what to do."""
    _, owner, _, _ = guarded
    with pytest.raises(InvalidInput, match="createuser --pwprompt nobody_here"):
        grant(owner, "nobody_here", None)
    with pytest.raises(InvalidInput, match="is a file: roles are for"):
        grant(f"sqlite:///{tmp_path}/ledger.db", "writer", None)
    with pytest.raises(InvalidInput, match="name a role"):
        CliRunner().invoke(app, ["ledger", "grant", "--ledger", owner], catch_exceptions=False)
