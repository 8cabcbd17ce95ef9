"""What is public of a private table's layout, by which a copy of the table under another name is recognised."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TableLayout:
    """Names of the columns of a table, as a digest, and its number of rows if that is public.

    Types are not part of it: a copy in CSV has none.

    Attributes:
        names: hex digits, equal for tables with the same columns in any order.
        columns: number of columns.
        rows: number of rows; None: it is private.
    """

    names: str
    columns: int
    rows: int | None = None

    @classmethod
    def of(cls, names: Iterable[str], rows: int | None) -> "TableLayout":
        """Return the layout of a table with these columns."""
        ordered = sorted(names)
        digest = hashlib.sha256("\0".join(ordered).encode("utf-8", "surrogatepass")).hexdigest()
        return cls(digest[:16], len(ordered), rows)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TableLayout":
        """Return the layout that `to_json` wrote."""
        return cls(str(data["names"]), int(data["columns"]), data.get("rows"))

    def to_json(self) -> dict[str, Any]:
        """Return the layout as JSON values."""
        return {"names": self.names, "columns": self.columns} | ({} if self.rows is None else {"rows": self.rows})

    def may_be_copy_of(self, other: "TableLayout") -> bool:
        """Return whether two tables have the same columns and, where both numbers are known, as many rows."""
        return self.names == other.names and (None in (self.rows, other.rows) or self.rows == other.rows)

    def __str__(self) -> str:
        columns = "the same column" if self.columns == 1 else f"the same {self.columns} columns"
        return columns if self.rows is None else f"{columns} and {self.rows:,} rows"
