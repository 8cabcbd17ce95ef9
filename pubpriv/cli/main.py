"""The program `pubpriv`: its commands, each imported when it is called, and the handling of their errors."""

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from pubpriv.cli.console import INTERRUPTED, any_console, check_arguments, fail, manner, note, out
from pubpriv.cli.extras import checkout
from pubpriv.errors import InvalidInput

_OPTIONS: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
_COMPLETING = _OPTIONS | {"add_completion": True}
"""Settings of the whole program: `--install-completion` belongs to it, not to each command."""

_COMMANDS = {
    "init": ("pubpriv.cli.init:init", "Describe a dataset in a file, and register it."),
    "doctor": ("pubpriv.cli.doctor:doctor", "Check this installation, one line a check."),
    "demo": ("pubpriv.cli.demo:demo", "Release a mixture of open data, at (4, 1e-6)-DP."),
    "audit": ("pubpriv.cli.audit:audit", "Try to break every privacy promise made here."),
    "show": ("pubpriv.cli.release:show", "Show a release: numbers, errors, guarantee, warnings."),
    "report": ("pubpriv.cli.release:report", "Write a release as one HTML page."),
    "explain": ("pubpriv.cli.explain:explain", "Draw what a run asked, what it cost, what came out."),
    "compare": ("pubpriv.cli.release:compare", "Show what changed from one release to another."),
    "regress": ("pubpriv.cli.regress:regress", "Regress a released column on others, for free."),
    "pca": ("pubpriv.cli.regress:pca", "Compute principal components of a release, for free."),
    "sample": ("pubpriv.cli.release:sample", "Draw synthetic rows from a released model."),
    "deploy": ("pubpriv.cli.operate:deploy", "Register deployments on the Prefect server."),
    "status": ("pubpriv.cli.status:status", "Show the state of budgets, releases and runs."),
    "serve": ("pubpriv.cli.operate:serve", "Run server, worker and examples on this machine."),
    "backfill": ("pubpriv.cli.operate:backfill", "Run the periods that a schedule missed."),
    "fit": ("pubpriv.cli.fit:app", "Estimate from a private table, and write a model."),
    "open": ("pubpriv.cli.open:open_", "Plan, release and read in a browser of this machine."),
    "plan": ("pubpriv.cli.plan:app", "Predict the price and the error of an estimate."),
    "budget": ("pubpriv.cli.budget:app", "Set, show and explain budgets of datasets."),
    "ledger": ("pubpriv.cli.ledger:app", "Verify, export or restore the ledger."),
    "bench": ("pubpriv.cli.bench:app", "Measure what the documentation claims."),
}
"""Import path of each command, and its line in `pubpriv --help`."""

_LISTED = {name: line for name, (_, line) in _COMMANDS.items() if name != "bench" or checkout()}
"""Lines of `pubpriv --help`; an installed package has no benchmarks."""


class _Loaded(Mapping[str, Any]):
    """Commands by name; each is imported only when it is looked up, so that no command waits for another's imports."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = _COMMANDS[name][0].partition(":")
        found: Callable[..., Any] | typer.Typer = getattr(import_module(module), attribute)
        holder = typer.Typer(**_OPTIONS)
        holder.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name=name)(found)
        return get_group(holder).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Program(TyperGroup):
    """The group of all commands."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = _Loaded()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the library's signature
        """List names, in the order of `_COMMANDS`."""
        return list(_COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the library's signature
        """Write the list of `--help`."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_LISTED.items()))


app = typer.Typer(name="pubpriv", cls=_Program, no_args_is_help=True, **_COMPLETING)


def _tell_version(asked: bool) -> None:
    """Print only the version, and exit."""
    if asked:
        from importlib.metadata import version

        out(f"pubpriv {version('pubpriv')}")
        raise typer.Exit


@app.callback()
def _pubpriv(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Statistics of a private table, released under differential privacy with the help of public rows."""


# old versions of Typer raise Click's classes, new ones those of their own copy: looked up by name, to work with both
_USAGE = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main() -> None:
    """Run a command, and exit with the code of its error."""
    os.environ["DO_NOT_TRACK"] = "1"  # before any command imports Prefect, which would tell its makers so
    atexit.register(_leave_garbage)
    any_console()
    shown: set[str] = set()  # public rows are opened several times in a run
    warnings.showwarning = lambda message, *_: _warn_once(str(message), shown)
    manner.set("json" if os.environ.get("PUBPRIV_LOG", "").strip().lower() == "json" else "text")
    try:
        check_arguments()
        code = app(prog_name="pubpriv", standalone_mode=False)
        if code == INTERRUPTED:  # Typer's code for Ctrl-C
            code = fail(KeyboardInterrupt())
    except typer.Exit as stop:
        code = stop.exit_code
    except BaseException as error:
        code = _code(error)
    sys.exit(code if isinstance(code, int) else 0)


def _leave_garbage() -> None:
    """Let Python end without a search of all modules for garbage: a seventh of the time of a small fit.

    DuckDB's binding counts what such a search would have found, and prints it as leaked
    (`findings/duckdb-frozen-garbage.sh`).
    """
    if "_duckdb" not in sys.modules:
        gc.freeze()


def _warn_once(message: str, shown: set[str]) -> None:
    if message not in shown:
        shown.add(message)
        note(f"warning: {message}")


def _code(error: BaseException) -> int:
    if isinstance(error, typer.Abort):
        return fail(KeyboardInterrupt())
    if isinstance(error, _USAGE):
        return _usage(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, ModuleNotFoundError):
        from pubpriv.cli.extras import explained

        return fail(explained(error) or error)
    return fail(error)


def _usage(error: Any) -> int:
    """Say what is wrong with a command line, and where to look it up."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    where = error.ctx.command_path if getattr(error, "ctx", None) else "pubpriv"
    message = error.format_message().rstrip(".")
    return fail(InvalidInput(f"{message}{'' if message.endswith('?') else ':'} see `{where} --help`"))
