"""Records of a run name the period that it is of, and the newest one of a period is found at once.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add a column, part of the hashed record where it holds a name, and its index."""
    op.add_column("records", sa.Column("period", sa.Text))
    op.create_index("records_period", "records", ["dataset", "period", "seq"])
