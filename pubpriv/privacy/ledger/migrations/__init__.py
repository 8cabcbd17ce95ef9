"""Alembic revisions of the ledger's schema; `Ledger.open` runs them forwards."""
