"""`pubpriv plan`: what a run would cost and tell, before a row is read. Nothing is charged, no ledger is needed."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.derived import by_column_options, settings_from, with_settings
from pubpriv.cli.options import ColumnsOption, JsonOption
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS, Estimator

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Size

app = typer.Typer(
    no_args_is_help=True,
    help=f"Price and predicted error before a row is read: {', '.join(each.name for each in ESTIMATORS)}.",
)

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


def _plan(estimator: Estimator) -> Callable[..., None]:
    def plan(
        budget: Budget,
        rows: Rows = None,
        private: Private = None,
        public: Public = None,
        columns: ColumnsOption = None,
        public_rows: PublicRows = None,
        dims: Dims = None,
        error: Error = None,
        as_json: JsonOption = False,
        **given: Any,
    ) -> None:
        settings = settings_from(estimator, given)
        opened = _public(public, columns, public_rows, dims, private)
        by_column = by_column_options(estimator, given)
        if by_column and public is None:
            raise InvalidInput(f"{by_column[0]} names columns of --public: give that file too")
        case = estimator.case(settings, opened)
        _tell(estimator.name, case, _rows(rows, private, opened, columns), budget, error, as_json)

    return plan


for each in ESTIMATORS:
    app.command(each.name, help=each.plan_help)(with_settings(_plan(each), each, planned=True))


def _public(
    path: str | None, columns: str | None, rows: int | None, dims: int | None, private: str | None
) -> "PublicTable | Size":
    """The public table, or how large it will be."""
    from pubpriv.data.columns import split_columns
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.estimators.planning import Size

    if path is None:
        if rows is None or dims is None:
            raise InvalidInput("say what public rows there are: --public FILE, or --public-rows M --dims D")
        if columns is not None:
            raise InvalidInput("--columns names columns of --public: without that file give --dims alone")
        return Size(rows, dims)
    if rows is not None or dims is not None:
        raise InvalidInput("--public FILE tells rows and columns: leave --public-rows and --dims out")
    check_public_file(path, None, private)
    return PublicTable.open(path, None if columns is None else split_columns(columns))


def _rows(rows: int | None, private: str | None, public: "PublicTable | Size", columns: str | None) -> int:
    """n, given or counted."""
    from pubpriv.data.tables import PrivateTable
    from pubpriv.estimators.planning import Size

    if (rows is None) == (private is None):
        raise InvalidInput("say how many private rows there are: --rows N, or --private TABLE to count them")
    if private is None:
        return rows or 0
    if isinstance(public, Size):
        raise InvalidInput("--private is counted for the columns of --public FILE: give that too, or --rows N")
    return PrivateTable.open(private, public.columns, columns is None).n_rows


def _tell(name: str, case: Any, rows: int, budget: str, error: float | None, as_json: bool) -> None:
    from pubpriv.estimators.planning import make_plan
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
    if plan.enough is None:
        out("feasible: yes")
    else:
        out(f"feasible: no, the answers would be mostly noise; what would do: {plan.enough.text()}")
    if plan.wanted is not None:
        out(f"an error of {plan.wanted[0]:g} takes: {plan.wanted[1].text()}")
    for line in plan.notes:
        note(f"note: {line}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
