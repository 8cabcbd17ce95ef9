"""Are the triggers there that keep the ledger append-only, and are they what the migrations made?

Whoever owns the database can take them away, and then change rows without a trace that a reader sees at once.
A ledger without them opens for reading only.
"""

import sqlalchemy as sa

from pubpriv.privacy.ledger.migrations import triggers

_OF_SQLITE = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")

_OF_POSTGRESQL = sa.text(
    "SELECT t.tgname, c.relname || ' ' || t.tgtype || ' ' || p.prosrc FROM pg_trigger t "
    "JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
    "WHERE c.oid IN ('records'::regclass, 'datasets'::regclass) AND NOT t.tgisinternal "
    "AND t.tgenabled IN ('O', 'A') AND t.tgqual IS NULL"
)
"""Those that fire: on which table, when (the bits of `tgtype`), and what they run."""


def missing(connection: sa.Connection) -> list[str]:
    """Names of triggers that are gone, disabled, or other ones."""
    dialect = connection.dialect.name
    found = {str(name): str(text) for name, text in connection.execute(_OF[dialect])}
    return sorted(name for name, text in triggers.expected(dialect).items() if found.get(name) != text)


_OF = {"sqlite": _OF_SQLITE, "postgresql": _OF_POSTGRESQL}
