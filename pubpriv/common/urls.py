"""URLs of tables in stores: canonical names, parts for comparing names, and the form of any URL for messages.

A store's own tools write URLs in several ways, and software on the way to a store may change a path: `..` is resolved
before an S3 server sees it. So such paths are refused, and different spellings of a host count as the same.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from pubpriv.errors import InvalidInput

ARROW = ("s3", "gs", "abfs", "hdfs", "viewfs")
"""Stores that Arrow itself reads."""

_FSSPEC = ("http", "https", "ftp", "sftp", "oss", "oci", "hf", "memory")
"""Stores that fsspec reads. A closed list, because many of its other schemes are other names for the local disk."""

_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "ssh": "sftp"}
"""Other tools' schemes for the same stores."""

_AZURE = re.compile(r"([^.@/]+)\.(?:blob|dfs)\.core\.windows\.net", re.IGNORECASE)

_WEB, _HADOOP = ("http", "https"), ("hdfs", "viewfs")

_PORT = re.compile(r":0*([0-9]*)$")
_USUAL_PORTS = {"http": ("80", "443"), "https": ("80", "443"), "ftp": ("21",), "sftp": ("22",), "hdfs": ("8020",)}

_WITH_SCHEME = re.compile(r"(\s*[A-Za-z][A-Za-z0-9+.-]*:/+)?(.*)", re.DOTALL)
_COLON = re.compile(":|%3a", re.IGNORECASE)
_NO_PORT = re.compile(r"^[^/?]*?(:|%3a)(?![0-9]*(?:[/?]|$))", re.IGNORECASE)
_SETTING = re.compile(r"([\w.-]+\s*=)")


def shown_url(url: str) -> str:
    """Return a URL, or what was meant as one, without what may be a secret: its form for messages.

    A password ends at the last `@`, because some users do not encode those inside of it. It begins at the first colon
    after the scheme. Without an `@`, it begins at a colon behind which there is no port. Of settings after a question
    mark, or of text without a scheme, only the first name is left.

    Examples:
        >>> shown_url("postgresql://ann:two@at/signs@db.example/ledger?sslmode=require")
        'postgresql://ann@db.example/ledger?sslmode=***'
    """
    scheme, rest = _split(url)
    before, at, after = rest.rpartition("@")
    if at:
        user = _COLON.split(before)[0]
        shown = _without_values(user)  # of a password among the settings the `@` is a part
        return f"{scheme}{shown}" if shown != user else f"{scheme}{user}@{_without_values(after)}"
    if not scheme:
        return _without_values(rest)
    secret = _NO_PORT.search(rest)
    return f"{scheme}{_without_values(rest if secret is None else rest[: secret.start(1)])}"


def has_credentials(url: str) -> bool:
    """Return whether a URL has a user and a password, encoded or not, before an `@`.

    A number before the first slash is a port; an `@` behind it belongs to the path.
    """
    scheme, rest = _split(url)
    before, at, _ = rest.rpartition("@")
    authority, path, _ = before.partition("/")
    port = path and re.fullmatch(r"[^:]*:[0-9]*", authority)
    return bool(scheme and at and not port and _COLON.search(authority))


def _split(url: str) -> tuple[str, str]:
    """Scheme of a URL with its slashes, empty if there is none, and the rest."""
    parts = _WITH_SCHEME.fullmatch(url)
    assert parts is not None  # it matches every text
    return parts[1] or "", parts[2]


def _without_values(text: str) -> str:
    """Cut settings behind the first name: what follows may belong to a secret with `&` in it."""
    first = _SETTING.search(text)
    return text if first is None else f"{text[: first.end()]}***"


def common(scheme: str) -> str:
    """Return the one scheme for all tools' names of the same store."""
    return _SAME.get(scheme.lower(), scheme.lower())


def canonical_url(scheme: str, rest: str) -> str:
    """Return the canonical name of a table in a store, with the common scheme and without a slash at the end.

    Args:
        scheme: scheme of the URL.
        rest: the part after `://`.

    Raises:
        InvalidInput: an unknown store, or no bucket or host; `.`, `..` or two slashes in the path; `?` or `#` in a web
            URL.
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
    """The path as a web server reads it, with escapes decoded; keys of other stores have no escapes."""
    return unquote(path) if scheme in _WEB else path


@lru_cache(maxsize=1 << 12)
def compared_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a URL's canonical name for comparison, with one spelling for each host or web path.

    Hosts are case-insensitive, a default port is dropped, and `http` and `https` count as one server. If this takes two
    different places for the same, a table is refused, which is safe.
    """
    scheme, _, rest = name.partition("://")
    host, _, path = rest.rstrip("/").partition("/")
    host = host.lower()
    if scheme in _HADOOP:
        host = host.rpartition("@")[2] or "*"  # without a host, any that the settings name
    if scheme == "abfs" and "@" not in host:
        host += "@*"  # without an account, any that the settings name
    port = _PORT.search(host)
    if port is not None:
        host = host[: port.start()] + ("" if port[1] in ("", *_USUAL_PORTS.get(scheme, ())) else f":{port[1]}")
    parts = _read_as(scheme, path).split("/") if path else []
    if scheme == "hf":
        parts = [part.partition("@")[0] for part in parts]  # any revision
    return "web" if scheme in _WEB else scheme, host.removesuffix("."), *parts
