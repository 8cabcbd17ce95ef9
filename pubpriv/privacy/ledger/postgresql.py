"""A ledger in PostgreSQL 15 or newer: committed to disk before it counts, one row lock a dataset."""

from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput
from pubpriv.privacy.ledger.urls import Address

_PATIENCE = 120
"""Seconds that a transaction waits for another one."""

_SLEEP = 60
"""Seconds after which the server ends a client that went to sleep while it held a lock; and that a client waits for
a server that does not let it in."""

OLDEST = 150000
"""Version of the server, as it tells it."""

_BEFORE_WRITING = sa.text(
    "SELECT set_config('lock_timeout', :patience, true), "
    "set_config('idle_in_transaction_session_timeout', :sleep, true), "
    "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
).bindparams(patience=f"{_PATIENCE}s", sleep=f"{_SLEEP}s")

_TABLES_LOCK = 7_210_433_026
_MIGRATION_LOCK = 7_210_433_027
"""Names of advisory locks: numbers that nobody else is likely to use."""


def engine(address: Address) -> sa.Engine:
    """An engine on the database.

    Raises:
        InvalidInput: the driver is not installed.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise InvalidInput("a ledger in PostgreSQL needs a driver: pip install 'pubpriv[postgres]'") from None
    assert address.url is not None
    settings: dict[str, Any] = {} if "connect_timeout" in address.url.query else {"connect_timeout": _SLEEP}
    # a connection that died with its server is noticed before it is used, and parameters stay out of messages
    made = sa.create_engine(address.url, connect_args=settings, pool_pre_ping=True, hide_parameters=True)
    sa.event.listen(made, "begin", _on_begin)
    return made


def check(connection: sa.Connection) -> None:
    """Refuse a server that would forget what it confirmed.

    Raises:
        InvalidInput: too old, or without fsync.
    """
    version, fsync = connection.execute(
        sa.text("SELECT current_setting('server_version_num')::int, current_setting('fsync')")
    ).one()
    if version < OLDEST:
        raise InvalidInput(f"a ledger needs PostgreSQL {OLDEST // 10000} or newer, not {version // 10000}")
    if fsync != "on":
        raise InvalidInput(
            "this PostgreSQL runs with fsync off: a power cut could take back a charge whose answer is known. "
            "Turn it on, or keep the ledger elsewhere"
        )


def options(writes: bool) -> dict[str, Any]:
    """Readers see one moment and cannot write; writers see whatever was committed before they had the lock."""
    if writes:
        return {"isolation_level": "READ COMMITTED"}
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def lock_tables(connection: sa.Connection) -> None:
    """One transaction at a time declares tables: no two datasets take the same one at the same moment."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TABLES_LOCK)))


def lock_migration(connection: sa.Connection) -> None:
    """One transaction at a time changes the schema."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))


def failure(address: Address, text: str) -> str:
    """What a failure of the database means."""
    shown = address.masked(text.strip().partition("\n")[0])
    hint = "try again"
    if "no password supplied" in text or "password authentication failed" in text:
        hint = "put the whole URL into PUBPRIV_LEDGER, or the password into PGPASSWORD or a password file"
    elif "does not exist" in text:
        hint = "create the database and the role first, with `createdb` and `createuser`"
    return f"the ledger {address.shown} does not answer ({shown}); {hint}"


def _on_begin(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("writes", True):
        connection.execute(_BEFORE_WRITING)
