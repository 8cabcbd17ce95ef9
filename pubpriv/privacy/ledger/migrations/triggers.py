"""Triggers that keep the ledger append-only, as SQL for each database, and a check that they exist.

Revisions make them; a released revision never changes. The owner of the database can drop them, and then change rows
without a trace that a reader sees at once. So a ledger without them is open for reading only.
"""

import sqlalchemy as sa

_APPEND_ONLY = "the ledger is append-only"

_TABLES, _VERBS = ("records", "datasets"), ("UPDATE", "DELETE")

ONCE = (("charged", "key"), ("published", "key"), ("opened", "release_id"), ("closed", "release_id"))
"""Kinds and columns: at most one record of the kind has the same value in the column."""

_TAKEN = " OR ".join(
    f"(NEW.kind = '{kind}' AND EXISTS (SELECT 1 FROM records r WHERE r.dataset = NEW.dataset "  # noqa: S608
    f"AND r.kind = '{kind}' AND r.{column} = NEW.{column}))"
    for kind, column in ONCE
)
_NEXT = "(SELECT COALESCE(MAX(r.seq) + 1, 0) FROM records r WHERE r.dataset = NEW.dataset)"
_NOT_AT_END = f"NEW.seq <> {_NEXT} OR {_TAKEN}"
"""Condition: a record is not inserted at the end of its chain, or is a second one in the sense of `ONCE`."""

_CLOSED = "EXISTS (SELECT 1 FROM records r WHERE r.dataset = NEW.dataset AND r.kind = 'sealed')"
"""Condition: a record is inserted after the one that closed the books."""

_NAME_TAKEN = "EXISTS (SELECT 1 FROM datasets d WHERE d.name = NEW.name)"
"""Condition for SQLite only: PostgreSQL cannot replace a row by inserting one."""

_REFUSE = f"BEGIN RAISE EXCEPTION '{_APPEND_ONLY}'; END"
_BEFORE = {"INSERT": 7, "DELETE": 11, "UPDATE": 19, "TRUNCATE": 34}
"""PostgreSQL's codes (`tgtype`) of triggers before an event: for each row, or for the statement for TRUNCATE."""


def first_revision(dialect: str) -> list[str]:
    """Return statements that forbid updating and deleting rows."""
    return _prepare(dialect) + [
        statement for verb in _VERBS for table in _TABLES for statement in _never(dialect, table, verb)
    ]


def second_revision(dialect: str) -> list[str]:
    """Return statements that allow inserting rows only at the end of a chain."""
    at_end = _before_insert(dialect, "records", "records_at_end", _NOT_AT_END)
    once = _before_insert(dialect, "datasets", "datasets_once", _NAME_TAKEN) if dialect == "sqlite" else []
    return at_end + once


def fourth_revision(dialect: str) -> list[str]:
    """Return statements that forbid adding records to closed books."""
    return _before_insert(dialect, "records", "records_not_closed", _CLOSED)


def missing(connection: sa.Connection) -> list[str]:
    """Return the names of triggers that are missing, disabled, or not those of the newest revision."""
    dialect = connection.dialect.name
    found = {str(name): str(text) for name, text in connection.execute(_INSTALLED[dialect])}
    return sorted(name for name, text in _expected(dialect).items() if found.get(name) != text)


_INSTALLED = {
    "sqlite": sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"),
    "postgresql": sa.text(
        "SELECT t.tgname, c.relname || ' ' || t.tgtype || ' ' || p.prosrc FROM pg_trigger t "
        "JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE c.oid IN ('records'::regclass, 'datasets'::regclass) AND NOT t.tgisinternal "
        "AND t.tgenabled IN ('O', 'A') AND t.tgqual IS NULL"
    ),
}
"""Queries for active triggers; in PostgreSQL with table, event (bits of `tgtype`) and source."""


def _never(dialect: str, table: str, verb: str) -> list[str]:
    """Statements that make `verb` (UPDATE or DELETE) on `table` fail."""
    name = f"{table}_no_{verb.lower()}"
    if dialect == "sqlite":
        return [f"CREATE TRIGGER {name} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END"]
    return [f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only()"]


def _before_insert(dialect: str, table: str, name: str, wrong: str) -> list[str]:
    """Statements that make inserting a row into `table` fail if `wrong` holds."""
    head = f"CREATE TRIGGER {name} BEFORE INSERT ON {table}"
    if dialect == "sqlite":
        return [f"{head} WHEN {wrong} BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END"]
    function = f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {_unless(wrong)} $$"
    return [function, f"{head} FOR EACH ROW EXECUTE FUNCTION {name}()"]


def _prepare(dialect: str) -> list[str]:
    """Statements that `_never` needs once; in PostgreSQL also against TRUNCATE."""
    if dialect == "sqlite":
        return []
    function = f"CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ {_REFUSE} $$"
    return [function] + [
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()"
        for table in _TABLES
    ]


def _expected(dialect: str) -> dict[str, str]:
    """Return each trigger of the newest revision by name, in the form in which `_INSTALLED` reads it."""
    if dialect == "sqlite":
        made = [_never(dialect, table, verb)[0] for table in _TABLES for verb in _VERBS]
        made += _before_insert(dialect, "records", "records_at_end", _NOT_AT_END)
        made += _before_insert(dialect, "records", "records_not_closed", _CLOSED)
        made += _before_insert(dialect, "datasets", "datasets_once", _NAME_TAKEN)
        return {statement.split()[2]: statement for statement in made}
    kept = [(table, verb) for table in _TABLES for verb in (*_VERBS, "TRUNCATE")]
    made_of = {f"{table}_no_{verb.lower()}": f"{table} {_BEFORE[verb]}  {_REFUSE} " for table, verb in kept}
    added = {"records_at_end": _NOT_AT_END, "records_not_closed": _CLOSED}
    return made_of | {name: f"records {_BEFORE['INSERT']}  {_unless(wrong)} " for name, wrong in added.items()}


def _unless(wrong: str) -> str:
    return f"BEGIN IF {wrong} THEN RAISE EXCEPTION '{_APPEND_ONLY}'; END IF; RETURN NEW; END"
