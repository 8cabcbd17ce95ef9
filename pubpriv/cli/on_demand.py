"""Commands that are imported when they are called: `pubpriv --help` lists them without, and none waits for another."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_group

MANNERS: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


def checkout() -> Path | None:
    """Return the folder of the project's sources if this package runs in one: `benchmarks` is there only."""
    root = Path(__file__).parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "benchmarks").is_dir() else None


class Loaded(Mapping[str, Any]):
    """Commands by name; each is imported and built when it is looked up.

    Args:
        homes: `module:attribute` of a function or a `typer.Typer`, by the command's name.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self._homes[name].partition(":")
        found: Callable[..., Any] | typer.Typer = getattr(import_module(module), attribute)
        holder = typer.Typer(**MANNERS)
        holder.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name=name)(found)
        return get_group(holder).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


class OnDemand(TyperGroup):
    """A group whose commands are listed by `about` and found by `homes`; subclasses set both."""

    homes: ClassVar[Mapping[str, str]]
    about: ClassVar[Mapping[str, str]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = Loaded(self.homes)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the library's signature
        """Names, in the order of the list."""
        return list(self.homes)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the library's signature
        """The list of `--help`."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about.items()))
