"""`pubpriv budget`: give a dataset its budget, look at it, end runs that were left open."""

import json
from typing import Annotated, Any

import typer

from cli.console import note, out, table
from cli.options import ColumnsOption, JsonOption, LedgerOption, ledger_url
from pubpriv.errors import InvalidInput

app = typer.Typer(no_args_is_help=True, help="Budgets of datasets: set, show, history, recover.")

Dataset = Annotated[str, typer.Argument(help="Name of the dataset.")]


@app.command(name="set")
def set_(
    dataset: Dataset,
    budget: Annotated[str, typer.Argument(help="The cap: pure:EPS, zcdp:RHO or approx:EPS,DELTA.")],
    ledger: LedgerOption = None,
    private: Annotated[str | None, typer.Option(help="Private Parquet table of this dataset.")] = None,
    columns: ColumnsOption = None,
    unit: Annotated[str, typer.Option(help="What one record stands for, in words.")] = "one record",
    raise_: Annotated[bool, typer.Option("--raise", help="Raise the cap of a known dataset.")] = False,
    reason: Annotated[str | None, typer.Option(help="Why the cap is raised; kept in the ledger.")] = None,
) -> None:
    """Register a dataset with a cap that all its releases share, for ever.

    With --private and --columns the table is declared too; otherwise the first fit binds its table.
    """
    from pubpriv.data.columns import split_columns
    from pubpriv.data.tables import PrivateTable
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger

    cap = parse_budget(budget)
    url = ledger_url(ledger)
    if (private is None) != (columns is None):
        raise InvalidInput("declare a table with both --private and --columns, or with neither")
    declared = PrivateTable.open(private, split_columns(columns)) if private and columns else None
    with Ledger.open(url) as books:
        books.register(dataset, budget=cap, table=declared, unit=unit, raise_=raise_, reason=reason)
    note(f"dataset {dataset} has a budget of {cap.describe()}" + (f" and the table {declared.uri}" if declared else ""))


@app.command()
def show(dataset: Dataset, ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """What is spent, held and left."""
    from pubpriv.privacy.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as books:
        balance = books.balance(dataset)
    told = balance.to_json()
    if as_json:
        out(json.dumps(told, indent=1))
        return
    currency = balance.budget.currency
    exact = told["exact"]
    rows = [[name, exact[name], f"{told[f'delta_{name}']:.3g}"] for name in ("cap", "spent", "held", "remaining")]
    table(
        f"{dataset}: {balance.budget.describe()}, unit: {balance.unit}",
        ["", currency, "failure delta"],
        rows,
    )
    for release_id, held in told["open_runs"].items():
        line = f"pubpriv budget recover {release_id} --dataset {dataset}"
        out(f"open run {release_id} holds {held:g} {currency}; end it with `{line}`")


@app.command()
def history(dataset: Dataset, ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Every run and every charge, oldest first."""
    from pubpriv.privacy.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as books:
        runs = books.history(dataset)
    if as_json:
        rows = [dict(zip(CHARGE, row, strict=True)) for row in charges(runs)]
        out(json.dumps(rows, indent=1))
    else:
        show_charges(dataset, runs)


CHARGE = ("release_id", "label", "question", "cost", "at", "user", "state")


def charges(runs: list[Any]) -> list[list[str]]:
    """Every charge of some runs as text, in the order of `CHARGE`; costs in the ledger's unit."""
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


def show_charges(dataset: str, runs: list[Any]) -> None:
    """A table of charges, and a line a run."""
    table(f"{dataset}: charges", ["release", "label", "question", "cost", "at (UTC)", "by", ""], charges(runs))
    for run in runs:
        state = "closed" if run.state.closed else "open"
        out(f"run {run.release_id}: {run.allotment.describe()}, {len(run.charges)} charges, {state}")


@app.command()
def recover(
    release_id: Annotated[str, typer.Argument(help="The run that was left open.")],
    dataset: Annotated[str, typer.Option(help="Its dataset.")],
    ledger: LedgerOption = None,
    reason: Annotated[str, typer.Option(help="Kept in the ledger.")] = "recovered by hand",
) -> None:
    """End a run: what it held and did not charge returns to the dataset. Charges never do."""
    from pubpriv.privacy.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as books:
        books.close_run(dataset, release_id, reason)
    note(f"run {release_id} of dataset {dataset} is closed; its answers can still be replayed")
