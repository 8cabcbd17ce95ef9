"""Rows are inserted at the end of their dataset's chain only, and one run's records of a kind have an index.

The first revision refused to update and to delete. `INSERT OR REPLACE` from a program that leaves
`recursive_triggers` off deletes without asking these triggers; it is refused here before it replaces anything.

Revision ID: 0002
"""

from alembic import op

from pubpriv.privacy.ledger.migrations import triggers

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TAKEN = " OR ".join(
    f"(NEW.kind = '{kind}' AND EXISTS (SELECT 1 FROM records r WHERE r.dataset = NEW.dataset "  # noqa: S608
    f"AND r.kind = '{kind}' AND r.{column} = NEW.{column}))"
    for kind, column in (("charged", "key"), ("published", "key"), ("opened", "release_id"), ("closed", "release_id"))
)
_NEXT = "(SELECT COALESCE(MAX(r.seq) + 1, 0) FROM records r WHERE r.dataset = NEW.dataset)"


def upgrade() -> None:
    """An index, and triggers before insertion."""
    op.create_index("records_run_kind", "records", ["dataset", "release_id", "kind", "seq"])
    dialect = op.get_bind().dialect.name
    for statement in triggers.before_insert(dialect, "records", "records_at_end", f"NEW.seq <> {_NEXT} OR {_TAKEN}"):
        op.execute(statement)
    taken = "EXISTS (SELECT 1 FROM datasets d WHERE d.name = NEW.name)"
    if dialect == "sqlite":  # PostgreSQL has no way to replace a row by inserting one
        for statement in triggers.before_insert(dialect, "datasets", "datasets_once", taken):
            op.execute(statement)
