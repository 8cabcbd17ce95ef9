"""Amount of output of a command: nothing, a line per step, more, or events for logs.

There are few events, each with the same public facts every time.

| event | facts in addition to `dataset` and `release_id` |
|---|---|
| `run_started` | `estimate` (name of the estimator), `budget` of the run |
| `step_started` | `step`, `title`: for people, with a number if the step repeats |
| `charge` | `step`, `label`, `question`, `cost`; only what was paid now: a replayed answer costs nothing |
| `step_finished` | `step`, `seconds` (null for steps that use private rows), `charges` |
| `run_finished` | `converged`, `states` by column, `spent`, `charges`, `warnings` |

The command line also logs `note` (`message`) and, when it fails, `failed` (`error`, `message`, `exit_code`).

Durations of private steps may depend on rows (`docs/privacy.md`), so they are not logged, and no line has a time. The
system that collects the lines adds time stamps, which must be kept from outsiders.
"""

import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from pubpriv.cli.console import manner, note
from pubpriv.cli.interrupts import checking, remembered
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.estimators.steps import Place, Runner, Step

_LOGGER = logging.getLogger("pubpriv")
_LOGGER.addHandler(logging.NullHandler())

_RUN = ("dataset", "release_id")
_EVENTS: Mapping[str, tuple[str, ...]] = {
    "run_started": (*_RUN, "estimate", "budget"),
    "step_started": (*_RUN, "step", "title"),
    "charge": (*_RUN, "step", "label", "question", "cost"),
    "step_finished": (*_RUN, "step", "seconds", "charges"),
    "run_finished": (*_RUN, "converged", "states", "spent", "charges", "warnings"),
}


def log_event(event: str, **facts: Any) -> None:
    """Log an event with exactly its facts.

    Raises:
        TypeError: an event or a fact that is not in the vocabulary.
    """
    if set(facts) != set(_EVENTS.get(event, ())) or event not in _EVENTS:
        raise TypeError(f"{event} takes {', '.join(_EVENTS.get(event, ()))}, not {', '.join(facts)}")
    _LOGGER.info(event, extra={"facts": {name: facts[name] for name in _EVENTS[event]}})


class _JsonLines(logging.Formatter):
    """One JSON object a line: level, event, and its facts in their order."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the line."""
        facts = getattr(record, "facts", {})
        return json.dumps({"level": record.levelname.lower(), "event": record.getMessage(), **facts})


def _follower(dataset: str, release_id: str) -> "Callable[[Runner], Runner]":
    """Return a value for `steps.watcher` that logs every step of a run with its charges.

    Args:
        dataset: dataset of the run.
        release_id: release id of the run.
    """
    from pubpriv.curator import Curator

    def around(runner: "Runner") -> "Runner":
        def followed(step: "Step[..., Any]", place: "Place", /, *args: Any, **kwargs: Any) -> Any:
            run = {"dataset": dataset, "release_id": release_id, "step": step.name}
            curator = next((value for value in (*args, *kwargs.values()) if isinstance(value, Curator)), None)
            log_event("step_started", **run, title=step.at(place))
            paid = set() if curator is None else {line.label for line in curator.statement().charges}
            start = time.monotonic()
            result = runner(step, place, *args, **kwargs)
            seconds = None if step.private else round(time.monotonic() - start, 3)
            new = [] if curator is None else [c for c in curator.statement().charges if c.label not in paid]
            for line in new:
                log_event("charge", **run, label=line.label, question=line.question, cost=line.cost)
            log_event("step_finished", **run, seconds=seconds, charges=len(new))
            return result

        return followed

    return around


Verbosity = Literal["quiet", "steps", "verbose", "json"]


def verbosity_of(quiet: bool, verbose: bool, log_json: bool) -> Verbosity:
    """Choose the verbosity from options, else from `PUBPRIV_LOG`, and set the console to it.

    Raises:
        InvalidInput: two options, or an unknown `PUBPRIV_LOG`.
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
    """Show the steps of a job while it runs, and end it between two steps if Ctrl-C was lost."""
    from pubpriv.estimators.steps import watcher

    with remembered() as check, _shown(verbosity, job):
        token = watcher.set(checking(check, watcher.get()))
        try:
            yield
        finally:
            watcher.reset(token)


@contextmanager
def _shown(verbosity: Verbosity, job: Any) -> Iterator[None]:
    if verbosity == "quiet":
        yield
    elif verbosity == "steps":
        with _progress():
            yield
    else:
        from pubpriv.estimators.steps import watcher

        with _logging_to_stderr(_JsonLines() if verbosity == "json" else _Sentences()):
            token = watcher.set(_follower(job.dataset, job.release_id))
            try:
                yield
            finally:
                watcher.reset(token)


_TURN = re.compile(r"(\d+) of (\d+)")
"""Place of a step that repeats; see `Place`."""


@contextmanager
def _progress() -> Iterator[None]:
    """Show a spinner with the number and name of the current step, or a line per step without a terminal.

    A step that repeats a known number of times is one step and one line. The total number of steps follows from answers
    of the run, so it is not shown. Durations are not shown either: that of a private step may depend on rows.
    """
    from rich.console import Console

    from pubpriv.estimators.steps import Place, Runner, Step, watcher

    console, count = Console(stderr=True, highlight=False), 0

    def around(runner: Runner) -> Runner:
        def shown(step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
            nonlocal count
            turn = _TURN.fullmatch(place.name)
            again = turn is not None and turn[1] != "1"
            count += not again
            if spinner is not None:
                spinner.update(f"step {count}: {step.at(place)} ...")
            elif not again:
                title = step.at(place) if turn is None else f"{step.title}, {turn[2]} times"
                note(f"  step {count}: {title}")
            return runner(step, place, *args, **kwargs)

        return shown

    token = watcher.set(around)
    try:
        with console.status("starting ...") if console.is_terminal else nullcontext() as spinner:
            yield
    finally:
        watcher.reset(token)


@contextmanager
def _logging_to_stderr(formatter: logging.Formatter) -> Iterator[None]:
    """Write our own events to standard error, for a while."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    level, passes_on = _LOGGER.level, _LOGGER.propagate
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)
    _LOGGER.propagate = False
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(level)
        _LOGGER.propagate = passes_on


class _Sentences(logging.Formatter):
    """Events for people: a line when a step begins, and its duration when it is done."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the line."""
        event, facts = record.getMessage(), getattr(record, "facts", {})
        if event == "step_started":
            return f"  {facts['title']} ..."
        if event == "charge":
            from pubpriv.privacy.wording import for_people

            return f"    charged {for_people(facts['cost'])} for {facts['label']} ({facts['question']})"
        if event == "step_finished":
            took = "done" if facts["seconds"] is None else f"done in {facts['seconds']:.2f} s"
            return f"    {took}"
        if event == "run_finished":
            return f"  finished: spent {facts['spent']} in {facts['charges']} charges"
        return f"  {event.replace('_', ' ')}: {facts['estimate']} of {facts['dataset']} with {facts['budget']}"
