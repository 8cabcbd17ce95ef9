"""Rights of PostgreSQL's roles on a ledger: one appends, one reads, and only the owner migrates."""

import sqlalchemy as sa

from pubpriv.errors import InvalidInput
from pubpriv.privacy.ledger._database import connect

_KNOWN = sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name")


def grant(url: object, writer: str | None, reader: str | None) -> list[str]:
    """Make the tables if they are missing, and give two roles the rights that they need and no others.

    Args:
        url: of the ledger, as the role that owns its tables.
        writer: of workers: it may append, and neither change, delete nor truncate a record.
        reader: of auditors.

    Returns:
        The statements that were run.

    Raises:
        InvalidInput: no PostgreSQL, or a role that is not there.
        Unavailable: the database does not answer, or this role may not give rights.
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
