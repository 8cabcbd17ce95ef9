"""Triggers that keep the ledger append-only, in the words of each database.

Revisions make them, and `guards` looks whether they are there; what a released revision made never changes.
"""

APPEND_ONLY = "the ledger is append-only"

TABLES, VERBS = ("records", "datasets"), ("UPDATE", "DELETE")

ONCE = (("charged", "key"), ("published", "key"), ("opened", "release_id"), ("closed", "release_id"))
"""At most one record of a kind with the same value in a column."""

_TAKEN = " OR ".join(
    f"(NEW.kind = '{kind}' AND EXISTS (SELECT 1 FROM records r WHERE r.dataset = NEW.dataset "  # noqa: S608
    f"AND r.kind = '{kind}' AND r.{column} = NEW.{column}))"
    for kind, column in ONCE
)
_NEXT = "(SELECT COALESCE(MAX(r.seq) + 1, 0) FROM records r WHERE r.dataset = NEW.dataset)"
NOT_AT_END = f"NEW.seq <> {_NEXT} OR {_TAKEN}"
"""A record that is inserted elsewhere than at the end of its chain, or a second one of a kind."""

NAME_TAKEN = "EXISTS (SELECT 1 FROM datasets d WHERE d.name = NEW.name)"
"""SQLite only: PostgreSQL has no way to replace a row by inserting one."""

_NEVER = f"BEGIN RAISE EXCEPTION '{APPEND_ONLY}'; END"
_BEFORE = {"INSERT": 7, "DELETE": 11, "UPDATE": 19, "TRUNCATE": 34}
"""How PostgreSQL notes triggers before an event: for each row, or for the statement that empties a table."""


def never(dialect: str, table: str, verb: str) -> list[str]:
    """Statements after which `verb` (UPDATE or DELETE) on `table` fails."""
    name = f"{table}_no_{verb.lower()}"
    if dialect == "sqlite":
        return [f"CREATE TRIGGER {name} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"]
    return [f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only()"]


def before_insert(dialect: str, table: str, name: str, wrong: str) -> list[str]:
    """Statements after which inserting a row into `table` fails where `wrong`."""
    head = f"CREATE TRIGGER {name} BEFORE INSERT ON {table}"
    if dialect == "sqlite":
        return [f"{head} WHEN {wrong} BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"]
    function = f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {_unless(wrong)} $$"
    return [function, f"{head} FOR EACH ROW EXECUTE FUNCTION {name}()"]


def prepare(dialect: str) -> list[str]:
    """What `never` needs, once; a table in PostgreSQL can also be emptied as a whole."""
    if dialect == "sqlite":
        return []
    function = f"CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ {_NEVER} $$"
    return [function] + [
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()"
        for table in TABLES
    ]


def expected(dialect: str) -> dict[str, str]:
    """By name, what each trigger of the newest revision is: in SQLite its statement, in PostgreSQL as in `guards`."""
    if dialect == "sqlite":
        made = [never(dialect, table, verb)[0] for table in TABLES for verb in VERBS]
        made += before_insert(dialect, "records", "records_at_end", NOT_AT_END)
        made += before_insert(dialect, "datasets", "datasets_once", NAME_TAKEN)
        return {statement.split()[2]: statement for statement in made}
    kept = [(table, verb) for table in TABLES for verb in (*VERBS, "TRUNCATE")]
    told = {f"{table}_no_{verb.lower()}": f"{table} {_BEFORE[verb]}  {_NEVER} " for table, verb in kept}
    return told | {"records_at_end": f"records {_BEFORE['INSERT']}  {_unless(NOT_AT_END)} "}


def _unless(wrong: str) -> str:
    return f"BEGIN IF {wrong} THEN RAISE EXCEPTION '{APPEND_ONLY}'; END IF; RETURN NEW; END"
