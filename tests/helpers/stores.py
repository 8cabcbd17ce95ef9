"""Databases for tests: SQLite files, and a real PostgreSQL on loopback whose files go when the tests end."""

import itertools
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from pubpriv.deployments.serving import free_port
from pubpriv.privacy.ledger import Ledger

PASSWORD = "s3cret/pa:ss@word"  # what a careless URL would break on
KINDS = ("sqlite", "postgresql")

_ROOM = 4 << 30
"""Bytes that the databases of a session have room in."""


def postgres_programs() -> Path | None:
    """The folder of PostgreSQL's newest server programs, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: folder.parent.name.rjust(4))
    folders.insert(0, Path(shutil.which("initdb") or "/nowhere/initdb").parent)
    found = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return found[-1] if found else None


def _where() -> str:
    """In memory where there is room: a hundred databases are a gigabyte of files, made and deleted."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM else "/tmp"


@contextmanager
def running_postgres() -> Iterator["Postgres"]:
    """A server for a while; skips the test, with the reason, where its programs are missing."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("SKIPPED: no PostgreSQL server programs (Debian: apt-get install postgresql)")
    server = Postgres(programs)
    try:
        yield server
    finally:
        server.remove()


class Store(ABC):
    """Where ledgers of tests are."""

    def __init__(self) -> None:
        self._originals: dict[Callable[[str], None], str] = {}

    @abstractmethod
    def new_url(self) -> str:
        """The URL of a ledger that does not exist yet."""

    @abstractmethod
    def _copy(self, url: str) -> str:
        """The URL of a copy of a ledger that nobody has open."""

    def copied(self, make: Callable[[str], None]) -> str:
        """The URL of a ledger as `make` makes it at a new URL: once, for to copy one takes a tenth of the time."""
        if make not in self._originals:
            url = self.new_url()
            make(url)
            self._originals[make] = url
        return self._copy(self._originals[make])


def empty(url: str) -> None:
    """Make a ledger without datasets."""
    Ledger.open(url).close()


class Files(Store):
    """SQLite, each ledger in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self._numbers = folder, itertools.count()

    def _new_path(self) -> Path:
        path = self._folder / str(next(self._numbers)) / "ledger.db"
        path.parent.mkdir()
        return path

    def new_url(self) -> str:
        return f"sqlite:///{self._new_path()}"

    def _copy(self, url: str) -> str:
        path = self._new_path()
        shutil.copy(url.removeprefix("sqlite:///"), path)
        return f"sqlite:///{path}"


class Postgres(Store):
    """A cluster of its own: password authentication, loopback only, fsync on."""

    def __init__(self, programs: Path) -> None:
        super().__init__()
        self.programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="pubpriv-postgres-", dir=_where()))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # the server refuses to run as root
        self._as = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(self._folder, "postgres", "postgres")
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = ["--username=pubpriv", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8"]
        self._run("initdb", "--pgdata", str(self._data), "--no-instructions", *options)
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self._folder, **self._as)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start the server, if it is not running, and wait until it answers."""
        if self._process is not None:
            return
        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
        settings |= {"max_connections": 200}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            command = [str(self.programs / "postgres"), "-D", str(self._data), *arguments]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, **self._as)
        until = time.monotonic() + 90
        while not self._answers():
            assert time.monotonic() < until, (self._folder / "log").read_text()
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with raw(self.url("postgres")) as connection:
                return bool(connection.execute(sa.text("SELECT true")).scalar())
        except sa.exc.OperationalError:
            return False

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT breaks connections off, SIGQUIT stops at once as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(90)
            self._process = None

    def remove(self) -> None:
        """Stop at once, and delete all files."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str, password: str = PASSWORD) -> str:
        """A ledger URL."""
        return sa.URL.create("postgresql", "pubpriv", password, "127.0.0.1", self.port, database).render_as_string(
            hide_password=False
        )

    def new_url(self) -> str:
        """The URL of a new, empty database."""
        return self._create()

    def _copy(self, url: str) -> str:
        return self._create(sa.make_url(url).database)

    def _create(self, original: str | None = "template1") -> str:
        """The URL of a database like another one; as files, which takes a third of the time."""
        name = f"ledger_{secrets.token_hex(6)}"
        with raw(self.url("postgres"), isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {original} STRATEGY FILE_COPY"))
        return self.url(name)


@contextmanager
def raw(url: str, **options: str) -> Iterator[sa.Connection]:
    """A connection that knows nothing of the ledger's rules; what was done in it is committed."""
    engine = sa.create_engine(sa.make_url(url.replace("postgresql://", "postgresql+psycopg://")), **options)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def drop_guards(connection: sa.Connection) -> None:
    """Take away triggers and unique indexes, as the owner of a database can."""
    if connection.dialect.name == "sqlite":
        names = connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
        for name in names:
            connection.execute(sa.text(f"DROP TRIGGER {name}"))
    else:
        for table in ("records", "datasets"):
            connection.execute(sa.text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
    for kind in ("charged", "published", "opened", "closed"):
        connection.execute(sa.text(f"DROP INDEX one_{kind}"))
