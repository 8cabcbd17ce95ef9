"""How much a command says: as usual, quietly, at length, or as one JSON object a line for whoever keeps logs."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pubpriv.cli.console import manner, progress
from pubpriv.errors import InvalidInput

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the model's path, and errors.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Tell what each step charged, and how long public steps took.")
]
LogJsonOption = Annotated[
    bool, typer.Option("--log-json", help="Log to standard error, one JSON object a line; or PUBPRIV_LOG=json.")
]


@dataclass(frozen=True)
class Voice:
    """What of a run is told: at most one is True."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False


USUAL = Voice()
"""A line a step."""


def voice_of(quiet: bool, verbose: bool, log_json: bool) -> Voice:
    """The voice that options and `PUBPRIV_LOG` ask for, options first; the console takes it on.

    Raises:
        InvalidInput: two at once, or a `PUBPRIV_LOG` that is not known.
    """
    if quiet + verbose + log_json > 1:
        raise InvalidInput("choose one of --quiet, --verbose and --log-json")
    asked = os.environ.get("PUBPRIV_LOG", "").strip().lower()
    if asked not in {"", "text", "json"}:
        raise InvalidInput(f"PUBPRIV_LOG is json or text, not {asked!r}")
    voice = Voice(quiet, verbose, log_json or (asked == "json" and not (quiet or verbose)))
    manner.set("quiet" if voice.quiet else "json" if voice.as_json else "text")
    return voice


@contextmanager
def speaking(voice: Voice, job: Any) -> Iterator[None]:
    """Follow the steps of a job in this voice, while it runs."""
    if voice.quiet:
        yield
        return
    if not (voice.verbose or voice.as_json):
        with progress():
            yield
        return
    from pubpriv.cli.logs import JsonLines, follower
    from pubpriv.estimators.steps import watcher

    with logging_to_stderr(JsonLines() if voice.as_json else _Sentences()):
        token = watcher.set(follower(job.dataset, job.release_id))
        try:
            yield
        finally:
            watcher.reset(token)


@contextmanager
def logging_to_stderr(formatter: logging.Formatter) -> Iterator[None]:
    """Our own events on standard error, for a while."""
    from pubpriv.cli.logs import LOGGER

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    level, passes_on = LOGGER.level, LOGGER.propagate
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        LOGGER.propagate = passes_on


class _Sentences(logging.Formatter):
    """Events for a person: a line a step when it begins, and what it took when it is done."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        event, facts = record.getMessage(), getattr(record, "facts", {})
        if event == "step_started":
            return f"  {facts['title']} ..."
        if event == "charge":
            return f"    charged {facts['cost']} for {facts['label']} ({facts['question']})"
        if event == "step_finished":
            took = "done" if facts["seconds"] is None else f"done in {facts['seconds']:.2f} s"
            return f"    {took}"
        if event == "run_finished":
            return f"  finished: spent {facts['spent']} in {facts['charges']} charges"
        return f"  {event.replace('_', ' ')}: {facts['estimate']} of {facts['dataset']} with {facts['budget']}"
