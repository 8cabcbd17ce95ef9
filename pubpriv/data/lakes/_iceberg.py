"""Versions of tables of Iceberg, each of which is one metadata file.

Iceberg knows columns by numbers, in the table and in its files: a column may be renamed, or dropped and made anew under
the same name. A file that lacks a column is older than it, unless the column makes partitions: a file that was written
by another program may leave its cells to the name of its folder.
"""

import re
from typing import Any

from pubpriv.common.lake_names import LakeName
from pubpriv.common.urls import common
from pubpriv.data.lakes._version import LakeFile, LakeVersion, absent, below, place_of, refusal
from pubpriv.data.stores import locate, names_in
from pubpriv.errors import InvalidInput

_LATEST = 2
"""Latest version of the format that is known here; later ones have default values and deletion vectors."""

_END = ".metadata.json"

_FILE = re.compile(r"file:/*(/.*)", re.DOTALL)
_URL = re.compile(r"(\w+)(://.*)", re.DOTALL)


def opened(lake: LakeName) -> LakeVersion:
    """Open a version of a table.

    Raises:
        InvalidInput: see `lakes.version_of`; or the name has no version: which one is current, only a catalog knows.
    """
    folder = place_of(lake)
    table, schema = _table(lake, folder)
    if table.metadata.format_version > _LATEST:
        raise refusal(lake, f"is of version {table.metadata.format_version} of its format", "export it")
    below(lake, folder, _plain(f"{table.location().rstrip('/')}/metadata"))
    snapshot = table.current_snapshot()
    for manifest in () if snapshot is None else snapshot.manifests(table.io):
        if manifest.content and (manifest.added_files_count or manifest.existing_files_count):
            raise _with_deletes(lake)
    ids, specs = {column.name: column.field_id for column in table.schema().fields}, table.specs()
    files = []
    for task in table.scan().plan_files():
        if task.delete_files:
            raise _with_deletes(lake)
        if str(getattr(task.file.file_format, "value", task.file.file_format)).upper() != "PARQUET":
            raise refusal(lake, "has files that are not Parquet", "export it")
        made = {each.source_id for each in specs[task.file.spec_id].fields}
        doubtful = frozenset(name for name, number in ids.items() if number in made)
        files.append(LakeFile(below(lake, folder, _plain(task.file.file_path)), schema, {}, ids, doubtful))
    return LakeVersion(lake, schema, tuple(sorted(files, key=lambda file: file.path)))


def _with_deletes(lake: LakeName) -> InvalidInput:
    return refusal(lake, "has delete files: rows that are deleted but still in its files", _COMPACT)


_COMPACT = "run rewrite_data_files with 'delete-file-threshold' 1 and name the version that it makes, or export it"


def _table(lake: LakeName, folder: str) -> tuple[Any, Any]:
    """The library's table and its Arrow schema. The log is read through Arrow, with the credentials of all tables.

    What the table's own settings say of programs that read it does not count.
    """
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, schema_to_pyarrow
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import Table
    except ModuleNotFoundError:
        Table = None
    if Table is None:
        raise absent(lake, "pyiceberg")
    if not lake.version:
        raise _which(lake, folder)

    def opened_file(location: str) -> Any:
        filesystem, path = locate(_plain(location))
        return PyArrowFile(location, path, filesystem)

    files = PyArrowFileIO()
    files.new_input = opened_file
    location = f"{folder}/metadata/{lake.version}{_END}"
    metadata = FromInputFile.table_metadata(files.new_input(location))
    table = Table(("table",), metadata, location, files, NoopCatalog("none"))
    return table, schema_to_pyarrow(table.schema())


def _plain(path: str) -> str:
    """A path or URL of a data file, as names of tables are written."""
    file, url = _FILE.fullmatch(path), _URL.fullmatch(path)
    if file:
        return file[1]
    return f"{common(url[1])}{url[2]}" if url else path


def _which(lake: LakeName, folder: str) -> InvalidInput:
    """Ask for a version, with those that there are."""
    there = sorted(name.removesuffix(_END) for name in names_in(f"{folder}/metadata") if name.endswith(_END))
    if not there:
        return InvalidInput(f"no table of Iceberg at {lake.folder}: it has no metadata/VERSION{_END}")
    return InvalidInput(
        f"{lake} names no version: write iceberg:{lake.folder}@VERSION. The last of its metadata files is "
        f"{there[-1]}{_END}, and its catalog says which one is current (metadata_location)"
    )
