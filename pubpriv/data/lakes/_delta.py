"""Versions of tables of Delta Lake.

Columns of partitions are not in the files: the log has their cells, as the library reads them. An instant among them is
refused, because writers put it down in the time of their zone or in UTC.
"""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pubpriv.common.lake_names import LakeName
from pubpriv.data.lakes._version import LakeFile, LakeVersion, absent, below, place_of, refusal
from pubpriv.errors import InvalidInput

_KNOWN = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features for readers that leave the files of a version as they are read here, or whose use is looked for below."""

_LATEST = 3
"""Latest version of the protocol for readers; it names its features."""

_PANIC = "PanicException"
"""Name of what the library raises of some names of folders; it is no `Exception`."""

_COLUMN = "partition."
"""Beginning of the names of columns of partitions in the library's list of files."""


def opened(lake: LakeName) -> LakeVersion:
    """Open a version of a table, or the newest one.

    Raises:
        InvalidInput: see `lakes.version_of`.
    """
    import pyarrow as pa

    table = _table(lake)
    lake = replace(lake, version=str(table.version()))
    _check(lake, table)
    schema = pa.schema([_field(each) for each in json.loads(table.schema().to_json())["fields"]])
    folder = place_of(lake)
    added = pa.table(table.get_add_actions(flatten=True))
    partitions = table.metadata().partition_columns
    files = []
    for row, path in enumerate(added["path"].to_pylist()):
        cells = {name: _cell(added[f"{_COLUMN}{name}"][row], schema.field(name).type) for name in partitions}
        files.append(LakeFile(below(lake, folder, f"{folder.rstrip('/')}/{unquote(path)}"), schema, cells))
    known = {file.path.removeprefix(folder.rstrip("/")) for file in files}
    # in its list the library writes signs of the folder's name as a URL has them
    if {uri.removeprefix(table.table_uri.removeprefix("file://").rstrip("/")) for uri in table.file_uris()} != known:
        raise refusal(lake, "has files that its library finds elsewhere", "rewrite the table with plain names")
    return LakeVersion(lake, schema, tuple(sorted(files, key=lambda file: file.path)))


def _table(lake: LakeName) -> Any:
    """The library's table."""
    try:
        from deltalake import DeltaTable
    except ModuleNotFoundError:
        DeltaTable = None
    if DeltaTable is None:
        raise absent(lake, "deltalake")
    try:
        return DeltaTable(place_of(lake), version=int(lake.version) if lake.version else None)
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ != _PANIC:
            raise
    raise InvalidInput(f"{lake.folder} is a name that the library of Delta Lake does not read: move the table")


def _check(lake: LakeName, table: Any) -> None:
    """Refuse a version whose files have rows that are deleted, or columns under other names, or may have."""
    protocol, mapping = table.protocol(), table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if protocol.min_reader_version > _LATEST:
        raise refusal(lake, "is of a newer protocol than is known here", "export it")
    if mapping != "none":
        raise refusal(lake, f"has columns under other names in its files (column mapping: {mapping})", "export it")
    unknown = sorted({*(protocol.reader_features or ())} - _KNOWN)
    if unknown:
        raise refusal(lake, f"has features that are not known here ({', '.join(unknown)})", "export it")
    if any(batch.num_rows for batch in table.deletion_vectors()):
        raise refusal(lake, "has deletion vectors: rows that are deleted but still in its files", _PURGE)


_PURGE = "run REORG TABLE ... APPLY (PURGE) and name the version that it makes, or export it"

_TYPES = {
    "string": "string",
    "long": "int64",
    "integer": "int32",
    "short": "int16",
    "byte": "int8",
    "float": "float32",
    "double": "float64",
    "boolean": "bool",
    "binary": "binary",
    "date": "date32",
}
"""Arrow's name of each simple type."""


def _field(column: dict[str, Any]) -> Any:
    """The field of a column, from its JSON; one with parts has a type that no estimate reads."""
    import pyarrow as pa

    name, kind = column["name"], column["type"]
    if kind in ("timestamp", "timestamp_ntz"):
        return pa.field(name, pa.timestamp("us", "UTC" if kind == "timestamp" else None))
    if isinstance(kind, str) and kind.startswith("decimal("):
        precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
        return pa.field(name, pa.decimal128(int(precision), int(scale)))
    known = _TYPES.get(kind) if isinstance(kind, str) else None
    return pa.field(name, pa.struct([]) if known is None else pa.type_for_alias(known))


def _cell(cell: Any, kind: Any) -> Any:
    """A cell of a partition in the table's own type; None for an instant that its writer may have meant otherwise."""
    from pyarrow import types

    if types.is_timestamp(kind) and kind.tz is not None:
        return None
    return cell.cast(kind)
