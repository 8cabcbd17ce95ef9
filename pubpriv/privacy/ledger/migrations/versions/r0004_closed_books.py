"""Nothing follows the record that closes a dataset's books.

Revision ID: 0004
"""

from alembic import op

from pubpriv.privacy.ledger.migrations import triggers

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a trigger before insertion."""
    for statement in triggers.fourth_revision(op.get_bind().dialect.name):
        op.execute(statement)
