"""First revision: datasets, and the append-only records with their chain, user, host and version.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

from pubpriv.privacy.ledger.migrations import triggers

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make tables, unique indexes (one charge and one answer per key), and append-only triggers."""
    op.create_table("datasets", sa.Column("name", sa.Text, primary_key=True))
    op.create_table(
        "records",
        sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.name"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("kind",)),
        *(sa.Column(name, sa.Text) for name in ("release_id", "key")),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("body", "state", "previous_hash", "hash", "at", "user", "host", "version")
        ),
    )
    op.create_index("records_run", "records", ["dataset", "release_id", "seq"])
    op.create_index("records_kind", "records", ["dataset", "kind", "seq"])
    for kind, column in triggers.ONCE:
        only = sa.text(f"kind = '{kind}'")
        op.create_index(
            f"one_{kind}",
            "records",
            ["dataset", column],
            unique=True,
            sqlite_where=only,
            postgresql_where=only,
        )
    for statement in triggers.first_revision(op.get_bind().dialect.name):
        op.execute(statement)
