"""The program `pubpriv`: commands, and what becomes of their errors."""

import sys

import typer

from cli import bench, budget, demo, fit
from cli.console import fail

app = typer.Typer(
    name="pubpriv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Statistics of a private table, released under differential privacy with the help of public rows.",
)
app.add_typer(fit.app, name="fit")
app.add_typer(budget.app, name="budget")
app.add_typer(bench.app, name="bench")
app.command(name="demo")(demo.demo)


def main() -> None:
    """Run, and leave with the exit code that the kind of error has."""
    try:
        code = app(standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except BaseException as error:
        code = _code(error)
    sys.exit(code if isinstance(code, int) else 0)


def _code(error: BaseException) -> int:
    import click

    if isinstance(error, click.exceptions.Abort):
        return fail(KeyboardInterrupt())
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    return fail(error)
