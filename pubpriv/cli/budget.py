"""`pubpriv budget`: set, show and explain the budget of a dataset; end runs that were left open."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.contents import show_contents
from pubpriv.cli.declared import declared_table
from pubpriv.cli.options import AnotherTableOption, ColumnsOption, JsonOption, LedgerOption, ledger_url
from pubpriv.common.lists import join_names
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.privacy.ledger.period_terms import PeriodTerms
    from pubpriv.privacy.ledger.views import Balance

_MOST_PERIODS = 24
"""Number of newest periods that are shown; --json has all."""

app = typer.Typer(no_args_is_help=True, help="Set, show and explain budgets of datasets; end runs that were left open.")

_Dataset = Annotated[str, typer.Argument(help="Name of the dataset.")]


@app.command("set")
def _set(
    dataset: _Dataset,
    budget: Annotated[str, typer.Argument(help="The cap: pure:EPS, zcdp:RHO or approx:EPS,DELTA.")],
    ledger: LedgerOption = None,
    private: Annotated[str | None, typer.Option(help="Declare this private table as the dataset's.")] = None,
    columns: ColumnsOption = None,
    unit: Annotated[str, typer.Option(help="What one record stands for, in words; nothing checks it.")] = "one record",
    raise_: Annotated[
        bool, typer.Option("--raise", help="Raise the cap of a dataset that is registered; give a --reason.")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="Why the cap is raised; kept in the ledger.")] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[,COLUMN]",
            help="Protect all rows of a person together: the columns that say whose row it is. Never changes.",
            show_default=False,
        ),
    ] = None,
    no_line_breaks: Annotated[
        bool,
        typer.Option(
            "--no-line-breaks",
            help="Declare that no cell of the private table contains a line break; with --person a CSV file needs it.",
        ),
    ] = False,
    persons: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many persons there are, if that may be known; kept in the ledger. Leave it out otherwise.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column by which estimates may tell groups of rows apart; may be repeated."
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT:COLUMN",
            help="Where the table grows: each day, week, month, quarter or year of this date column has a cap. "
            "Holds for ever.",
            show_default=False,
        ),
    ] = None,
    per_period: Annotated[
        str | None, typer.Option(metavar="BUDGET", help="Cap of each period, as zcdp:0.1.", show_default=False)
    ] = None,
    moved_from: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="The dataset's table had this name before it was moved to --private. Nothing checks that it is the "
            "same.",
            show_default=False,
        ),
    ] = None,
    another_table: AnotherTableOption = False,
    lifetime: Annotated[
        str | None,
        typer.Option(
            metavar="none",
            help="`none`: no cap for all periods together, where the unit is a row and the dataset has one table; give "
            "a --reason.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Register a dataset with a cap for all its releases.

    The cap holds for ever. With --private and --columns the table is declared too; otherwise the first fit binds its
    table.
    """
    from pubpriv.common.column_names import split_columns, text_of
    from pubpriv.data.contents import Contents
    from pubpriv.data.persons import person_names
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.ledger.terms import person_columns_of
    from pubpriv.privacy.wording import period_lines

    cap = parse_budget(budget)
    url = ledger_url(ledger)
    if (private is None) != (columns is None):
        raise InvalidInput("declare a table with both --private and --columns, or with neither")
    if by and private is None:
        raise InvalidInput("--by names a column of the private table: give --private and --columns too")
    periods = _periods(period, per_period, lifetime)
    ids = () if person is None else person_names(split_columns(person))
    with Ledger.open(url) as books:
        known = books.datasets()
        before = books.balance(dataset) if dataset in known else None
        if not ids and dataset in known:
            ids = person_columns_of(books.person(dataset))
        id_texts = tuple(map(text_of, ids))
        dates = "" if periods is None else text_of(periods.column)
        declared, table = (
            declared_table(private, split_columns(columns), id_texts, dates, by or ())
            if private and columns
            else (None, None)
        )
        # before the table is declared, because the storage may not answer
        contents = None if declared is None else Contents.of(declared)
        books.register(
            dataset,
            cap,
            table,
            unit,
            raise_,
            reason,
            id_texts,
            persons,
            periods,
            no_line_breaks=no_line_breaks,
            moved_from=moved_from,
            another_table=another_table,
        )
        balance = books.balance(dataset)
    named = f" and the table {declared.uri}" if declared else ""
    whose = f"; all rows of one {' and '.join(ids)} are protected together" if ids else ""
    note(f"dataset {dataset} has a budget of {cap.describe()}{named}{whose}")
    changed = "" if before is None else _changed(before, balance)
    if changed:
        note(f"changed: {changed}")
    if not known:
        note(f"the ledger {url} is new: it does not know what tables may spend, or have spent, by another ledger")
    if contents is not None:
        show_contents(contents)
    if balance.periods is not None:
        for line in period_lines(balance.periods, bool(ids), len(balance.tables)):
            note(line)


