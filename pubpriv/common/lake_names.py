"""Names of versions of tables with a log: `delta:FOLDER@VERSION` and `iceberg:FOLDER@VERSION`.

A folder with a log is no table by itself (`common.table_logs`), but each version of it is: the log lists its files, and
no version ever changes. The ledger keeps one budget for all versions of a table, so a table is declared without one;
a run records the version that it reads.

A version of Delta Lake is a number. One of Iceberg is named by its metadata file, `metadata/VERSION.metadata.json`,
since its snapshots are written into that file, and a catalog, which is not asked here, says which one is current.
"""

import re
from dataclasses import dataclass, replace

from pubpriv.common.inner_names import InnerName
from pubpriv.errors import InvalidInput

FORMATS = {"delta": "Delta Lake", "iceberg": "Iceberg"}
"""Formats whose versions are read, by the prefix of their names."""

_NAME = re.compile(rf"({'|'.join(FORMATS)}):(.*)", re.DOTALL | re.IGNORECASE)
_PARTS = re.compile(r"((?:[^/]*://[^/]*/)?(?:.*/)?[^/@]+)(?:@([^/@]+))?", re.DOTALL)
_METADATA = re.compile(r"(.+)/metadata/([^/@]+)\.metadata\.json", re.DOTALL)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class LakeName:
    """Name of a table with a log, or of a version of it.

    Attributes:
        kind: `delta` or `iceberg`.
        folder: folder of the table, which has the log in it.
        version: the version; empty: not said.
    """

    kind: str
    folder: str
    version: str = ""

    @classmethod
    def of(cls, name: str) -> "LakeName | None":
        """Take a name apart; None if it is that of another table.

        Raises:
            InvalidInput: it is written otherwise.
        """
        named = _NAME.fullmatch(name)
        if named is None:
            return None
        kind, rest = named[1].lower(), named[2].rstrip("/")
        metadata = _METADATA.fullmatch(rest) if kind == "iceberg" else None
        parts = metadata or _PARTS.fullmatch(rest)
        if parts is None or parts[1].endswith(":/"):
            raise InvalidInput(
                f"write a version of a table of {FORMATS[kind]} as {kind}:FOLDER@VERSION, where the folder's own name "
                "has no @ in it"
            )
        version = parts[2] or ""
        if kind == "delta" and version and not _NUMBER.fullmatch(version):
            raise InvalidInput("a version of a table of Delta Lake is a number: delta:FOLDER@7")
        return cls(kind, parts[1], version)

    @property
    def format(self) -> str:
        """Name of the format."""
        return FORMATS[self.kind]

    @property
    def table(self) -> "LakeName":
        """Name of the table, of whatever version."""
        return replace(self, version="")

    def __str__(self) -> str:
        return f"{self.kind}:{self.folder}" + (f"@{self.version}" if self.version else "")


def location_of(name: str) -> str:
    """Return the folder of a table with a log, or the workbook of a sheet; other names are their own location."""
    lake, inner = LakeName.of(name), InnerName.of(name)
    if inner is not None and not inner.is_database:
        return inner.location
    return name if lake is None else lake.folder


def identity_of(name: str) -> str:
    """Return the name under which the ledger knows a table: of one with versions, that of all of them."""
    lake = LakeName.of(name)
    return name if lake is None else str(lake.table)
