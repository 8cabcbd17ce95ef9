"""URLs of ledgers, and their form without a password.

A password leaves this module only for the driver: messages, handles, flow parameters and logs have the URL without
it. Another process finds the password in `PUBPRIV_LEDGER`, if it has the same URL, or where PostgreSQL's own clients
look (`PGPASSWORD`, a password file).
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from pubpriv.common.urls import shown_url
from pubpriv.errors import InvalidInput

VARIABLE = "PUBPRIV_LEDGER"
"""Environment variable that may hold the URL of the ledger."""

_GRAMMAR = "a ledger URL is sqlite:///PATH or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"

_ENCODE = "percent-encode what is special in a name or a password: %40 for @, %2F for /, %3A for :, %25 for %"

_SCHEMES = ("postgresql", "postgresql+psycopg", "postgres")
_SETTINGS = frozenset(
    {"host", "port", "service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl"}
    | {"gssencmode", "channel_binding", "target_session_attrs", "application_name", "connect_timeout"}
    | {"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"}
)
"""Settings allowed after the question mark: those of libpq that are not secret and change no meaning."""

_OTHER_SETTINGS = frozenset({"password", "sslpassword", "user", "dbname", "hostaddr", "options", "require_auth"})
"""Other settings that messages may name: an unknown name may be a part of a password."""

# passwords by URL without password, for handles that are opened in a process that knows the password
_passwords: dict[str, str] = {}


@dataclass(frozen=True)
class Address:
    """A parsed ledger URL.

    Attributes:
        kind: kind of database.
        shown: the URL without a password; `Ledger.open` accepts it in any process that can find the password.
        path: the file of an SQLite ledger.
        url: URL for the driver; None for SQLite. Its text hides the password.
    """

    kind: Literal["sqlite", "postgresql"]
    shown: str
    path: Path | None = None
    url: sa.URL | None = None

    def carries_password(self, url: str) -> bool:
        """Return whether `url`, from which this address was parsed, contains a password."""
        return self.url is not None and sa.make_url(url).password is not None

    @property
    def is_missing(self) -> bool:
        """Whether the file of an SQLite ledger does not exist. Of a ledger on a server this is not known."""
        return self.path is not None and not self.path.exists()

    def masked(self, text: str) -> str:
        """Return `text` with the password removed, wherever it was quoted."""
        password = self.url.password if self.url is not None else None
        return text.replace(str(password), "***") if password else text


def understand(url: object) -> Address:
    """Parse a ledger URL.

    Raises:
        InvalidInput: not such a URL; the message shows nothing that may be a password.
    """
    if not isinstance(url, str) or "\0" in url:
        raise InvalidInput(f"{_GRAMMAR}, and a text")
    if url.startswith("sqlite:///") and url != "sqlite:///":
        _refuse_settings(url)
        path = Path(os.path.abspath(os.path.expanduser(url.removeprefix("sqlite:///"))))
        return Address("sqlite", f"sqlite:///{path}", path)
    if url.partition("://")[0] in _SCHEMES and "://" in url:
        return _postgresql(url)
    raise InvalidInput(f"{_GRAMMAR}, not {shown_url(url)!r}")


def without_password(url: str) -> str:
    """Return the URL in the form that may be shown, stored and passed on; this process remembers the password.

    The path of an SQLite ledger becomes absolute: what is shown may be read, or used, in another folder.
    """
    return understand(url).shown


def _refuse_settings(url: str) -> None:
    """Refuse settings of SQLite, which would become a part of the file's name, with any password in them."""
    name = url.rpartition("/")[2]
    if re.search(r"\?\w+=", name) and not os.path.exists(url.removeprefix("sqlite:///")):
        raise InvalidInput(f"a ledger URL of SQLite takes no settings after a question mark: {shown_url(url)}")


def _postgresql(url: str) -> Address:
    parsed = _parsed(url)
    bare, text = _bare(parsed), _shown(parsed)
    if parsed.password:
        _passwords[text] = str(parsed.password)
    password = parsed.password or _passwords.get(text) or _from_environment(text)
    return Address("postgresql", text, url=bare.set(password=password) if password else bare)


def _bare(url: sa.URL) -> sa.URL:
    """`url` without a password (with `URL.set`, None would mean "unchanged")."""
    return sa.URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)


def _shown(url: sa.URL) -> str:
    """`url` as users write it: without a password, and without the driver's name."""
    return _bare(url).set(drivername="postgresql").render_as_string()


def _parsed(url: str) -> sa.URL:
    if url.count("@") > 1:
        raise InvalidInput(
            f"the ledger URL {shown_url(url)} has a second @ in it, so it does not say where its password ends: "
            f"{_ENCODE}. Or leave it out, and put it into PGPASSWORD or a password file"
        )
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        parsed = None
    if parsed is None or not parsed.database:
        raise InvalidInput(f"{_GRAMMAR}, not {shown_url(url)!r}; {_ENCODE}")
    if ":" in (parsed.username or "") or "@" in f"{parsed.host}{parsed.query.get('host')}":
        raise InvalidInput(
            f"the ledger URL {shown_url(url)} has a : in its user's name or an @ in its host's: the : between user and "
            "password and the @ behind the password are not encoded"
        )
    _check_settings(parsed)
    return parsed.set(drivername="postgresql+psycopg")


def _check_settings(parsed: sa.URL) -> None:
    odd = set(parsed.query) - _SETTINGS
    if not odd:
        return
    named = sorted(odd & _OTHER_SETTINGS) + (["setting of another name"] if odd - _OTHER_SETTINGS else [])
    raise InvalidInput(
        f"a ledger URL takes no {' and no '.join(named)}: a password comes before the @, or in a password file; "
        f"settings are {', '.join(sorted(_SETTINGS))}"
    )


def _from_environment(shown: str) -> str | None:
    """The password of the same URL in the environment."""
    url = os.environ.get(VARIABLE, "")
    if url.partition("://")[0] not in _SCHEMES:
        return None
    try:
        known = _parsed(url)
    except InvalidInput:
        return None
    same = _shown(known) == shown
    return str(known.password) if same and known.password else None
