"""Options that several commands share."""

import os
from typing import Annotated, Any

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

ComponentsOption = Annotated[
    int | None,
    typer.Option(help="Number of components; default: found by the run.", show_default=False),
]
MaxComponentsOption = Annotated[
    int | None,
    typer.Option(help="Most components that a run may find (8); instead of --components.", show_default=False),
]
MixtureMethodOption = Annotated[
    str, typer.Option(help="auto; or the paper's algorithms, to compare with: bks-scarce or bks-ample.")
]
ConstantsOption = Annotated[str, typer.Option(help="Of bks-scarce and bks-ample: practical, or paper as printed.")]
CovarianceTypeOption = Annotated[
    str, typer.Option(help="full, diag, spherical, or auto: what the noise of the answers leaves.")
]
MinWeightOption = Annotated[
    float | None,
    typer.Option(help="Smallest weight of a component that has to be found; default: 1 / k.", show_default=False),
]


def mixture_settings(
    components: int | None,
    max_components: int | None,
    method: str,
    constants: str,
    covariance_type: str,
    min_weight: float | None,
) -> dict[str, Any]:
    """The fields of `MixtureSettings`, from the options of `fit mixture` and `plan mixture`."""
    from pubpriv.mixture.settings import MOST_UNKNOWN

    if components is not None and max_components is not None:
        raise InvalidInput("--components says how many there are, --max-components that the run finds out: give one")
    return {
        "n_components": components,
        "max_components": MOST_UNKNOWN if max_components is None else max_components,
        "method": method,
        "constants": constants,
        "covariance_type": covariance_type,
        "min_weight": min_weight,
    }


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
