"""Records of a run name its period, and an index finds the newest record of a period.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add a column, which is part of the hashed record if it is not null, and its index."""
    op.add_column("records", sa.Column("period", sa.Text))
    op.create_index("records_period", "records", ["dataset", "period", "seq"])
