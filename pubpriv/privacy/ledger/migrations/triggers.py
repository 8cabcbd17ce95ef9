"""Triggers that keep the ledger append-only, in the words of each database, and whether they are there.

Revisions make them; what a released revision made never changes. Whoever owns the database can take them away, and then
change rows without a trace that a reader sees at once: a ledger without them opens for reading only.
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
"""A record that is inserted elsewhere than at the end of its chain, or a second one of a kind."""

_CLOSED = "EXISTS (SELECT 1 FROM records r WHERE r.dataset = NEW.dataset AND r.kind = 'sealed')"
"""A record that is inserted after the one which closed the books."""

_NAME_TAKEN = "EXISTS (SELECT 1 FROM datasets d WHERE d.name = NEW.name)"
"""SQLite only: PostgreSQL has no way to replace a row by inserting one."""

_REFUSE = f"BEGIN RAISE EXCEPTION '{_APPEND_ONLY}'; END"
_BEFORE = {"INSERT": 7, "DELETE": 11, "UPDATE": 19, "TRUNCATE": 34}
"""How PostgreSQL notes triggers before an event: for each row, or for the statement that empties a table."""


def first_revision(dialect: str) -> list[str]:
    """Make the statements after which no row is updated or deleted."""
    return _prepare(dialect) + [
        statement for verb in _VERBS for table in _TABLES for statement in _never(dialect, table, verb)
    ]


def second_revision(dialect: str) -> list[str]:
    """Make the statements after which rows are inserted at the end only."""
    at_end = _before_insert(dialect, "records", "records_at_end", _NOT_AT_END)
    once = _before_insert(dialect, "datasets", "datasets_once", _NAME_TAKEN) if dialect == "sqlite" else []
    return at_end + once


def fourth_revision(dialect: str) -> list[str]:
    """Make the statements after which nothing is added to books that are closed."""
    return _before_insert(dialect, "records", "records_not_closed", _CLOSED)


def missing(connection: sa.Connection) -> list[str]:
    """Name the triggers that are gone, disabled, or other ones than the newest revision's."""
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
"""Triggers that fire; in PostgreSQL on which table, when (the bits of `tgtype`), and what they run."""


def _never(dialect: str, table: str, verb: str) -> list[str]:
    """Statements after which `verb` (UPDATE or DELETE) on `table` fails."""
    name = f"{table}_no_{verb.lower()}"
    if dialect == "sqlite":
        return [f"CREATE TRIGGER {name} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END"]
    return [f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only()"]


def _before_insert(dialect: str, table: str, name: str, wrong: str) -> list[str]:
    """Statements after which inserting a row into `table` fails where `wrong`."""
    head = f"CREATE TRIGGER {name} BEFORE INSERT ON {table}"
    if dialect == "sqlite":
        return [f"{head} WHEN {wrong} BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END"]
    function = f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {_unless(wrong)} $$"
    return [function, f"{head} FOR EACH ROW EXECUTE FUNCTION {name}()"]


def _prepare(dialect: str) -> list[str]:
    """What `never` needs, once; a table in PostgreSQL can also be emptied as a whole."""
    if dialect == "sqlite":
        return []
    function = f"CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ {_REFUSE} $$"
    return [function] + [
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()"
        for table in _TABLES
    ]


def _expected(dialect: str) -> dict[str, str]:
    """Say, by name, what each trigger of the newest revision is, as `_INSTALLED` reads it."""
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
