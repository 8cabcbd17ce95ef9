"""How much a command says: a line a step, nothing, more, or one JSON object a line for whoever keeps logs."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from pubpriv.cli.console import manner, progress
from pubpriv.errors import InvalidInput

Verbosity = Literal["quiet", "steps", "verbose", "json"]


def verbosity_of(quiet: bool, verbose: bool, log_json: bool) -> Verbosity:
    """Choose what options and `PUBPRIV_LOG` ask for, options first, and set the console to it.

    Raises:
        InvalidInput: two at once, or a `PUBPRIV_LOG` that is not known.
    """
    if quiet + verbose + log_json > 1:
        raise InvalidInput("choose one of --quiet, --verbose and --log-json")
    asked = os.environ.get("PUBPRIV_LOG", "").strip().lower()
    if asked not in {"", "text", "json"}:
        raise InvalidInput(f"PUBPRIV_LOG is json or text, not {asked!r}")
    chosen: Verbosity = "quiet" if quiet else "verbose" if verbose else "steps"
    if log_json or (chosen == "steps" and asked == "json"):
        chosen = "json"
    manner.set(chosen if chosen in ("quiet", "json") else "text")
    return chosen


@contextmanager
def following(verbosity: Verbosity, job: Any) -> Iterator[None]:
    """Show the steps of a job while it runs."""
    if verbosity == "quiet":
        yield
    elif verbosity == "steps":
        with progress():
            yield
    else:
        from pubpriv.cli.logs import JsonLines, follower
        from pubpriv.estimators.steps import watcher

        with _logging_to_stderr(JsonLines() if verbosity == "json" else _Sentences()):
            token = watcher.set(follower(job.dataset, job.release_id))
            try:
                yield
            finally:
                watcher.reset(token)


@contextmanager
def _logging_to_stderr(formatter: logging.Formatter) -> Iterator[None]:
    """Write our own events to standard error, for a while."""
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
