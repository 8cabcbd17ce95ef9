"""`pubpriv plan`: predict what a run would cost and how exact it would be, before a row is read.

Nothing is charged, and no ledger is needed.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.derived import by_column_options, settings_from, with_settings
from pubpriv.cli.options import BudgetOption, ColumnsOption, JsonOption, PersonsOption, RowsPerPersonOption
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS, Estimator

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Size

app = typer.Typer(
    no_args_is_help=True,
    help=f"Price and predicted error before a row is read: {', '.join(each.name for each in ESTIMATORS)}.",
)


def _plan(estimator: Estimator) -> Callable[..., None]:
    def plan(
        budget: BudgetOption,
        rows: Annotated[int | None, typer.Option(min=2, help="Number of private rows.", show_default=False)] = None,
        private: Annotated[
            str | None,
            typer.Option(help="Count the rows of this private table instead; none is read.", show_default=False),
        ] = None,
        persons: PersonsOption = None,
        rows_per_person: RowsPerPersonOption = "1",
        public: Annotated[str | None, typer.Option(help="Public rows, Parquet or CSV.", show_default=False)] = None,
        columns: ColumnsOption = None,
        public_rows: Annotated[
            int | None,
            typer.Option(min=1, help="Number of public rows, instead of --public; with --dims.", show_default=False),
        ] = None,
        dims: Annotated[
            int | None, typer.Option(min=1, help="Number of columns, with --public-rows.", show_default=False)
        ] = None,
        error: Annotated[
            float | None,
            typer.Option(
                help="Show the rows or the budget at which the first error is at most this.", show_default=False
            ),
        ] = None,
        as_json: JsonOption = False,
        **given: Any,
    ) -> None:
        settings = settings_from(estimator, given)
        opened = _public(public, columns, public_rows, dims, private)
        by_column = by_column_options(estimator, given)
        if by_column and public is None:
            raise InvalidInput(f"{by_column[0]} names columns of --public: give that file too")
        case = estimator.case(settings, opened)
        if rows_per_person != "1":
            raise InvalidInput(
                "a plan is for --rows-per-person 1: how many rows count otherwise is known once a run has asked"
            )
        from pubpriv.estimators.planning import PersonCase

        if persons is None:
            _show(estimator.name, case, _rows(rows, private, opened, columns), budget, error, as_json)
            return
        if rows is not None or private is not None:
            raise InvalidInput("--persons N is for tables whose unit is a person: leave out --rows and --private")
        _show(estimator.name, PersonCase(case), persons, budget, error, as_json)

    return plan


for each in ESTIMATORS:
    app.command(each.name, help=each.plan_help)(with_settings(_plan(each), each, planned=True))


def _public(
    path: str | None, columns: str | None, rows: int | None, dims: int | None, private: str | None
) -> "PublicTable | Size":
    """Open the public table, or say how large it will be."""
    from pubpriv.data.columns import split_columns
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.estimators.planning import Size

    if path is None:
        if rows is None or dims is None:
            raise InvalidInput("say what public rows there are: give --public FILE, or --public-rows M --dims D")
        if columns is not None:
            raise InvalidInput("--columns names columns of --public: without that file give --dims alone")
        return Size(rows, dims)
    if rows is not None or dims is not None:
        raise InvalidInput("--public FILE gives rows and columns: leave out --public-rows and --dims")
    check_public_file(path, None, private)
    return PublicTable.open(path, None if columns is None else split_columns(columns))


def _rows(rows: int | None, private: str | None, public: "PublicTable | Size", columns: str | None) -> int:
    """Give the number of private rows, or count them."""
    from pubpriv.data.tables import PrivateTable
    from pubpriv.estimators.jobs import check_may_be_counted
    from pubpriv.estimators.planning import Size

    if (rows is None) == (private is None):
        raise InvalidInput("say how many private rows there are: give --rows N, or --private TABLE to count them")
    if private is None:
        return rows or 0
    if isinstance(public, Size):
        raise InvalidInput("--private is counted for the columns of --public FILE: give that too, or --rows N")
    check_may_be_counted(private)
    return int(PrivateTable.open(private, public.columns, columns is None).n_rows or 0)


def _show(name: str, case: Any, rows: int, budget: str, error: float | None, as_json: bool) -> None:
    from pubpriv.estimators.planning import PersonCase, make_plan
    from pubpriv.privacy.budgets import parse_budget

    plan = make_plan(case, rows, parse_budget(budget), error)
    if as_json:
        out(json.dumps({"plan": name, **plan.to_json()}))
        return
    what = "persons, each counted once" if isinstance(case, PersonCase) else "private rows"
    out(f"estimate: {name} of {plan.n:,} {what}, {plan.d} columns, with {plan.m:,} public rows")
    out(f"privacy: {plan.guarantee['text']}")
    steps = [[step.label, step.question, f"{step.share:.3%}", step.price] for step in plan.steps]
    table("questions", ["", "asks for", "share", "price"], steps)
    errors = [
        [
            f"{each.of} ({each.unit})" if each.unit else each.of,
            *map(_number, (each.error, each.sampling, each.privacy, each.non_private, each.public_only)),
        ]
        for each in plan.forecast.errors
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
