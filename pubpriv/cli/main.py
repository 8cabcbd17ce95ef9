"""The program `pubpriv`: commands, and what becomes of their errors."""

import os
import sys
import warnings
from typing import Any, ClassVar

import typer

from pubpriv.cli.console import INTERRUPTED, fail, manner, note
from pubpriv.cli.on_demand import MANNERS, OnDemand, checkout
from pubpriv.errors import InvalidInput

COMMANDS = {
    "demo": ("pubpriv.cli.demo:demo", "The main job on open data, at (4, 1e-6)-DP."),
    "audit": ("pubpriv.cli.audit:audit", "Try to break every privacy promise here."),
    "show": ("pubpriv.cli.release:show", "A release: numbers, errors, guarantee, warnings."),
    "report": ("pubpriv.cli.release:report", "A release as one HTML page without a network."),
    "compare": ("pubpriv.cli.release:compare", "What changed from one release to another."),
    "sample": ("pubpriv.cli.release:sample", "Draw synthetic rows from a released model."),
    "deploy": ("pubpriv.cli.operate:deploy", "Register deployments on the Prefect server."),
    "serve": ("pubpriv.cli.operate:serve", "Server, worker and examples on this machine."),
    "backfill": ("pubpriv.cli.operate:backfill", "Run the periods of a schedule that were missed."),
    "fit": ("pubpriv.cli.fit:app", "Estimate: mean, gaussian, mixture."),
    "plan": ("pubpriv.cli.plan:app", "Price and error of an estimate beforehand."),
    "budget": ("pubpriv.cli.budget:app", "Budgets of datasets: set, show, history, report."),
    "ledger": ("pubpriv.cli.ledger:app", "The ledger itself: verify, export, restore."),
    "bench": ("pubpriv.cli.bench:app", "Figures that the documentation claims."),
}
"""Where each command is, and its line in `pubpriv --help`; what it says of itself at length is there."""

LISTED = {name: line for name, (_, line) in COMMANDS.items() if name != "bench" or checkout()}
"""Lines of `pubpriv --help`: an installed package brings no benchmarks."""


class Program(OnDemand):
    """The group of all commands."""

    homes: ClassVar = {name: home for name, (home, _) in COMMANDS.items()}
    about: ClassVar = LISTED


app = typer.Typer(name="pubpriv", cls=Program, no_args_is_help=True, **MANNERS)


@app.callback()
def pubpriv() -> None:
    """Statistics of a private table, released under differential privacy with the help of public rows."""


# old versions of Typer raise the classes of Click, new ones those of a copy they bring: found by name, it is either
USAGE = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main() -> None:
    """Run, and leave with the exit code that the kind of error has."""
    warnings.showwarning = lambda message, *_: note(f"warning: {message}")
    manner.set("json" if os.environ.get("PUBPRIV_LOG", "").strip().lower() == "json" else "text")
    try:
        code = app(prog_name="pubpriv", standalone_mode=False)
        if code == INTERRUPTED:  # what Typer makes of Ctrl-C
            code = fail(KeyboardInterrupt())
    except typer.Exit as stop:
        code = stop.exit_code
    except BaseException as error:
        code = _code(error)
    sys.exit(code if isinstance(code, int) else 0)


def _code(error: BaseException) -> int:
    if isinstance(error, typer.Abort):
        return fail(KeyboardInterrupt())
    if isinstance(error, USAGE):
        return _usage(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, ModuleNotFoundError):
        from pubpriv.cli.extras import explained

        return fail(explained(error) or error)
    return fail(error)


def _usage(error: Any) -> int:
    """A command line that cannot be understood: what is wrong, and where to look it up."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    where = error.ctx.command_path if getattr(error, "ctx", None) else "pubpriv"
    return fail(InvalidInput(f"{error.format_message().rstrip('.')}: see `{where} --help`"))
