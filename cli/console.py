"""How the command line speaks: results on standard output, progress and errors on standard error."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from pubpriv.errors import PubPrivError

STEP_NAMES = {
    "ingest_public": "reading the public table",
    "ingest_private": "looking at the private table's schema",
    "precondition": "scaling columns by the public rows",
    "supercluster": "looking for groups among the public rows",
    "tighten": "scaling columns by clusters of the public rows",
    "public_model": "fitting the public rows alone",
    "public_starts": "preparing public starts",
    "private_pca": "private principal components",
    "seed": "seeding components",
    "probe": "asking whether seeds stand for different components",
    "locate": "locating components in the private rows",
    "estimate_components": "estimating components",
    "estimate_diagonal": "estimating components",
    "estimate_spherical": "estimating components",
    "choose_shape": "choosing a covariance type",
    "count_weights": "counting weights",
    "prefer": "comparing models on the private rows",
    "open_level": "superclusters of the public rows",
    "level_pca": "private principal components of a level",
    "public_query": "looking for balls that split the public rows",
    "private_query": "asking the private rows about one split of each group",
    "easy_clusters": "splitting the public rows by balls",
    "start_clusters": "starting each component at its public rows",
    "clipped_mean": "asking for a clipped mean",
    "combine_means": "undoing the clipping",
    "approach": "approaching standard coordinates",
    "measure": "measuring mean and covariance",
    "examine": "looking for awkward columns in the public rows",
    "count_rows": "counting whole rows",
    "learn_scale": "finding the scale of an awkward column",
    "assemble": "assembling coordinates",
    "spread_quantile": "asking how far the rows reach",
    "decide": "choosing between a Gaussian and the table's own moments",
    "measure_table": "measuring the table's own moments",
    "pool": "pooling with the public rows",
    "bound": "bounds from the public rows",
    "covariance_round": "a CoinPress round of the covariance",
    "mean_round": "a CoinPress round of the mean",
}

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def out(text: str = "") -> None:
    """A line of a result."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


manner: ContextVar[str] = ContextVar("manner", default="text")
"""How `note` and `fail` speak: `text`, `quiet` (errors alone) or `json` (one object a line)."""


def note(text: str) -> None:
    """A line for the person at the keyboard; for whoever keeps logs, an event."""
    if manner.get() == "json":
        level = "warning" if text.startswith("warning:") else "info"
        _line(json.dumps({"level": level, "event": "note", "message": text}))
    elif manner.get() == "text":
        _line(text)


def _line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on standard output; numbers are expected as text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # names are other people's text: as `Text` their brackets are no markup
    grid = Table(title=Text(title, style="table.title"), title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(Text(column), justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    width = None if sys.stdout.isatty() else 160
    Console(file=sys.stdout, width=width, highlight=False).print(grid)


@contextmanager
def progress() -> Iterator[None]:
    """A spinner that names the step at work; a line per step where there is no terminal.

    It tells names, never durations: how long a private step takes may depend on rows.
    """
    from rich.console import Console

    from pubpriv.ingest import watcher

    console = Console(stderr=True, highlight=False)

    def around(name: str, step: Any) -> Any:
        def told(*args: Any, **kwargs: Any) -> Any:
            step_name = STEP_NAMES.get(name, name.replace("_", " "))
            if spinner is not None:
                spinner.update(f"{step_name} ...")
            else:
                note(f"  {step_name}")
            return step(*args, **kwargs)

        return told

    token = watcher.set(around)
    try:
        with console.status("starting ...") if console.is_terminal else nullcontext() as spinner:
            yield
    finally:
        watcher.reset(token)


def fail(error: BaseException) -> int:
    """Print an error as one line, whatever else is told, and return the exit code."""
    if isinstance(error, PubPrivError):
        text, code = f"error: {' '.join(str(error).split())}", error.exit_code  # one line, also of a library's text
    elif isinstance(error, KeyboardInterrupt):
        text, code = "interrupted: answers that were paid for are kept", INTERRUPTED
    else:
        name = type(error).__name__
        text, code = f"error: a defect in pubpriv ({name}); nothing private is in this line. Please report it", 1
    if manner.get() == "json":
        message = text.removeprefix("error: ")
        told = {"level": "error", "event": "failed", "error": type(error).__name__, "message": message}
        text = json.dumps(told | {"exit_code": code})
    _line(text)
    return code
