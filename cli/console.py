"""How the command line speaks: results on standard output, progress and errors on standard error."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from pubpriv.errors import PubPrivError

STEP_NAMES = {
    "ingest_public": "reading the public table",
    "ingest_private": "looking at the private table's schema",
    "precondition": "scaling columns by the public rows",
    "supercluster": "looking for groups among the public rows",
    "public_model": "fitting the public rows alone",
    "public_starts": "preparing public starts",
    "private_pca": "private principal components",
    "seed": "seeding components",
    "locate": "locating components in the private rows",
    "estimate_components": "estimating components",
    "count_weights": "counting weights",
    "prefer": "comparing models on the private rows",
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


def note(text: str) -> None:
    """A line for the person at the keyboard."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on standard output; numbers are expected as text."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        grid.add_row(*row)
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
            if console.is_terminal:
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
    """Print an error as one line and return the exit code."""
    if isinstance(error, PubPrivError):
        note(f"error: {' '.join(str(error).split())}")  # one line, also where a library's text is quoted
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        note("interrupted: answers that were paid for are kept")
        return INTERRUPTED
    note(f"error: a defect in pubpriv ({type(error).__name__}); nothing private is in this line. Please report it")
    return 1
