"""URLs of tables in stores: one name for each, and what of two names may be the same place.

A store's own tools write URLs in several ways, and what lies between here and a store may take a path for another one:
a way around by `..` is gone before an S3 server sees it. So ways around are refused, and of hosts that are compared the
ways to write one are the same.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from pubpriv.errors import InvalidInput

ARROW = ("s3", "gs", "abfs", "hdfs", "viewfs")
"""Stores that Arrow itself reads."""

_FSSPEC = ("http", "https", "ftp", "sftp", "oss", "oci", "hf", "memory")
"""Stores that fsspec reads. A closed list: of its other schemes many lead to the local disk by another name."""

_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "ssh": "sftp"}
"""Schemes by which other tools call the same stores."""

_AZURE = re.compile(r"([^.@/]+)\.(?:blob|dfs)\.core\.windows\.net", re.IGNORECASE)

_WEB, _HADOOP = ("http", "https"), ("hdfs", "viewfs")

_PORT = re.compile(r":0*([0-9]*)$")
_USUAL_PORTS = {"http": ("80", "443"), "https": ("80", "443"), "ftp": ("21",), "sftp": ("22",), "hdfs": ("8020",)}


def common(scheme: str) -> str:
    """Return the name of a scheme that all tools' names for it stand for."""
    return _SAME.get(scheme.lower(), scheme.lower())


def canonical_url(scheme: str, rest: str) -> str:
    """Return one name for a table in a store; the scheme is the common one, and a slash at the end is left out.

    Args:
        scheme: of the URL.
        rest: what follows `://`.

    Raises:
        InvalidInput: no store that is known, or no place in it; a way around (`.`, `..`, or two slashes), or on the web
            what is no part of a path.
    """
    scheme = common(scheme)
    authority, _, path = rest.rstrip("/").partition("/")
    if scheme not in (*ARROW, *_FSSPEC):
        raise InvalidInput(
            f"{scheme}:// is no store that Arrow or fsspec knows for tables: write a local path, or one of "
            f"{', '.join(f'{known}://' for known in (*ARROW, *_FSSPEC))}"
        )
    if not authority and scheme not in _HADOOP:
        raise InvalidInput(f"the URL of a table in {scheme}:// names a bucket or host after the two slashes")
    if scheme in _WEB and not {"?", "#"}.isdisjoint(rest):
        raise InvalidInput(f"the URL of a table in {scheme}:// has no ? and no # in it")
    if path and not {"", ".", ".."}.isdisjoint(_read_as(scheme, path).split("/")):
        raise InvalidInput(f"the URL of a table in {scheme}:// has no ., no .. and no two slashes in its path")
    container, _, host = authority.rpartition("@")
    azure = _AZURE.fullmatch(host) if scheme == "abfs" else None
    if azure is not None:  # the account may come before or after the container
        if not container:
            container, _, path = path.partition("/")
        authority = f"{container}@{azure[1].lower()}.dfs.core.windows.net"
    return f"{scheme}://{authority}/{path}" if path else f"{scheme}://{authority}"


def _read_as(scheme: str, path: str) -> str:
    """Give the path that a server reads: keys of other stores are letters, not escapes."""
    return unquote(path) if scheme in _WEB else path


@lru_cache(maxsize=1 << 12)
def compared_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a URL's canonical name, in which ways to write one host, or one web path, are the same.

    Letters of a host have no case, a port may be the usual one, and `http` and `https` lead to one server. Where this
    takes two places for one, a table is refused.
    """
    scheme, _, rest = name.partition("://")
    host, _, path = rest.rstrip("/").partition("/")
    host = host.lower()
    if scheme in _HADOOP:
        host = host.rpartition("@")[2] or "*"  # without a host it is that of the settings, which may be any
    if scheme == "abfs" and "@" not in host:
        host += "@*"  # a container of the settings' account, which may be any
    port = _PORT.search(host)
    if port is not None:
        host = host[: port.start()] + ("" if port[1] in ("", *_USUAL_PORTS.get(scheme, ())) else f":{port[1]}")
    parts = _read_as(scheme, path).split("/") if path else []
    if scheme == "hf":
        parts = [part.partition("@")[0] for part in parts]  # of any revision
    return "web" if scheme in _WEB else scheme, host.removesuffix("."), *parts
