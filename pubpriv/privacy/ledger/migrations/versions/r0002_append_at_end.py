"""Rows are inserted at the end of their dataset's chain only, and one run's records of a kind have an index.

The first revision refused to update and to delete. `INSERT OR REPLACE` from a program that leaves
`recursive_triggers` off deletes without asking these triggers; it is refused here before it replaces anything.

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