def _changed(before: "Balance", now: "Balance") -> str:
    """Say what is other than before in the ledger; empty if nothing is."""
    changes = []
    if now.cap != before.cap:
        changes.append(f"the cap, from {before.budget.describe()} to {now.budget.describe()}")
    whose = ", and whose rows are protected" if now.person != before.person else ""
    if whose or now.unit != before.unit:
        changes.append(f"the unit, from {before.unit} to {now.unit}{whose}")
    if now.periods != before.periods:
        changes.append("its periods")
    known = {each["uri"]: each for each in before.tables}
    for each in now.tables:
        old = known.get(each["uri"])
        if old is None:
            changes.append(f"the table {each['uri']}, which is new")
        elif each != old:
            more = [name for name in each["columns"] if name not in old["columns"]]
            changes.append(f"what is declared of {each['uri']}{f': columns {join_names(more)}' if more else ''}")
    return "; ".join(changes)


def _periods(period: str | None, per_period: str | None, lifetime: str | None) -> "PeriodTerms | None":
    """Terms of periods from the options; None if there are no periods."""
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger.period_terms import PeriodTerms

    if lifetime not in (None, "none"):
        raise InvalidInput("--lifetime is none, or left out: then the dataset's cap holds for all periods together")
    if (period is None) != (per_period is None) or (lifetime and period is None):
        raise InvalidInput("a table that grows takes both --period UNIT:COLUMN and --per-period BUDGET")
    if period is None or per_period is None:
        return None
    return PeriodTerms.parse(period, parse_budget(per_period), lifetime is None)


