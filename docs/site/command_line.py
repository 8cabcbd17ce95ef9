"""The reference of the command line, as Markdown, from the program itself."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from pubpriv.cli.main import app

_HEAD = """\
# Command line

This page is written from the program when the site is built. `pubpriv COMMAND --help` shows the same in a terminal.
[Exit codes](exit-codes.md) are the same for all commands. Results go to standard output, all else to standard error.
"""


def command_line() -> str:
    """Write a section for each command, and below it for each of its parts."""
    program = get_command(app)
    return "\n".join([_HEAD, *_sections(program, ["pubpriv"])])


def _sections(command: Any, names: list[str]) -> Iterator[str]:
    if len(names) > 1:
        yield f"{'#' * min(len(names), 3)} {' '.join(names)}\n"
        yield f"{_text(command.help)}\n"
        if not hasattr(command, "commands"):
            yield from _usage(command, names)
    for name in getattr(command, "commands", {}):
        yield from _sections(command.commands[name], [*names, name])


def _usage(command: Any, names: list[str]) -> Iterator[str]:
    arguments = [_metavar(each) for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    yield f"```text\n{' '.join([*names, *arguments, *(['[OPTIONS]'] if options else [])])}\n```\n"
    shown = [each for each in command.params if getattr(each, "help", None) and not getattr(each, "hidden", False)]
    if shown:
        yield "| | what it does | default |\n|---|---|---|"
        yield from map(_row, shown)
        yield ""


def _row(parameter: Any) -> str:
    default = parameter.default
    shown = "" if default in (None, False, (), []) or callable(default) else f"`{default}`"
    required = "needed" if parameter.required else shown
    written = "`" + ", ".join([*parameter.opts, *parameter.secondary_opts]) + "`"
    name = f"`{_metavar(parameter)}`" if parameter.param_type_name == "argument" else written
    return f"| {name} | {_text(parameter.help)} | {required} |"


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper()).replace("|", "-or-")


def _text(text: str | None) -> str:
    """A help text as Markdown: what looks like markup is none."""
    plain = " ".join((text or "").split())
    return plain.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
