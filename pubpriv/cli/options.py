"""Options that several commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pubpriv.errors import InvalidInput, Unavailable

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="Ledger URL: sqlite:///PATH or postgresql://USER@HOST/DATABASE; or set PUBPRIV_LEDGER.",
        show_default=False,
    ),
]
BudgetOption = Annotated[str, typer.Option(help="Most that this run may spend: zcdp:RHO, approx:EPS,DELTA, pure:EPS.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        help='Use these columns, for example age,"log1p(cost)"; also log, sqrt, clip(x, 0, 9) and "a / b". '
        "A name with a comma in it, or one that reads as an expression, stands between double quotes or backticks.",
        show_default=False,
    ),
]
RowsPerPersonOption = Annotated[
    str,
    typer.Option(
        metavar="1|L|auto",
        help="If the unit is a person: how many rows of each count in full. 1: each person counts once.",
    ),
]
PersonsOption = Annotated[
    int | None, typer.Option(min=2, help="Number of persons, if the unit is a person.", show_default=False)
]
AnotherTableOption = Annotated[
    bool,
    typer.Option(
        "--another-table",
        help="The private table has the columns, and where that is public the number of rows, of another dataset's "
        "table, and yet other rows. Nothing checks it.",
    ),
]

# of measurements
FirstSeedOption = Annotated[int, typer.Option(min=0, help="Seed of the first run; the next ones follow.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Processes.")]
EachBudgetOption = Annotated[str, typer.Option(help="Budget of each run.")]


def written(write: Callable[[], object], path: Path) -> None:
    """Write a file, or say that its place takes none.

    Raises:
        Unavailable: the disk refuses it.
    """
    refused = None
    try:
        write()
    except OSError as error:
        refused = error.strerror
    if refused is not None:
        raise Unavailable(f"{path} cannot be written ({refused}): choose another place")


def check_suffix(path: Path, what: str, *suffixes: str) -> None:
    """Refuse a file whose suffix does not fit the written format.

    Args:
        path: path of the file.
        what: description of the contents, with an article.
        suffixes: allowed suffixes, the usual one first; "": no suffix.

    Raises:
        InvalidInput: another suffix.
    """
    if path.suffix.lower() not in suffixes:
        raise InvalidInput(f"{what} is no {path.suffix} file: give --out a name that ends in {suffixes[0]}")


def ledger_url(option: str | None) -> str:
    """Return the URL of the ledger from the option or PUBPRIV_LEDGER, without a password (`ledger.urls` keeps it)."""
    from pubpriv.privacy.ledger.urls import without_password

    url = option or os.environ.get("PUBPRIV_LEDGER")
    if not url:
        raise InvalidInput("no ledger: give --ledger sqlite:///PATH, or set PUBPRIV_LEDGER")
    return without_password(url)
