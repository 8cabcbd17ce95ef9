"""`pubpriv plan`: what a run would cost and tell, before a row is read. Nothing is charged, no ledger is needed."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, out, table
from cli.options import (
    ColumnsOption,
    ComponentsOption,
    ConstantsOption,
    CovarianceTypeOption,
    JsonOption,
    MaxComponentsOption,
    MinWeightOption,
    MixtureMethodOption,
    ScaleOption,
    mixture_settings,
    scales,
)
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable

app = typer.Typer(no_args_is_help=True, help="Price and predicted error before a row is read: mean, gaussian, mixture.")

Budget = Annotated[str, typer.Option(help="What the run may spend: zcdp:RHO or approx:EPS,DELTA.")]
Rows = Annotated[int | None, typer.Option(min=2, help="Number of private rows.", show_default=False)]
Private = Annotated[
    str | None, typer.Option(help="Or the private table, whose rows are counted, not read.", show_default=False)
]
Public = Annotated[str | None, typer.Option(help="Public rows, Parquet or CSV.", show_default=False)]
PublicRows = Annotated[int | None, typer.Option(min=1, help="Or how many there will be ...", show_default=False)]
Dims = Annotated[int | None, typer.Option(min=1, help="... and of how many columns.", show_default=False)]
Error = Annotated[
    float | None,
    typer.Option(help="Wanted: the first error at most so; tells the rows or budget it takes.", show_default=False),
]


@app.command()
def mean(
    budget: Budget,
    rows: Rows = None,
    private: Private = None,
    public: Public = None,
    columns: ColumnsOption = None,
    public_rows: PublicRows = None,
    dims: Dims = None,
    error: Error = None,
    as_json: JsonOption = False,
) -> None:
    """Of `fit mean` where the covariance is known; the error is that of a column's mean, in its standard deviations.

    Where the covariance is unknown, `plan gaussian` is the plan.
    """
    from pubpriv.forecasts import MeanCase

    opened = _public(public, columns, public_rows, dims, private)
    size = (dims, public_rows) if opened is None else opened.rows.shape[::-1]
    _tell("mean", MeanCase(*size), _rows(rows, private, opened, columns), budget, error, as_json)


@app.command()
def gaussian(
    budget: Budget,
    rows: Rows = None,
    private: Private = None,
    public: Public = None,
    columns: ColumnsOption = None,
    public_rows: PublicRows = None,
    dims: Dims = None,
    target: Annotated[str, typer.Option(help="auto, gaussian or moments.")] = "auto",
    scale: ScaleOption = None,
    error: Error = None,
    as_json: JsonOption = False,
) -> None:
    """Of `fit gaussian`; the error is that of the covariance, relative, in Frobenius norm."""
    from pubpriv.forecasts import GaussianCase
    from pubpriv.gaussian.pipeline import chosen_target

    target, given = chosen_target(target, "learner", scales(scale)), scales(scale)
    opened = _public(public, columns, public_rows, dims, private)
    if given and opened is None:
        raise InvalidInput("--scale names columns of --public: give that file too")
    sized = GaussianCase.sized, (dims, public_rows, target)
    make, known = sized if opened is None else (GaussianCase.of, (opened, target, given))
    _tell("gaussian", make(*known), _rows(rows, private, opened, columns), budget, error, as_json)


@app.command()
def mixture(
    budget: Budget,
    components: ComponentsOption = None,
    max_components: MaxComponentsOption = None,
    method: MixtureMethodOption = "auto",
    constants: ConstantsOption = "practical",
    covariance_type: CovarianceTypeOption = "full",
    min_weight: MinWeightOption = None,
    rows: Rows = None,
    private: Private = None,
    public: Public = None,
    columns: ColumnsOption = None,
    public_rows: PublicRows = None,
    dims: Dims = None,
    error: Error = None,
    as_json: JsonOption = False,
) -> None:
    """Of `fit mixture`; the error is that of a component's mean, in standard deviations of a column in it."""
    from pubpriv.mixture.settings import MixtureSettings
    from pubpriv.mixture_forecasts import MixtureCase

    chosen = mixture_settings(components, max_components, method, constants, covariance_type, min_weight)
    settings = MixtureSettings(**chosen)
    opened = _public(public, columns, public_rows, dims, private)
    sized = MixtureCase.sized, (dims, public_rows, settings)
    make, known = sized if opened is None else (MixtureCase.of, (opened, settings))
    _tell("mixture", make(*known), _rows(rows, private, opened, columns), budget, error, as_json)


def _public(
    path: str | None, columns: str | None, rows: int | None, dims: int | None, private: str | None
) -> "PublicTable | None":
    """The public table, or None where only its size is known."""
    from pubpriv.data.columns import split_columns
    from pubpriv.data.tables import PublicTable
    from pubpriv.jobs import check_public_file

    if path is None:
        if rows is None or dims is None:
            raise InvalidInput("say what public rows there are: --public FILE, or --public-rows M --dims D")
        if columns is not None:
            raise InvalidInput("--columns names columns of --public: without that file give --dims alone")
        return None
    if rows is not None or dims is not None:
        raise InvalidInput("--public FILE tells rows and columns: leave --public-rows and --dims out")
    check_public_file(path, None, private)
    return PublicTable.open(path, None if columns is None else split_columns(columns))


def _rows(rows: int | None, private: str | None, public: "PublicTable | None", columns: str | None) -> int:
    """n, given or counted."""
    from pubpriv.data.tables import PrivateTable

    if (rows is None) == (private is None):
        raise InvalidInput("say how many private rows there are: --rows N, or --private TABLE to count them")
    if private is None:
        return rows or 0
    if public is None:
        raise InvalidInput("--private is counted for the columns of --public FILE: give that too, or --rows N")
    return PrivateTable.open(private, public.columns, columns is None).n_rows


def _tell(name: str, case: Any, rows: int, budget: str, error: float | None, as_json: bool) -> None:
    from pubpriv.planning import make_plan
    from pubpriv.privacy.budgets import parse_budget

    plan = make_plan(case, rows, parse_budget(budget), error)
    if as_json:
        out(json.dumps({"plan": name, **plan.to_json()}))
        return
    out(f"estimate: {name} of {plan.n:,} private rows, {plan.d} columns, with {plan.m:,} public rows")
    out(f"privacy: {plan.guarantee['text']}")
    steps = [[step.label, step.question, f"{step.share:.3%}", step.price] for step in plan.steps]
    table("questions", ["", "asks for", "share", "price"], steps)
    errors = [
        [
            f"{told.of} ({told.unit})" if told.unit else told.of,
            *map(_number, (told.error, told.sampling, told.privacy, told.non_private, told.public_only)),
        ]
        for told in plan.forecast.errors
    ]
    heads = ["", "error", "of sampling", "of privacy", "without privacy", "public rows alone"]
    table("predicted root mean square errors", heads, errors)
    if plan.feasible:
        out("feasible: yes")
    else:
        out(f"feasible: no, the answers would be mostly noise; what would do: {plan.enough.told()}")
    if plan.wanted is not None:
        out(f"an error of {plan.wanted[0]:g} takes: {plan.wanted[1].told()}")
    for line in plan.notes:
        note(f"note: {line}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
