"""Runs revisions inside the transaction that `database._migrate` holds."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
