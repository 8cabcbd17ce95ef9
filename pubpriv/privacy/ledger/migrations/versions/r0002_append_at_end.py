"""Rows are inserted only at the end of their dataset's chain, and an index finds a run's records of a kind.

The first revision refuses updates and deletes. `INSERT OR REPLACE` from a program with `recursive_triggers` off
deletes without firing these triggers; here it is refused before it replaces anything.

Revision ID: 0002
"""

from alembic import op

from pubpriv.privacy.ledger.migrations import triggers

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add an index, and triggers before insertion."""
    op.create_index("records_run_kind", "records", ["dataset", "release_id", "kind", "seq"])
    for statement in triggers.second_revision(op.get_bind().dialect.name):
        op.execute(statement)
