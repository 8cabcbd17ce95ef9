"""`pubpriv open`: pages to plan, release and read, on this machine alone."""

import os
from pathlib import Path
from typing import Annotated

import typer

from pubpriv.cli.console import note, out
from pubpriv.cli.extras import need

_MODULES = ("prefect", "psutil", "ruamel", "starlette", "uvicorn")


def open_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of datasets, as `pubpriv init` writes them. Default: those of the current folder.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1024, max=65535, help="Listen on this port of 127.0.0.1.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder of releases, for datasets whose file names none. Default: PUBPRIV_OUTPUT, else `releases`.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Serve pages on this machine: datasets with what is left, plans, releases, reports and the ledger.

    Nobody else is let in: the link has a key, and only this machine is listened to. Ctrl-C ends the server and what it
    started; a release that had begun is resumed under its release id.
    """
    for module in _MODULES:
        need(module)
    from pubpriv.released.tree import output_root
    from pubpriv.web.catalogue import catalogue
    from pubpriv.web.server import serve

    folder = output.expanduser().absolute() if output else output_root() or Path.cwd() / "releases"
    entries = catalogue(files or (), folder)

    def ready(link: str) -> None:
        note(f"{len(entries)} datasets: {', '.join(entries)}" if len(entries) > 1 else f"dataset {next(iter(entries))}")
        note("open this link in a browser of this machine; Ctrl-C ends the server")
        out(link)

    serve(entries, port, ready, browser and bool(os.environ.get("DISPLAY") or os.name != "posix"))
