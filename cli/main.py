"""The program `pubpriv`: commands, and what becomes of their errors."""

import os
import sys
import warnings
from typing import Any

import typer

from cli import audit, bench, budget, demo, fit, ledger, operate, plan, release
from cli.console import INTERRUPTED, fail, manner, note
from pubpriv.errors import InvalidInput

app = typer.Typer(
    name="pubpriv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Statistics of a private table, released under differential privacy with the help of public rows.",
)
app.add_typer(fit.app, name="fit")
app.add_typer(plan.app, name="plan")
app.add_typer(budget.app, name="budget")
app.add_typer(ledger.app, name="ledger")
app.add_typer(bench.app, name="bench")
app.command(name="demo")(demo.demo)
app.command(name="audit")(audit.audit)
app.command(name="show")(release.show)
app.command(name="report")(release.report)
app.command(name="compare")(release.compare)
app.command(name="sample")(release.sample)
app.command(name="deploy")(operate.deploy)
app.command(name="serve")(operate.serve)
app.command(name="backfill")(operate.backfill)


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
    return fail(error)


def _usage(error: Any) -> int:
    """A command line that cannot be understood: what is wrong, and where to look it up."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return error.exit_code
    where = error.ctx.command_path if getattr(error, "ctx", None) else "pubpriv"
    return fail(InvalidInput(f"{error.format_message().rstrip('.')}: see `{where} --help`"))
