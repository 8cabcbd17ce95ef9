"""Options that several commands share."""

import os
from typing import Annotated

import typer

from pubpriv.errors import InvalidInput

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="Ledger URL: sqlite:///PATH or postgresql://USER@HOST/DATABASE; or set PUBPRIV_LEDGER.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option(help='Columns to use, for example age,cost,"log1p(visits)".', show_default=False),
]

ScaleOption = Annotated[
    list[str] | None,
    typer.Option("--scale", help="COLUMN=VALUE: about one sd of a column that public rows hide; may be repeated."),
]


def scales(given: list[str] | None) -> dict[str, float]:
    """Scales by column, from `COLUMN=VALUE` texts."""
    found: dict[str, float] = {}
    for text in given or []:
        name, sign, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise InvalidInput(f"--scale takes COLUMN=VALUE, for example --scale capital_gain=7000, not {text!r}")
        if name.strip() in found:
            raise InvalidInput(f"--scale names the column {name.strip()} twice")
        found[name.strip()] = number
    return found


def ledger_url(option: str | None) -> str:
    """The ledger that was named, one way or the other; its password stays behind (`ledger.urls` remembers it)."""
    from pubpriv.privacy.ledger.urls import without_password

    url = option or os.environ.get("PUBPRIV_LEDGER")
    if not url:
        raise InvalidInput("no ledger: give --ledger sqlite:///PATH, or set PUBPRIV_LEDGER")
    return without_password(url)
