"""Commands that were started from a page, each in a process of its own, and what they have said so far."""

import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.estimators import Estimator
from pubpriv.flows.processes import end, start
from pubpriv.ledger import new_release_id
from pubpriv.web.catalogue import Entry
from pubpriv.web.forms import Command, arguments

_MOST = 4
"""Most commands at work at a time."""


@dataclass(frozen=True)
class Run:
    """A command at work, or done.

    Attributes:
        key: its place in addresses.
        entry: the dataset.
        estimator: what it estimates.
        command: plan or fit.
        values: what was filled in, by field.
        arguments: of the command.
        release_id: of a fit.
        process: the process.
        log: file with all that it said.
    """

    key: str
    entry: Entry
    estimator: Estimator
    command: Command
    values: Mapping[str, str]
    arguments: list[str]
    release_id: str | None
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def code(self) -> int | None:
        """Return the exit code; None: it is at work."""
        return self.process.poll()

    def at_terminal(self) -> str:
        """Write the command as a person would type it."""
        return join(["pubpriv", *self.arguments])

    def said(self) -> list[dict[str, Any]]:
        """Return what it said, one object a line; see `pubpriv.cli.logs`. Other lines are left out."""
        objects = []
        for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                read = json.loads(line)
            except ValueError:
                continue
            if isinstance(read, dict):
                objects.append(read)
        return objects


@dataclass
class Runs:
    """All commands of a server; they end with it, and a release that had begun can be resumed.

    Attributes:
        folder: where their logs go.
        by_key: runs by key.
    """

    folder: Path
    by_key: dict[str, Run] = field(default_factory=dict)

    def begin(
        self,
        entry: Entry,
        estimator: Estimator,
        command: Command,
        values: Mapping[str, str],
        release_id: str | None = None,
    ) -> Run:
        """Start a command.

        Args:
            entry: the dataset.
            estimator: what it estimates.
            command: plan or fit.
            values: what was filled in, by field.
            release_id: of a fit that goes on; None: of a new one.

        Raises:
            InvalidInput: see `arguments`; or too many are at work.
        """
        made = arguments(entry, estimator, command, values)
        if sum(run.code is None for run in self.by_key.values()) >= _MOST:
            raise InvalidInput(f"{_MOST} commands are at work: wait until one is done")
        if command == "plan":
            made.append("--json")
        else:
            release_id = release_id or new_release_id()
            made += [f"--release-id={release_id}", "--plain"]
        key = secrets.token_hex(8)
        log = self.folder / f"{key}.log"
        settings = {"PUBPRIV_LOG": "json", "PUBPRIV_OUTPUT": str(entry.output)}
        process = start("pubpriv", made, os.environ | settings, log, folder=Path.cwd())
        run = Run(key, entry, estimator, command, dict(values), made, release_id, process, log)
        self.by_key[key] = run
        return run

    def stop(self, run: Run) -> None:
        """End a command; what a release paid stays paid, and its answers stay for whoever resumes it."""
        end(run.process)

    def stop_all(self) -> None:
        """End all that are at work."""
        for run in self.by_key.values():
            if run.code is None:
                self.stop(run)