@app.command("show")
def _show(dataset: _Dataset, ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Show what is spent, held and left.

    Also shown: how many more runs fit, and who is at work. The formal promise is the guarantee of the cap. The amount
    spent is also shown as an epsilon so far.
    """
    from pubpriv.privacy.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as books:
        outlook = books.outlook(dataset)
    if as_json:
        out(json.dumps(outlook.to_json(), indent=1))
        return
    _show_balance(outlook)
    _show_runs(outlook)


def _show_balance(outlook: Any) -> None:
    """Show cap, spent, held and remaining in the ledger's unit and as an epsilon."""
    from pubpriv.privacy.units import DELTA_UNIT, to_text
    from pubpriv.privacy.wording import declared, for_people, left_for_people, neighbours, period_lines

    balance, epsilon = outlook.balance, outlook.epsilon()
    if balance.state.sealed is not None:
        note(f"the books of {balance.dataset} are closed: they go on in {balance.state.sealed}")
    left = left_for_people(balance.remaining, balance.cap)
    columns = ["", balance.budget.currency]
    columns += ["failure delta", f"epsilon at delta {epsilon['delta']:g}"] if "delta" in epsilon else []
    rows = []
    amounts = {"cap": balance.cap, "spent": balance.spent, "held": balance.held, "remaining": left}
    for name, amount in amounts.items():
        row = ["spent so far" if name == "spent" else name, for_people(to_text(amount.main))]
        if "delta" in epsilon:
            row += [f"{amount.delta / DELTA_UNIT:.3g}", f"{epsilon[name] if amount.main else 0:.4g}"]
        rows.append(row)
    if balance.capped:
        table(f"{balance.dataset}: {balance.budget.describe()}", columns, rows)
    else:
        out(f"{balance.dataset}: spent in all periods {for_people(balance.budget.amount_text(balance.spent))}")
    out(f"unit: {declared(balance.unit)}")
    if balance.person is not None:
        out(neighbours(balance.person.columns))
    for uri in (each["uri"] for each in balance.tables if each.get("no_line_breaks")):
        out(f"no cell of {uri} contains a line break, as declared by the owner, not checked")
    if balance.periods is not None:
        _show_periods(balance)
        for line in period_lines(balance.periods, balance.person is not None, len(balance.tables)):
            out(line)
    if balance.capped:
        out(f"guaranteed, whatever is asked: {outlook.guarantee['text']}, per unit, for all runs together")


def _show_periods(balance: Any) -> None:
    """Show amounts spent and held by each of the newest periods, after those that count in all periods."""
    from pubpriv.privacy.wording import for_people, left_for_people

    common, *each = balance.by_period
    rows = []
    for period in each[-_MOST_PERIODS:]:
        left = balance.period_cap - common.spent - common.held - period.spent - period.held
        amounts = period.spent, period.held, left_for_people(left, balance.period_cap)
        rows.append([period.name, *(for_people(balance.periods.budget.amount_text(amount)) for amount in amounts)])
    every = common.spent.main + common.held.main
    shared = f"; {for_people(balance.periods.budget.amount_text(common.spent + common.held))} count in every one"
    of_all = f", the newest {len(rows)} of {len(each)}" if len(rows) < len(each) else ""
    title = f"each {balance.periods.unit}: {balance.periods.budget.describe()}{shared if every else ''}{of_all}"
    table(title, ["period", "spent", "held", "remaining"], rows)


def _show_runs(outlook: Any) -> None:
    """Show how many more runs fit, who spent most, and which runs are open."""
    from pubpriv.privacy.wording import for_people

    budget, last = outlook.balance.budget, outlook.last
    if last is None:
        out("no run was opened yet")
        return

    def text(amount: Any) -> str:
        return for_people(budget.amount_text(amount))

    out(
        f"last run {last.release_id} ({last.allotment.describe()}, opened {last.opened_at[:19]} by {last.user}): "
        f"held {text(last.hold)}, charged {text(last.charged)}{'' if last.closed else ' so far'}"
    )
    if outlook.fitting:
        out(f"one more run like it costs as much: {outlook.fitting} more fit in what remains")
    else:
        out(f"one more run like it does not fit: {outlook.hint}")
    most = "; ".join(f"{run.release_id} by {run.user}: {text(run.spent)}" for run in outlook.spenders)
    people = "; ".join(f"{user}: {text(spent)}" for user, spent in outlook.people)
    among = f", among the newest {outlook.compared} of {outlook.runs} runs" if outlook.compared < outlook.runs else ""
    out(f"spent most{among}: {most} (by who opened the runs: {people})")
    hidden = len(outlook.balance.open_runs) - len(outlook.open_runs)
    if hidden:
        out(f"{hidden} older runs are open too: --json names them")
    for run in outlook.open_runs:
        _show_open_run(outlook.balance, run)


def _show_open_run(balance: Any, run: Any) -> None:
    """Show an open run: its hold, who opened it, its unanswered questions, and the command that ends it."""
    from pubpriv.privacy.wording import for_people

    held, line = for_people(balance.budget.amount_text(run.held)), f"pubpriv budget recover {run.release_id}"
    out(
        f"open run {run.release_id} holds {held} since {run.since[:19]}, opened by {run.user}@{run.host}; "
        f"end it with `{line} --dataset {balance.dataset}`"
    )
    for work in run.work:
        who = f"since {work.since[:19]}, by {work.user}@{work.host}"
        if work.running:
            out(f"  at work at {work.label} {who}: wait for it before you end the run")
        else:
            out(
                f"  not answered: {work.label}, paid for and tried {who}; its time ran out at "
                f"{work.lease_until[:19]}. The same release id again answers it at no further cost"
            )


@app.command("history")
def _history(
    dataset: _Dataset,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw what was spent and held over time, an .svg file.", show_default=False)
    ] = None,
) -> None:
    """List every run and every charge, oldest first."""
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.ledger.views import RunView, spent_before

    if plot is not None:
        from pubpriv.released.report.spending import check_plot, spending, write_plot

        check_plot(plot)
    with Ledger.open(ledger_url(ledger), create=False) as books:
        records, budget = books.records(dataset), books.balance(dataset).budget
    runs, carried = RunView.all_of(records), spent_before(records)
    if as_json:
        rows = [dict(zip(_CHARGE, row, strict=True)) for row in _charge_rows(runs)]
        out(json.dumps(rows, indent=1))
    else:
        show_charges(dataset, runs, carried)
    if plot is not None:
        write_plot(plot, spending(dataset, budget, records))
        note(f"plot written to {plot}")


