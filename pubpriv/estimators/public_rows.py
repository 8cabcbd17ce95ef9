"""Public rows of a run, or none: some methods work without public rows."""

from collections.abc import Collection
from typing import Any

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput

NO_PUBLIC = "no-public"
"""Name of the method of a mean and of a Gaussian that works without public rows."""


def public_rows(
    public: Any, columns: tuple[str, ...], method: str, without: Collection[str] = (NO_PUBLIC,)
) -> PublicTable:
    """Open the public rows, or return an empty table if the method works without.

    Args:
        public: a path, rows in memory or a `PublicTable`; None or a table without rows: none.
        columns: columns of the run.
        method: name of the method.
        without: methods that work without public rows.

    Raises:
        InvalidInput: the method would not use the rows, or needs some and has none, or the rows cannot be read.
    """
    rows = PublicTable.none(columns) if public is None else PublicTable.open(public, list(columns))
    check_public(bool(len(rows.rows)), method, without)
    return rows


def check_public(given: bool, method: str, without: Collection[str]) -> None:
    """Refuse public rows that the method would not use, and missing public rows that it needs.

    Raises:
        InvalidInput: in either case.
    """
    if given and method in without:
        raise InvalidInput(f"the method {method} makes no use of public rows: leave them out, or use another method")
    if not given and method not in without:
        instead = f"; the method {' or '.join(sorted(without))} works without" if without else ""
        raise InvalidInput(f"public rows are missing: give some{instead}")
