"""`pubpriv plan`: predict the price and the errors of a run, before a row is read.

Nothing is charged, and no ledger is needed; a ledger with the dataset saves typing.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.contents import show_contents
from pubpriv.cli.derived import by_column_options, settings_from, with_settings
from pubpriv.cli.known import Known
from pubpriv.cli.options import (
    BudgetOption,
    ColumnsOption,
    JsonOption,
    LedgerOption,
    PersonsOption,
    RowsPerPersonOption,
)
from pubpriv.cli.planned_period import outlook_of, show_outlook, with_outlook, without_table
from pubpriv.cli.rehearsal import RehearsalOption, show_rehearsal
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS, Estimator

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.person_case import PersonCase
    from pubpriv.estimators.planning import RunPlan, Size
    from pubpriv.estimators.rehearsal.rehearsal import Rehearsal
    from pubpriv.privacy.ledger.period_outlook import PeriodOutlook

_LARGE = 10**9
"""Counts from this one on are written with an exponent."""

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
        sizes: Annotated[
            str | None,
            typer.Option(
                metavar="ROWS:PERSONS,...",
                help="Persons by their number of rows, known or counted in public rows: 1:3000,4:1500,20:500.",
                show_default=False,
            ),
        ] = None,
        public: Annotated[str | None, typer.Option(help="Public rows.", show_default=False)] = None,
        columns: ColumnsOption = None,
        dataset: Annotated[
            str | None,
            typer.Option(
                help="Take the tables of this dataset: its name in the ledger, or its file.", show_default=False
            ),
        ] = None,
        ledger: LedgerOption = None,
        public_rows: Annotated[
            int | None,
            typer.Option(min=1, help="Number of public rows, instead of --public; with --dims.", show_default=False),
        ] = None,
        dims: Annotated[
            int | None, typer.Option(min=1, help="Number of columns, with --public-rows.", show_default=False)
        ] = None,
        period: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Plan for the rows of one period of --dataset, as 2026-11; --rows or --persons is what one has.",
                show_default=False,
            ),
        ] = None,
        error: Annotated[
            float | None,
            typer.Option(
                help="Show the rows or the budget at which the first error is at most this.", show_default=False
            ),
        ] = None,
        rehearsal: RehearsalOption = True,
        theorems: Annotated[
            bool, typer.Option("--theorems", help="Show the rows that the papers' theorems ask for, too.")
        ] = False,
        as_json: JsonOption = False,
        **given: Any,
    ) -> None:
        from pubpriv.estimators.period_case import PeriodCase
        from pubpriv.estimators.planning import make_plan
        from pubpriv.privacy.budgets import parse_budget

        settings = settings_from(estimator, given)
        known = Known.of(dataset, private, public, columns, ledger)
        outlook = None if period is None else outlook_of(known, period, budget)
        if outlook is not None:
            known = without_table(known, rows, persons is not None or sizes is not None, outlook)
        if private is None and any(number is not None for number in (rows, persons, sizes)):
            known = replace(known, private=None)  # plan for this number, not for the dataset's
        if not estimator.needs_public(settings):
            known = replace(known, public=public)  # not the dataset's public rows
        if known.public is None and not estimator.needs_public(settings):
            opened: PublicTable | Size = _no_public(public_rows, dims, known.columns)
        else:
            opened = _public(_with_named(known, settings, estimator), public_rows, dims, estimator)
        by_column = by_column_options(estimator, given)
        if by_column and known.public is None:
            raise InvalidInput(f"{by_column[0]} names columns of --public: give that file too")
        case = estimator.case(settings, opened)
        if persons is None and sizes is None and rows_per_person == "1":
            count = _rows(rows, known, opened)
        elif rows is not None or known.private is not None:
            raise InvalidInput("--persons N is for tables whose unit is a person: leave out --rows and --private")
        else:
            case, count = _persons(case, persons, rows_per_person, sizes)
        made = _rehearsal(estimator, settings, opened, count, budget) if rehearsal else None
        asked = case if outlook is None else PeriodCase(case, outlook.period)
        plan = make_plan(asked, count, parse_budget(budget), error)
        plan = replace(plan, notes=(*getattr(opened, "notes", ()), *plan.notes))
        if as_json:
            data = {"plan": estimator.name, **plan.to_json(), **({} if made is None else {"rehearsal": made.to_json()})}
            out(json.dumps(with_outlook(data, outlook)))
            return
        whose = "" if outlook is None else f" of {outlook.period}"
        what = f"{estimator.name} of {plan.n:,} {_records(case)}{whose}"
        out(f"estimate: {what}, {plan.d} columns, with {plan.m:,} public rows")
        _show(plan, outlook, made, theorems)

    return plan


def _rehearsal(
    estimator: Estimator, settings: Any, public: "PublicTable | Size", n: int, budget: str
) -> "Rehearsal | None":
    """Rehearse the run, if there are public rows."""
    from pubpriv.estimators.planning import Size

    if isinstance(public, Size):
        return None
    from pubpriv.estimators.rehearsal.rehearsal import rehearse
    from pubpriv.privacy.budgets import parse_budget

    return rehearse(estimator, settings, public, n, parse_budget(budget))


def _persons(case: Any, persons: int | None, rows_per_person: str, sizes: str | None) -> tuple["PersonCase", int]:
    """Return the case of persons and their number."""
    from pubpriv.estimators.person_case import PersonCase
    from pubpriv.ledger.unit import DeclaredSizes, check_most

    most = check_most(rows_per_person)
    if sizes is not None:
        declared = DeclaredSizes.parse(sizes)
        return PersonCase(case, most, declared), persons or round(declared.total)
    if most != 1:
        raise InvalidInput(
            "how many rows count depends on how many rows each person has: give that, for example as --sizes "
            "1:3000,4:1500,20:500, or plan for --rows-per-person 1"
        )
    if persons is None:
        raise InvalidInput("say how many persons there are: give --persons N, or --sizes")
    return PersonCase(case), persons


for each in ESTIMATORS:
    app.command(each.name, help=each.plan_help)(with_settings(_plan(each), each, planned=True))


def _with_named(known: Known, settings: Any, estimator: Estimator) -> Known:
    """Name the columns that settings name, with the levels of the public rows."""
    sources = settings.sources_of_terms() if hasattr(settings, "sources_of_terms") else None
    if sources is None or known.public is None:
        return _with_shares(known, settings, estimator)
    from pubpriv.data.public_categories import texts_of_columns
    from pubpriv.estimators.jobs import check_public_file

    check_public_file(known.public, known.ledger, known.private)
    levels = dict(zip(sources, texts_of_columns(known.public, sources), strict=True))
    return replace(known, columns=settings.columns_of_terms(levels))


def _with_shares(known: Known, settings: Any, estimator: Estimator) -> Known:
    """Name the columns whose values are counted, with the levels of the public rows."""
    shares = getattr(settings, "shares", ())
    if not shares or known.public is None:
        return known
    from pubpriv.data.public_categories import counted_columns
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.estimators.old_releases import columns_of_release, stands_for_rows

    check_public_file(known.public, known.ledger, known.private)
    named = columns_of_release if stands_for_rows(known.public, estimator.by_column) else counted_columns
    return replace(known, columns=named(known.public, known.columns, shares))


def _public(known: Known, rows: int | None, dims: int | None, estimator: Estimator) -> "PublicTable | Size":
    """Open the public table, or return its size."""
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.estimators.old_releases import rows_of_release, stands_for_rows
    from pubpriv.estimators.planning import Size
    from pubpriv.estimators.public_rows import usable

    if known.public is None:
        if rows is None or dims is None:
            raise InvalidInput("say what public rows there are: give --public FILE, or --public-rows M --dims D")
        if known.columns is not None and known.dataset is None:
            raise InvalidInput("--columns names columns of --public: without that file give --dims alone")
        return Size(rows, dims)
    if rows is not None or dims is not None:
        raise InvalidInput("--public FILE gives rows and columns: leave out --public-rows and --dims")
    check_public_file(known.public, known.ledger, known.private)
    if stands_for_rows(known.public, estimator.by_column):
        return rows_of_release(known.public, known.columns)
    return usable(PublicTable.open(known.public, known.columns), estimator.one_law)


def _no_public(rows: int | None, dims: int | None, columns: tuple[str, ...] | None) -> "Size":
    """Return the number of columns, all that a method without public rows needs."""
    from pubpriv.estimators.planning import Size

    if rows is not None:
        raise InvalidInput("the method works without public rows: leave out --public-rows")
    if dims is None and columns is None:
        raise InvalidInput("say how many columns there are: give --dims D, or --columns A,B")
    return Size(0, dims or len(columns or ()))


def _rows(rows: int | None, known: Known, public: "PublicTable | Size") -> int:
    """Return the number of private rows as given, or count them."""
    from pubpriv.data.contents import Contents
    from pubpriv.data.tables import PrivateTable
    from pubpriv.estimators.jobs import check_may_be_counted
    from pubpriv.estimators.planning import Size

    if (rows is None) == (known.private is None):
        raise InvalidInput("say how many private rows there are: give --rows N, or --private TABLE to count them")
    if known.private is None:
        return rows or 0
    if isinstance(public, Size):
        raise InvalidInput("--private is counted for the columns of --public FILE: give that too, or --rows N")
    if known.person:
        raise InvalidInput(
            "the unit of the dataset is a person, and the number of its rows is private: give --persons N"
        )
    check_may_be_counted(known.private, known.ledger)
    private = PrivateTable.open(known.private, known.columns or public.columns, known.columns is None)
    show_contents(Contents.of(private))
    return int(private.n_rows or 0)


def _records(case: Any) -> str:
    """What is counted."""
    from pubpriv.estimators.person_case import PersonCase

    if not isinstance(case, PersonCase):
        return "private rows"
    return "persons, each counted once," if case.most == 1 else "persons"


def _show(plan: "RunPlan", outlook: "PeriodOutlook | None", rehearsal: "Rehearsal | None", theorems: bool) -> None:
    """Print what a person asks first: whether it will work, how wide, what would be better; then price and errors."""
    if plan.enough is None:
        out("feasible: yes")
    else:
        out(f"feasible: no, the answers would be mostly noise; what would do: {plan.enough.text()}")
    if rehearsal is not None:
        show_rehearsal(rehearsal)
    if plan.wanted is not None:
        out(f"an error of {plan.wanted[0]:g} takes: {plan.wanted[1].text()}")
    out(f"privacy: {plan.guarantee['text']}")
    if outlook is not None:
        show_outlook(outlook)
    _show_errors(plan)
    _show_questions(plan)
    if theorems:
        _theorems(plan)
    for line in plan.notes:
        note(f"note: {line}")


def _show_errors(plan: "RunPlan") -> None:
    errors = [
        [
            f"{each.of} ({each.unit})" if each.unit else each.of,
            *map(_number, (each.error, each.sampling, each.privacy, each.non_private, each.public_only)),
        ]
        for each in plan.forecast.errors
    ]
    heads = ["", "error", "of sampling", "of privacy", "without privacy", "public rows alone"]
    table("predicted root mean square errors", heads, errors)


def _show_questions(plan: "RunPlan") -> None:
    from pubpriv.privacy.wording import for_people

    steps = [[step.label, step.question, f"{step.share:.3%}", for_people(step.price)] for step in plan.steps]
    table("questions", ["", "asks for", "share", "price"], steps)


def _theorems(plan: "RunPlan") -> None:
    """Print the rows that theorems require, and those that this run is predicted to need for the same error."""
    from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA

    if not plan.theorems:
        return
    rows = [
        [each.theorem, each.way, _count(each.public_rows), _count(each.private_rows), each.constants]
        for each in plan.theorems
    ]
    title = f"rows that theorems ask for: total variation {ALPHA:g} with probability {1 - BETA:g}"
    table(title, ["theorem", "way", "public rows", "private rows", "constants"], rows)
    if plan.practical is None:
        out("rows that this run is predicted to need for that: none are known that would do")
        return
    out(
        f"rows that this run is predicted to need for that, in root mean square: {plan.practical:,}. A theorem covers "
        "every case of its class, with the constants of its proof; the prediction is for Gaussian rows and the noise "
        "of this run"
    )


def _count(value: int | None) -> str:
    """Text of a whole number; large ones with an exponent."""
    if value is None:
        return "none"
    return f"{value:,}" if value < _LARGE else f"{value:.1e}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
