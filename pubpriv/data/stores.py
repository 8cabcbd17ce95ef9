"""Locations of tables: local paths, object stores (`s3://`, `gs://`, `abfs://`), and others that fsspec knows.

A location is only a name: flow parameters, ledgers, messages and logs contain it. So it has no credentials and no
settings in it; those come from the environment or the role of the machine that reads, as with each store's own tools.
A table has one name (`common.tables.canonical`), because the ledger keeps one budget for it: the path of a URL is used
exactly as written, without percent-decoding.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

from pubpriv.common.inner_names import InnerName
from pubpriv.common.lake_names import LakeName, location_of
from pubpriv.common.table_logs import OnDisk, refuse_logged
from pubpriv.common.tables import (
    Listing,
    canonical,
    compression_of,
    is_hidden,
    is_in_database,
    is_url,
    is_web,
    kind_of,
    local_listing,
    of_one_kind,
    reached,
    root_and_pattern,
    wanted,
)
from pubpriv.common.threads import kept_threads
from pubpriv.common.urls import ARROW
from pubpriv.errors import InvalidInput

_CONNECTIONS = 16
"""Questions to a store that are asked at the same time."""

_DENIED = re.compile(r"ACCESS.?DENIED|PERMISSION.?DENIED|FORBIDDEN|UNAUTHORIZED|\b40[13]\b", re.IGNORECASE)
"""Words with which stores deny an answer."""


def locate(uri: str) -> tuple[Any, str]:
    """Return an Arrow file system, and the path of a canonical `uri` in it.

    Raises:
        InvalidInput: the scheme is unknown, or the package for it is not installed.
    """
    if not is_url(uri):
        import pyarrow.fs

        return pyarrow.fs.LocalFileSystem(), uri
    scheme, _, rest = uri.partition("://")
    authority, _, path = rest.partition("/")
    filesystem, root = _store(scheme, authority)
    return filesystem, f"{root}/{path}".strip("/") if scheme in ARROW[:3] else f"{root}{path}"


@functools.cache
def _store(scheme: str, authority: str) -> tuple[Any, str]:
    """A connection, and the path of the authority in it; cached, since some ask the network for credentials."""
    import pyarrow.fs

    if scheme in ARROW:
        filesystem, root = pyarrow.fs.FileSystem.from_uri(f"{scheme}://{authority}")
        return filesystem, root.rstrip("/") if scheme in ARROW[:3] else "/"
    refusal = None
    try:
        import fsspec

        made, root = fsspec.core.url_to_fs(f"{scheme}://{authority}/")
    except ImportError:
        refusal = f"tables at {scheme}:// need fsspec and the package it names for this scheme: pip install both"
    except ValueError:
        refusal = f"{scheme}:// is no store that Arrow or fsspec knows: s3://, gs://, abfs://, or a local path"
    if refusal is not None:
        raise InvalidInput(refusal)
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(made)), root.rstrip("/") + "/"


def listing(uri: str) -> Listing:
    """List the files of a canonical `uri`: itself, or the tables' files in a folder or glob, sorted by name.

    Raises:
        FileNotFoundError: nothing has this name.
        InvalidInput: a folder or file of a table with a log (`common.table_logs`), or a version of one; a folder or
            glob without a table's file, with files of several kinds, or with one file under two names.
        OSError: the store does not answer.
    """
    if LakeName.of(uri) is not None:
        raise InvalidInput(
            f"{uri} is a version of a table with a log, of which private rows alone are read: write public rows to a "
            "file of their own, or hand over the table that the format's own library opened"
        )
    inner = InnerName.of(uri)
    if inner is not None:
        files = [uri] if inner.is_database else [f"{file}#{inner.table}" for file in listing(inner.location).files]
        return Listing(files)
    if not is_url(uri):
        return local_listing(uri)
    root, pattern = root_and_pattern(uri)
    every = _listed(root)
    if every is None:
        refuse_logged(uri, [], [root], _Folders())
        return Listing([root])
    root = root.rstrip("/")
    below = sorted(name for name in every if wanted(name.split("/"), pattern))
    found = [f"{root}/{name}" for name in below]
    folders = sorted({folder for name in every for folder in _visible_folders(name)})
    entered = [f"{root}/{folder}" for folder in folders if reached(folder.split("/"), pattern)]
    refuse_logged(uri, [root, *entered], found, _Folders(root, every))
    of_one_kind(below, uri)
    return Listing(found, [name.split("/") for name in every], pattern)


def names_in(folder: str) -> Collection[str]:
    """Return the names of the entries of a folder; none if it may not be looked at.

    Raises:
        OSError: its store does not answer.
    """
    return _Folders().names(folder) if is_url(folder) else OnDisk().names(folder)


def _listed(root: str) -> list[str] | None:
    """All files below a folder of a store, by their paths below it; None for a file.

    Raises:
        FileNotFoundError: nothing has this name.
        OSError: the store does not answer.
    """
    from pyarrow.fs import FileSelector, FileType

    filesystem, path = locate(root)
    info = filesystem.get_file_info(path)
    if info.type == FileType.NotFound:
        raise FileNotFoundError
    if info.type == FileType.File:
        return None
    start = len(path.rstrip("/"))
    infos = filesystem.get_file_info(FileSelector(path, recursive=True))
    return [info.path[start:].lstrip("/") for info in infos if info.type == FileType.File]


def _visible_folders(file: str) -> list[str]:
    """Folders on the way to a file, except hidden ones and those below them."""
    parts = file.split("/")[:-1]
    return list(accumulate(takewhile(lambda part: not is_hidden(part), parts), lambda above, part: f"{above}/{part}"))


class _Folders:
    """Folders of stores, for `refuse_logged`: from the listing of one folder, and from the store outside of it.

    Above the folders of a table, credentials may reach nothing. What a store does not let us see is not there.

    Args:
        root: URL of the listed folder; empty: nothing was listed.
        files: its files, by their paths below it.
    """

    def __init__(self, root: str = "", files: Sequence[str] = ()) -> None:
        self._root = f"{root}/" if root else None
        self._below: dict[str, set[str]] = {}
        for file in files:
            parts = file.split("/")
            for i, part in enumerate(parts):
                self._below.setdefault("/".join(parts[:i]), set()).add(part)

    def present(self, paths: Collection[str]) -> Collection[str]:
        """Return those of some URLs at which there is a file or folder."""
        from pyarrow.fs import FileType

        listed = [path for path in paths if self._lists(path)]
        asked = [path for path in paths if not self._lists(path)]
        there = {path for path in listed if self._is_below(path)}
        if asked:
            there |= {path for path, info in zip(asked, _infos(asked), strict=True) if info.type != FileType.NotFound}
        return there

    def names(self, folder: str) -> Collection[str]:
        """Return the names of the entries of a folder."""
        from pyarrow.fs import FileSelector

        if self._lists(folder):
            return self._below.get(folder.removeprefix(str(self._root)), set())
        filesystem, path = locate(folder)
        return [
            info.base_name for info in _unless_denied(functools.partial(filesystem.get_file_info, FileSelector(path)))
        ]

    def _lists(self, path: str) -> bool:
        return self._root is not None and path.startswith(self._root)

    def _is_below(self, path: str) -> bool:
        folder, _, name = path.removeprefix(str(self._root)).rpartition("/")
        return name in self._below.get(folder, ())


def _infos(urls: Sequence[str]) -> list[Any]:
    """What a store says of some URLs; where it denies one, that nothing is there."""
    from pyarrow.fs import FileInfo, FileType

    filesystem, _ = locate(urls[0])
    paths = [locate(url)[1] for url in urls]
    asks = [functools.partial(_unless_denied, functools.partial(filesystem.get_file_info, [path])) for path in paths]
    with kept_threads(_CONNECTIONS) as threads:  # Arrow asks for one after the other
        alone = [each.result() for each in [*map(threads.submit, asks)]]
    return [info[0] if info else FileInfo(path, FileType.NotFound) for path, info in zip(paths, alone, strict=True)]


def _unless_denied(ask: Callable[[], list[Any]]) -> list[Any]:
    """The answer of a store; nothing if it denies one to these credentials.

    Raises:
        OSError: it does not answer.
    """
    try:
        return ask()
    except OSError as error:
        # Arrow says it in words only, each store in its own
        if isinstance(error, PermissionError) or _DENIED.search(str(error)):
            return []
        raise


def public_listing(uri: str) -> Listing:
    """List the files of a public table; see `listing`.

    A CSV file on a web server is fetched without being looked for first: many servers answer nothing else.

    Raises:
        InvalidInput: it is in a database.
    """
    if is_in_database(uri):
        raise InvalidInput(
            f"the public table {uri} is in a database, of which private rows alone are read: write public rows to a "
            "file, or hand over a frame or a relation in Python"
        )
    return Listing([uri]) if is_web(uri) and kind_of(uri) == "CSV" else listing(uri)


def read_public(uri: str) -> bytes:
    """Return the bytes of one public file at a canonical URL, decompressed.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the store does not answer.
    """
    filesystem, path = locate(location_of(uri))
    with filesystem.open_input_stream(path, compression=compression_of(uri)) as file:
        content: bytes = file.read()
    return content


def content_hash(path: str) -> str:
    """Hash a *public* file, or all files of a folder or glob (SHA-256), to see whether a cached ingestion is stale.

    Returns `missing` if it cannot be read; opening the table reports why.
    """
    digest = hashlib.sha256()
    try:
        for file in public_listing(canonical(path)).files:
            content = read_public(file) if is_url(file) else Path(location_of(file)).read_bytes()
            digest.update(file.encode() + b"\0" + hashlib.sha256(content).digest())
    except (OSError, InvalidInput):
        return "missing"
    return digest.hexdigest()
