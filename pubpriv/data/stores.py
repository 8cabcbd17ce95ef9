"""Locations of tables: local paths, object stores (`s3://`, `gs://`, `abfs://`), and others that fsspec knows.

A location is only a name: flow parameters, ledgers, messages and logs contain it. So it has no credentials and no
settings in it; those come from the environment or the role of the machine that reads, as with each store's own tools.
A table has one name (`common.tables.canonical`), because the ledger keeps one budget for it: the path of a URL is used
exactly as written, without percent-decoding.
"""

import functools
import hashlib
from pathlib import Path
from typing import Any

from pubpriv.common.tables import canonical, is_url, local_files, of_one_kind, root_and_pattern, wanted
from pubpriv.common.urls import ARROW
from pubpriv.errors import InvalidInput


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


def list_files(uri: str) -> list[str]:
    """Return the files of a canonical `uri`: itself, or the tables' files in a folder or glob, sorted by name.

    Raises:
        FileNotFoundError: nothing has this name.
        InvalidInput: a folder or glob without a table's file, with files of several kinds, or with one file under two
            names.
        OSError: the store does not answer.
    """
    if not is_url(uri):
        return local_files(uri)
    from pyarrow.fs import FileSelector, FileType

    root, pattern = root_and_pattern(uri)
    filesystem, path = locate(root)
    info = filesystem.get_file_info(path)
    if info.type == FileType.NotFound:
        raise FileNotFoundError
    if info.type == FileType.File:
        return [root]
    names = [f.path for f in filesystem.get_file_info(FileSelector(path, recursive=True)) if f.type == FileType.File]
    start = len(path.rstrip("/"))
    below = [name[start:].lstrip("/") for name in names]
    below = [name for name in below if wanted(name.split("/"), pattern)]
    of_one_kind(below, uri)
    return sorted(f"{root.rstrip('/')}/{name}" for name in below)


def read_public(uri: str) -> bytes:
    """Return the bytes of one public file at a canonical URL.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the store does not answer.
    """
    filesystem, path = locate(uri)
    with filesystem.open_input_file(path) as file:
        content: bytes = file.read()
    return content


def content_hash(path: str) -> str:
    """Hash a *public* file, or all files of a folder or glob (SHA-256), to see whether a cached ingestion is stale.

    Returns `missing` if it cannot be read; opening the table reports why.
    """
    digest = hashlib.sha256()
    try:
        where = canonical(path)
        for file in [where] if is_url(where) and where.lower().endswith(".csv") else list_files(where):
            content = read_public(file) if is_url(file) else Path(file).read_bytes()
            digest.update(file.encode() + b"\0" + hashlib.sha256(content).digest())
    except (OSError, InvalidInput):
        return "missing"
    return digest.hexdigest()
