"""Rights of PostgreSQL roles on a ledger: one may append, one may read, and only the owner migrates."""

import sqlalchemy as sa

from pubpriv.errors import InvalidInput
from pubpriv.privacy.ledger._database import connect

_KNOWN = sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name")


def grant(url: object, writer: str | None, reader: str | None) -> list[str]:
    """Make the tables if they are missing, and give two roles exactly the rights that they need.

    Args:
        url: URL of the ledger, for the role that owns its tables.
        writer: role of workers, which may append, but not change, delete or truncate records.
        reader: role of auditors.

    Returns:
        The statements that were run.

    Raises:
        InvalidInput: not PostgreSQL, or a role that does not exist.
        Unavailable: the database does not answer, or this role may not grant rights.
    """
    database = connect(url, create=True)
    try:
        if database.address.kind != "postgresql":
            raise InvalidInput(f"{database.address.shown} is a file: roles are for a ledger in PostgreSQL")
        quoted = database.engine.dialect.identifier_preparer.quote
        with database.transaction() as connection:
            for name in (writer, reader):
                if name is not None and connection.execute(_KNOWN, {"name": name}).first() is None:
                    raise InvalidInput(f"there is no role {name!r}: make it first, with `createuser --pwprompt {name}`")
            statements = []
            for name, rights in ((writer, "SELECT, INSERT"), (reader, "SELECT")):
                if name is not None:
                    whole = f"ALL ON ALL TABLES IN SCHEMA public FROM {quoted(name)}"
                    statements += [
                        f"REVOKE {whole}",
                        f"GRANT {rights} ON ALL TABLES IN SCHEMA public TO {quoted(name)}",
                    ]
            if writer is not None:
                # for its row lock only: a trigger refuses every update
                statements.append(f"GRANT UPDATE ON datasets TO {quoted(writer)}")
            for statement in statements:
                connection.execute(sa.text(statement))
            return statements
    finally:
        database.close()
