"""Folders whose files are no table by themselves, because a log says which of them belong to it.

Delta Lake, Iceberg, Hudi and others never change a file: they add files, and note in a log which ones the table's
current version has. A file stays in the folder after its rows were deleted, replaced, or written again into a larger
one. Read as files, such a folder has rows that are gone and rows that stand twice. So none of its files is read,
whichever name leads there: the folder, a folder above or below it, a glob, or one file.

A log is known by the names of entries of the table's folder; no log is opened. A log that lies elsewhere than beside
its files cannot be found.
"""

import os
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pubpriv.errors import InvalidInput


class Folders(Protocol):
    """Folders of a disk or a store. What does not exist, or may not be looked at, is not there."""

    def present(self, paths: Collection[str]) -> Collection[str]:
        """Return those of some paths at which there is a file or folder."""
        ...

    def names(self, folder: str) -> Collection[str]:
        """Return the names of the entries of a folder."""
        ...


@dataclass(frozen=True)
class _Log:
    """How the log of a format is known.

    Attributes:
        format: name of the format.
        entry: name of an entry of the table's folder.
        known: files that the entry has in most tables, for stores that know files and no folders.
        opened: what opens the table's current version in Python.
        prefix: how names of its versions begin, if they are read (`common.lake_names`).
        inside: what an entry of that entry is called, where other folders may have its name too; None: its name is
            enough.
    """

    format: str
    entry: str
    known: tuple[str, ...]
    opened: str
    inside: re.Pattern[str] | None = None
    prefix: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths below the table's folder at which the log shows."""
        return (self.entry, *(f"{self.entry}/{file}" for file in self.known))


_DELTA = "deltalake.DeltaTable(FOLDER).to_pyarrow_dataset()"
_HUDI = "pyarrow.Table.from_batches(hudi.HudiTable(FOLDER).read_snapshot())"
_ICEBERG = "catalog.load_table(NAME).scan().to_arrow(), with a catalog of pyiceberg"
_SPARK = "spark.table(NAME).toArrow()"

_LOGS = (
    _Log("Delta Lake", "_delta_log", (f"{0:020}.json", "_last_checkpoint"), _DELTA, prefix="delta"),
    _Log("Hudi", ".hoodie", ("hoodie.properties",), _HUDI),
    _Log("Hudi", ".hoodie_partition_metadata", (), _HUDI),
    _Log(
        "Iceberg",
        "metadata",
        ("version-hint.text",),
        _ICEBERG,
        re.compile(r".*\.metadata\.json(\.\w+)?|version-hint\.text"),
        prefix="iceberg",
    ),
    _Log("Paimon", "snapshot", ("LATEST",), "to_arrow() of pypaimon", re.compile(r"snapshot-\d+|LATEST|EARLIEST")),
    _Log("Spark's streams", "_spark_metadata", ("0",), "spark.read.parquet(FOLDER).toArrow()"),
)

_NAMES = (
    (re.compile(r"(delete_)?delta_\d{7,}_\d{7,}(_\d{4})?|base_\d{7,}(_v\d+)?"), "Hive's transactions", _SPARK),
    (re.compile(r"ducklake-[0-9a-f-]{36}(-delete)?\.parquet"), "DuckLake", "a relation of DuckDB, after its ATTACH"),
)
"""Names that only tables with a log give to folders and files, by format, where the log lies elsewhere."""


def refuse_logged(name: str, folders: Iterable[str], files: Iterable[str], at: Folders) -> None:
    """Refuse a table with folders that belong to a table with a log, which says what is current.

    Args:
        name: name of the table.
        folders: paths of folders in which it looks for files.
        files: paths of the files that it would read. Folders above these, and above those folders, are looked at too.
        at: where they are.

    Raises:
        InvalidInput: there is such a folder.
    """
    starts = dict.fromkeys([*folders, *(above for file in files for above in _and_above(file)[1:2])])
    every = dict.fromkeys(folder for start in starts for folder in _and_above(start))
    for path in (*every, *files):
        _refuse_named(name, path)
    places = [_Place(folder, log) for folder in every for log in _LOGS]
    there = set(at.present([path for place in places for path in place.paths]))
    for place in places:
        if place.shows(there, at):
            log = place.log
            raise _refusal(name, place.folder, log.format, f"whose log is {log.entry}", log.opened, log.prefix)


@dataclass(frozen=True)
class _Place:
    """A folder in which a log may be.

    Attributes:
        folder: path of the folder.
        log: the log.
    """

    folder: str
    log: _Log

    @property
    def paths(self) -> list[str]:
        """Paths at which the log shows."""
        return [f"{self.folder.rstrip('/')}/{path}" for path in self.log.paths]

    def shows(self, there: Collection[str], at: Folders) -> bool:
        """Return whether the log is there, by the paths that exist."""
        entry, *known = self.paths
        if any(file in there for file in known):
            return True
        return entry in there and (self.log.inside is None or _any_of(self.log.inside, at.names(entry)))


def _any_of(pattern: re.Pattern[str], names: Iterable[str]) -> bool:
    return any(pattern.fullmatch(name) for name in names)


def _and_above(folder: str) -> list[str]:
    """A folder and the folders above it, up to the root of a disk or the bucket of a URL."""
    scheme, separator, path = folder.rpartition("://")
    parts = path.rstrip("/").split("/")
    shortest = 1 if separator or not parts[0] else 0
    return [f"{scheme}{separator}{'/'.join(parts[:i])}" or "/" for i in range(len(parts), shortest - 1, -1) if i]


def _refuse_named(name: str, path: str) -> None:
    last = path.rpartition("/")[2]
    for pattern, named, opened in _NAMES:
        if pattern.fullmatch(last):
            raise _refusal(name, path, named, "as its name shows", opened)


def _refusal(name: str, folder: str, named: str, shown: str, opened: str, prefix: str | None = None) -> InvalidInput:
    # folders below the name are not shown: where the unit is a person, they are private
    where = f"{name} belongs to" if name == folder else f"{name} has files in it that belong to"
    if name.startswith(f"{folder.rstrip('/')}/"):
        where = f"{name} lies in {folder}, which belongs to"
    version = "" if prefix is None else f", or name a version of private rows, {prefix}:FOLDER@VERSION"
    return InvalidInput(
        f"{where} a table of {named}, {shown}: such a folder also keeps files that are not part of the table any more, "
        "whose rows would count. Write the table's current version to a folder of its own and name that "
        f"one{version}; or, in Python, hand over the table that the format's own library opened: {opened}"
    )


class OnDisk:
    """Folders of a local disk."""

    def present(self, paths: Collection[str]) -> Collection[str]:
        """Return those of some paths at which there is a file, a folder, or a link, even one to nothing."""
        return {path for path in paths if os.path.lexists(path)}

    def names(self, folder: str) -> Collection[str]:
        """Return the names of the entries of a folder."""
        with suppress(OSError):
            return os.listdir(folder)
        return ()
