"""Triggers that keep the ledger append-only, in the words of each database."""

APPEND_ONLY = "the ledger is append-only"


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
    body = f"BEGIN IF {wrong} THEN RAISE EXCEPTION '{APPEND_ONLY}'; END IF; RETURN NEW; END"
    function = f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
    return [function, f"{head} FOR EACH ROW EXECUTE FUNCTION {name}()"]


def prepare(dialect: str) -> list[str]:
    """What `never` needs, once; a table in PostgreSQL can also be emptied as a whole."""
    if dialect == "sqlite":
        return []
    function = (
        "CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{APPEND_ONLY}'; END $$"
    )
    return [function] + [
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()"
        for table in ("records", "datasets")
    ]
