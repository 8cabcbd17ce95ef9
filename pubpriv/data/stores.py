"""Where tables are: local paths, object stores (`s3://`, `gs://`, `abfs://`), and whatever else fsspec knows.

A location is a name and nothing else: it stands in flow parameters, ledgers, messages and logs. So it carries no
credentials and no settings; those are looked for where each store's own tools look, in the environment or the role
of the machine that reads. And one table has one name (`canonical`), because the ledger keeps one budget for it: the
path of a URL is taken letter by letter, without percent-decoding.
"""

import fnmatch
import functools
import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pubpriv.errors import InvalidInput

CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; AWS_REGION; AWS_ENDPOINT_URL for other stores",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or a managed identity",
}
"""By scheme: where the store's own tools look."""

_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}
"""Schemes by which other tools call the same stores."""

_ARROW = ("s3", "gs", "abfs", "hdfs", "viewfs")
"""Read by Arrow itself; other schemes by fsspec."""

_SETTING = re.compile(r"\?[^/?]*=")
_AZURE = re.compile(r"([^.@/]+)\.(?:blob|dfs)\.core\.windows\.net", re.IGNORECASE)


def refuse_credentials(uri: str) -> None:
    """Refuse a URL that carries more than a place; the message repeats none of it.

    Raises:
        InvalidInput: a user or password before an @, settings after a question mark, or a chain of stores, which
            would keep copies of private rows on disk.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return
    if "::" in uri:
        raise InvalidInput("the URL of a table names one store; with :: in it, copies of rows might be kept on disk")
    scheme = _SAME.get(scheme.lower(), scheme.lower())
    user, _, _ = rest.partition("/")[0].rpartition("@")
    container = scheme in ("abfs", "hdfs", "viewfs") and ":" not in user
    if (user and not container) or _SETTING.search(rest):
        known = CREDENTIALS.get(scheme, "as the store's own tools do")
        raise InvalidInput(
            "the URL of a table carries no credentials and no settings, because it is kept and shown: leave out what "
            f"stands before @ and after ?, and set them in the environment of the process that reads ({known}), or "
            "give its machine a role"
        )


def canonical(uri: str) -> str:
    """One name for one table, since the ledger keeps one budget for it.

    A `file://` URI becomes a local path; a local path is made absolute, with links resolved up to the first
    wildcard; of other URIs the scheme is the store's common one, and a slash at the end is left out.

    Raises:
        InvalidInput: see `refuse_credentials`.
    """
    refuse_credentials(uri)
    local = uri.removeprefix("file://").removeprefix("localhost") if uri.startswith("file://") else uri
    if uri.startswith("file://") and local.startswith("/"):
        uri = unquote(local)
    elif "://" in uri:
        return _canonical_url(uri)
    path = os.path.expanduser(uri)
    wildcard = first_wildcard(path)
    if wildcard is None:
        return os.path.realpath(path)
    root = os.path.dirname(path[:wildcard])
    return os.path.join(os.path.realpath(root), path[len(root) :].lstrip("/"))


def _canonical_url(uri: str) -> str:
    scheme, _, rest = uri.partition("://")
    scheme = _SAME.get(scheme.lower(), scheme.lower())
    authority, _, path = rest.partition("/")
    container, _, host = authority.rpartition("@")
    azure = _AZURE.fullmatch(host) if scheme == "abfs" else None
    if azure is not None:  # the account may stand before or after the container
        if not container:
            container, _, path = path.partition("/")
        authority = f"{container}@{azure[1].lower()}.dfs.core.windows.net"
    return f"{scheme}://{authority}/{path}".rstrip("/")


def first_wildcard(uri: str) -> int | None:
    """Where the first wildcard of a glob is; None for a plain path, and for a local one that has such a character."""
    if "://" not in uri and os.path.exists(uri):
        return None
    return next((i for i, char in enumerate(uri) if char in "*?["), None)


def locate(uri: str) -> tuple[Any, str]:
    """An Arrow file system, and the path of a canonical `uri` in it.

    Raises:
        InvalidInput: nobody knows the scheme, or what reads it is not installed.
    """
    if "://" not in uri:
        import pyarrow.fs

        return pyarrow.fs.LocalFileSystem(), uri
    scheme, _, rest = uri.partition("://")
    authority, _, path = rest.partition("/")
    filesystem, root = _store(scheme, authority)
    return filesystem, f"{root}/{path}".strip("/") if scheme in _ARROW[:3] else f"{root}{path}"


@functools.cache
def _store(scheme: str, authority: str) -> tuple[Any, str]:
    """A connection, and the path of the authority in it; kept, because some ask the network who they are."""
    import pyarrow.fs

    if scheme in _ARROW:
        filesystem, root = pyarrow.fs.FileSystem.from_uri(f"{scheme}://{authority}")
        return filesystem, root.rstrip("/") if scheme in _ARROW[:3] else "/"
    import fsspec

    refusal = None
    try:
        made, root = fsspec.core.url_to_fs(f"{scheme}://{authority}/")
    except ImportError:
        refusal = f"tables at {scheme}:// need a package that fsspec names for this scheme, and it is not installed"
    except ValueError:
        refusal = f"{scheme}:// is no store that Arrow or fsspec knows: s3://, gs://, abfs://, or a local path"
    if refusal is not None:
        raise InvalidInput(refusal)
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(made)), root.rstrip("/") + "/"


def list_files(uri: str) -> list[str]:
    """Parquet files behind a canonical `uri`: itself, or those below a folder or glob; sorted.

    Raises:
        FileNotFoundError: there is nothing of this name.
        InvalidInput: a folder or glob without a Parquet file.
        OSError: the store does not answer.
    """
    from pyarrow.fs import FileSelector, FileType

    wildcard = first_wildcard(uri)
    root = uri if wildcard is None else uri[: uri.rfind("/", 0, wildcard)]
    filesystem, path = locate(root)
    info = filesystem.get_file_info(path)
    if info.type == FileType.NotFound:
        raise FileNotFoundError
    if info.type == FileType.File:
        return [uri]
    names = [f.path for f in filesystem.get_file_info(FileSelector(path, recursive=True)) if f.type == FileType.File]
    start = len(path.rstrip("/"))
    pattern = [] if wildcard is None else uri[len(root) :].strip("/").split("/")
    below = [name[start:].lstrip("/") for name in names]
    below = [name for name in below if _wanted(name.split("/"), pattern)]
    if not below:
        raise InvalidInput(f"no Parquet file under {uri}")
    return sorted(f"{root.rstrip('/')}/{name}" for name in below)


def _wanted(parts: list[str], pattern: list[str]) -> bool:
    """Whether a file belongs to a folder or glob, by its path below the folder.

    Files and folders whose names begin with a dot or an underscore are others' bookkeeping. A glob names files,
    or folders of Parquet files; `*` stays inside one folder and `**` does not.
    """
    return not any(part.startswith((".", "_")) for part in parts) and matches(parts, pattern, parts[-1])


def matches(parts: list[str], pattern: list[str], name: str) -> bool:
    """Whether a glob, in parts, names a file, in parts, whose last part is `name`."""
    if not pattern:
        return not parts or name.endswith((".parquet", ".pq"))
    if pattern[0] == "**":
        return any(matches(parts[i:], pattern[1:], name) for i in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and matches(parts[1:], pattern[1:], name)


def read_public(uri: str) -> bytes:
    """The bytes of one public file at a canonical URL.

    Raises:
        FileNotFoundError: there is none.
        OSError: the store does not answer.
    """
    filesystem, path = locate(uri)
    with filesystem.open_input_file(path) as file:
        content: bytes = file.read()
    return content


def content_hash(path: str) -> str:
    """SHA-256 of a *public* file, or of all files of a folder or glob: what makes a cached ingestion stale.

    What cannot be read is `missing`; whoever opens the table says why.
    """
    digest = hashlib.sha256()
    try:
        where = canonical(path)
        if "://" not in where and Path(where).is_file():
            return hashlib.sha256(Path(where).read_bytes()).hexdigest()
        for file in [where] if where.lower().endswith(".csv") else list_files(where):
            content = read_public(file) if "://" in file else Path(file).read_bytes()
            digest.update(file.encode() + b"\0" + hashlib.sha256(content).digest())
    except (OSError, InvalidInput):
        return "missing"
    return digest.hexdigest()
