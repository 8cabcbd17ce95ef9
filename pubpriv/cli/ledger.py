"""`pubpriv ledger`: check the books, hand them to an auditor, bring back what was lost."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.options import JsonOption, LedgerOption, ledger_url
from pubpriv.errors import InvalidInput

app = typer.Typer(no_args_is_help=True, help="The ledger itself: verify, export, restore.")

Datasets = Annotated[list[str] | None, typer.Argument(help="Datasets; default: all.", show_default=False)]


@app.command()
def verify(
    datasets: Datasets = None,
    ledger: LedgerOption = None,
    file: Annotated[Path | None, typer.Option(help="An export to check, without the database.")] = None,
    model: Annotated[list[Path] | None, typer.Option(help="A model file that the ledger must account for.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay every record: hash chain, prices, balances, one charge and one answer a key. Exit 6 if one is wrong.

    What each charge was paid for is worked out again from its stored question.

    With --file an export is checked by itself; with --file and --ledger also whether the ledger has all of it.
    With --model a model's bill is compared with the ledger's, and its chain head is looked for.
    """
    if file is not None and (datasets or model):
        raise InvalidInput("--file checks a whole export: name neither datasets nor a --model with it")
    found = _of_file(file, ledger) if file is not None else _of_ledger(ledger_url(ledger), datasets or [], model or [])
    if as_json:
        out(json.dumps({dataset: _told(summary) for dataset, summary in found.items()}, indent=1))
        return
    columns = ["dataset", "records", "charges", "recomputed", "answers", "cap", "spent", "held", "", "head"]
    rows = []
    for dataset, summary in found.items():
        told = _told(summary)
        numbers = [f"{told[name]:,}" for name in ("records", "charges", "recomputed", "answers")]
        amounts = [told[name] for name in ("cap", "spent", "held", "currency")]
        rows.append([dataset, *numbers, *amounts, told["head"][:16]])
    table(f"{file or 'the ledger'}: every record follows from those before it", columns, rows)
    for dataset, summary in found.items():
        if summary.unchecked:
            note(f"{dataset}: {summary.unchecked}")


def _of_file(file: Path, ledger: str | None) -> dict[str, Any]:
    from pubpriv.ledger import Ledger
    from pubpriv.privacy.ledger import bundle

    with _at_work(f"replaying {file}"):
        found = bundle.verify(file, Ledger.asked)
    if ledger is not None:  # only if it is named: a file is checked without a database
        with Ledger.open(ledger_url(ledger), create=False, witness=file) as books:
            books.check_complete()
    return found


def _of_ledger(url: str, datasets: list[str], models: list[Path]) -> dict[str, Any]:
    from pubpriv.ledger import Ledger
    from pubpriv.released.provenance import check_model

    with Ledger.open(url, create=False) as books:
        found = {}
        for dataset in datasets or books.datasets():
            with _at_work(f"replaying {dataset}"):
                found[dataset] = books.verify(dataset)
        for path in models:
            check_model(books, path)
            note(f"{path}: its charges, its guarantee and its chain head are the ledger's")
        books.check_complete()
    return found


def _told(summary: Any) -> dict[str, Any]:
    from pubpriv.privacy.units import to_text

    state = summary.state
    amounts = {name: to_text(getattr(state, name).main) for name in ("cap", "spent", "held")}
    counts = {name: getattr(summary, name) for name in ("records", "charges", "recomputed", "answers")}
    counts["unchecked"] = dict(summary.unknown)
    return counts | amounts | {"currency": summary.budget.currency, "head": summary.head}


@app.command()
def export(
    out_: Annotated[Path, typer.Option("--out", help="File to write; replaced if it is an older export.")],
    datasets: Datasets = None,
    ledger: LedgerOption = None,
) -> None:
    """Write every record as JSON lines: what an auditor checks with `pubpriv ledger verify --file`.

    Kept away from the ledger, it is also the witness that tells a restored, older ledger from the real one: name it
    in PUBPRIV_LEDGER_WITNESS, and a ledger that lacks some of it opens for reading only.
    """
    from pubpriv.ledger import Ledger

    if out_.is_dir() or not out_.absolute().parent.is_dir():
        raise InvalidInput(f"--out {out_} must be a file in a folder that exists")
    with Ledger.open(ledger_url(ledger), create=False) as books, _at_work(f"writing {out_}"):
        ends = books.export(out_, datasets or [])
    for dataset, end in ends.items():
        out(f"{dataset}: {end.records:,} records, head {end.head}")
    note(f"written to {out_}; check it anywhere with `pubpriv ledger verify --file {out_}`")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="An export of the ledger.")],
    datasets: Annotated[list[str] | None, typer.Option("--dataset", help="Only this one; may be repeated.")] = None,
    ledger: LedgerOption = None,
) -> None:
    """Append what an export has and the ledger lacks; the export is checked first.

    Brings an older copy up to date, or moves a whole ledger into an empty database. Use one of two copies from then
    on: what is charged to both is spent twice.
    """
    from pubpriv.ledger import Ledger

    with Ledger.open(ledger_url(ledger)) as books, _at_work(f"restoring from {file}"):
        appended = books.restore(file, datasets or [])
    for dataset, records in appended.items():
        out(f"{dataset}: {records:,} records appended")


@contextmanager
def _at_work(what: str) -> Iterator[None]:
    """A spinner where there is a terminal."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield
        return
    with console.status(f"{what} ..."):
        yield
