"""Validate the tables of a run against their schemas, with or without Prefect."""

from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.estimators.jobs import Validation
from pubpriv.estimators.steps import opening_step, step
from pubpriv.schemas.private import validate_private_declaration
from pubpriv.schemas.public import validate_public


@step(title="validate public table")
def _validate_public_table(table: PublicTable) -> PublicTable:
    """Validate the rows of the public table."""
    validate_public(table, table.columns)
    return table


@opening_step(title="validate private table")
def _validate_private_table(table: PrivateTable, columns: tuple[str, ...]) -> PrivateTable:
    """Validate the declaration of the private table, as an empty frame: rows are not read."""
    validate_private_declaration(table, columns)
    return table


VALIDATION = Validation(_validate_public_table, _validate_private_table)
