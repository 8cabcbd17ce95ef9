"""Public rows of a run, or none: some methods work without."""

from collections.abc import Collection
from typing import Any

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput

NO_PUBLIC = "no-public"
"""The method of a mean and of a Gaussian that works without public rows."""


def public_rows(
    public: Any, columns: tuple[str, ...], method: str, without: Collection[str] = (NO_PUBLIC,)
) -> PublicTable:
    """Open public rows, or take none where the method works without.

    Args:
        public: a path, rows in memory or a `PublicTable`; None, or a table of no rows, for none.
        columns: of the run.
        method: by name.
        without: methods that work without public rows.

    Raises:
        InvalidInput: rows that the method would not use, none where it needs some, or rows that cannot be read.
    """
    rows = PublicTable.none(columns) if public is None else PublicTable.open(public, list(columns))
    check_public(bool(len(rows.rows)), method, without)
    return rows


def check_public(given: bool, method: str, without: Collection[str]) -> None:
    """Refuse public rows that a method would not use, and a method that has none to work with.

    Raises:
        InvalidInput: one or the other.
    """
    if given and method in without:
        raise InvalidInput(f"the method {method} makes no use of public rows: leave them out, or use another method")
    if not given and method not in without:
        instead = f"; the method {' or '.join(sorted(without))} works without" if without else ""
        raise InvalidInput(f"public rows are missing: give some{instead}")