_CHARGE = ("release_id", "label", "question", "cost", "at", "user", "state")


def _charge_rows(runs: list[Any]) -> list[list[str]]:
    """Return every charge of some runs as text, in the order of `_CHARGE`, with costs in the ledger's unit."""
    from pubpriv.privacy.units import to_text

    return [
        [
            run.release_id,
            charge.label,
            charge.question,
            to_text(charge.price_ledger.main),
            charge.at[:19],
            charge.user,
            "answered" if charge.answered else "not answered",
        ]
        for run in runs
        for charge in run.charges
    ]


def show_charges(dataset: str, runs: list[Any], carried: int = 0) -> None:
    """Show a table of charges, and for each run a line with its spending and the total so far.

    Args:
        dataset: name of the dataset.
        runs: runs of the books that are shown.
        carried: units spent in the earlier books that these continue.
    """
    from pubpriv.privacy.units import to_text
    from pubpriv.privacy.wording import for_people

    rows = [[*row[:3], for_people(row[3]), *row[4:]] for row in _charge_rows(runs)]
    table(f"{dataset}: charges", ["release", "label", "question", "cost", "at (UTC)", "by", ""], rows)
    total = carried
    if carried:
        out(f"spent in the books that these carry on: {for_people(to_text(carried))}; their charges are in the archive")
    for run in runs:
        total += run.state.charged.main
        out(
            f"run {run.release_id}: {run.allotment.describe()}, {len(run.charges)} charges, "
            f"{'closed' if run.state.closed else 'open'}; spent {for_people(to_text(run.state.charged.main))}, "
            f"with all runs before it {for_people(to_text(total))}"
        )


@app.command("report")
def _report(
    release_id: Annotated[str, typer.Argument(help="Release id of the run.")],
    dataset: Annotated[str, typer.Option(help="Dataset of the run.")],
    ledger: LedgerOption = None,
    delta: Annotated[
        str | None, typer.Option(help="Delta of the PLD figure. Default: the allotment's, or 1e-6.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the privacy statement of a run.

    It has guarantees, charges, and a figure for the steps that the run took.
    """
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.report import run_statement
    from pubpriv.privacy.wording import for_people, guarantee_lines

    with Ledger.open(ledger_url(ledger), create=False) as books:
        run, balance = books.run(dataset, release_id).bill(), books.balance(dataset)
    statement = run_statement(balance, run, delta)
    if as_json:
        out(json.dumps(statement, indent=1))
        return
    for line in guarantee_lines(
        dataset,
        statement["unit"],
        statement["cap"]["text"],
        release_id,
        statement["allotment"]["text"],
        statement.get("person", ()),
        "periods" in statement,
    ):
        out(line)
    for line in statement.get("promised", ()):
        out(line)
    if "period" in statement:
        out(f"only rows of {statement['period']}" if statement["period"] else "all rows: it counts in every period")
    rows = [
        [row["label"], row["question"], for_people(row["cost"]), row["at"][:19], row["user"]]
        for row in statement["charges"]
    ]
    table(f"{release_id}: charges", ["label", "question", "cost", "at (UTC)", "by"], rows)
    out(f"{'spent' if statement['closed'] else 'spent so far, the run is open'}: {for_people(statement['spent'])}")
    out(statement["pld"]["text"])


@app.command("recover")
def _recover(
    release_id: Annotated[str, typer.Argument(help="Release id of the run.")],
    dataset: Annotated[str, typer.Option(help="Dataset of the run.")],
    ledger: LedgerOption = None,
    reason: Annotated[str, typer.Option(help="Why; kept in the ledger.")] = "recovered by hand",
) -> None:
    """End a run that was left open. The rest of its hold returns to the dataset; charges never do.

    A run that is still at work stops at its next charge with exit code 2, and its unpublished answers are dropped.
    """
    from pubpriv.privacy.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as books:
        work = books.run(dataset, release_id).at_work()
        books.run(dataset, release_id).close(reason)
    for under_way in work:
        note(
            f"warning: {under_way.user}@{under_way.host} was at work at {under_way.label} since "
            f"{under_way.since[:19]}: if it still runs, it stops at its next charge, and what it draws is dropped"
        )
    note(f"run {release_id} of dataset {dataset} is closed; its answers can still be replayed")
