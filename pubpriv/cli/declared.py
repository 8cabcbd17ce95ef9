"""A private table as a command declares it in the ledger: opened for its schema and its number of rows, no more."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pubpriv.data.tables import PrivateTable
    from pubpriv.privacy.ledger.views import NamedTable


def declared_table(
    private: str, columns: Sequence[str], ids: Sequence[str], dates: str, by: Sequence[str]
) -> "tuple[PrivateTable, NamedTable]":
    """Open a private table, and name what is declared of it.

    Args:
        private: name of the table.
        columns: columns or expressions.
        ids: texts of the columns that say whose row it is.
        dates: text of the date column of periods; empty: none.
        by: columns by which groups may be told apart.

    Raises:
        InvalidInput: a column is missing, or of another kind.
        Unavailable: the storage does not answer.
    """
    from pubpriv.data.categories import named_source
    from pubpriv.data.tables import PrivateTable
    from pubpriv.privacy.ledger.views import NamedTable

    opened = PrivateTable.open(private, columns, person=tuple(ids), dates=dates)
    named = NamedTable.of(opened, bool(ids)).with_layout(opened, bool(ids))
    return opened, replace(named, group_columns=tuple(map(named_source, by)))
