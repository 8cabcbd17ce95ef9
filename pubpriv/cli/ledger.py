"""`pubpriv ledger`: verify the records, export them for an auditor, restore lost ones."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.options import JsonOption, LedgerOption, ledger_url
from pubpriv.errors import InvalidInput

app = typer.Typer(no_args_is_help=True, help="Verify, export, restore or close the ledger; give roles their rights.")

_Datasets = Annotated[list[str] | None, typer.Argument(help="Datasets; default: all.", show_default=False)]


@app.command("verify")
def _verify(
    datasets: _Datasets = None,
    ledger: LedgerOption = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="Check this export, without the database; before what continues it, which is named next."),
    ] = None,
    model: Annotated[
        list[Path] | None, typer.Option(help="Check that the ledger accounts for this model file; may be repeated.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Read only what came after this file, which an earlier call wrote; write it anew."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(envvar="PUBPRIV_CHECKPOINT_KEY", help="File with the key that signs it; made if it is missing."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="With --checkpoint: read every record all the same.")] = False,
    archive: Annotated[
        Path | None, typer.Option(help="Check that the ledger carries on the books in this file, as `close` wrote it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every record. Exit 6 if one is wrong.

    Checks the hash chain, prices, balances, and that each key has one charge and one answer. The price of each charge
    is computed again from its stored question.

    With --checkpoint, records that an earlier call checked are not read again. With --full they are, and the chain must
    still have the record at which that call ended. Keep the key away from everybody who writes to the ledger.
    With --file, check an export by itself; with --file and --ledger, also check that the ledger has all of it.
    With --model, compare the model's bill with the ledger's, and look for its chain head.
    With --archive, replay the earlier books that this ledger continues, and compare its first records with them.
    """
    if file and (datasets or model or archive):
        raise InvalidInput("--file checks a whole export: name neither datasets nor a --model or --archive with it")
    if checkpoint is not None and (file or key is None):
        raise InvalidInput("--checkpoint needs --key (or PUBPRIV_CHECKPOINT_KEY), and goes with no --file")
    if file:
        found = _of_files(file, ledger)
    else:
        known = _known(checkpoint, key)
        found = _of_ledger(ledger_url(ledger), datasets or [], model or [], known, full)
        _keep(checkpoint, key, known, found)
        _check_archive(archive, ledger_url(ledger))
    if as_json:
        out(json.dumps({dataset: _figures(summary) for dataset, summary in found.items()}, indent=1))
        return
    columns = ["dataset", "records", "charges", "recomputed", "answers", "cap", "spent", "held", "", "head"]
    rows = []
    for dataset, summary in found.items():
        figures = _figures(summary)
        numbers = [f"{figures[name]:,}" for name in ("records", "charges", "recomputed", "answers")]
        amounts = [figures[name] for name in ("cap", "spent", "held", "currency")]
        rows.append([dataset, *numbers, *amounts, figures["head"][:16]])
    where = " and ".join(map(str, file or ())) or "the ledger"
    table(f"{where}: every record follows from those before it", columns, rows)
    for dataset, summary in found.items():
        if summary.unchecked:
            note(f"{dataset}: {summary.unchecked}")
        if summary.trusted:
            note(f"{dataset}: {summary.trusted:,} records before the checkpoint were not read again; --full reads them")


def _of_files(files: list[Path], ledger: str | None) -> dict[str, Any]:
    from pubpriv.ledger import Ledger
    from pubpriv.privacy.ledger import bundle

    *after, file = files
    with _at_work(f"replaying {file}"):
        found = bundle.verify(file, Ledger.asked, after)
    if ledger is not None:  # only if it is named: a file is checked without a database
        with Ledger.open(ledger_url(ledger), create=False, witness=file) as books:
            books.check_complete()
    return found


def _known(file: Path | None, key: Path | None) -> dict[str, Any]:
    """Read the checkpoint of each dataset, if there is one."""
    from pubpriv.privacy.ledger import checkpoint

    return {} if file is None or key is None else checkpoint.load(file, checkpoint.read_key(key))


def _keep(file: Path | None, key: Path | None, known: dict[str, Any], found: dict[str, Any]) -> None:
    """Write the checkpoint again, keeping its entries for other datasets."""
    from pubpriv.privacy.ledger import checkpoint
    from pubpriv.privacy.ledger.summary import Checkpoint

    if file is not None and key is not None:
        made = {dataset: Checkpoint.of(summary) for dataset, summary in found.items()}
        checkpoint.save(file, checkpoint.read_key(key), known | made)


def _of_ledger(url: str, datasets: list[str], models: list[Path], known: dict[str, Any], full: bool) -> dict[str, Any]:
    from pubpriv.ledger import Ledger
    from pubpriv.released.provenance import check_model

    with Ledger.open(url, create=False) as books:
        found = {}
        for dataset in datasets or books.datasets():
            with _at_work(f"replaying {dataset}"):
                since = known.get(dataset)
                head = since.head if full and since is not None else None
                found[dataset] = books.verify(dataset, head, None if full else since)
        for path in models:
            check_model(books, path)
            note(f"{path}: its charges, its guarantee and its chain head are the ledger's")
        books.check_complete()
    return found


def _check_archive(archive: Path | None, url: str) -> None:
    """Compare the first records of a ledger with the books in an archive."""
    from pubpriv.ledger import Ledger

    if archive is None:
        return
    with Ledger.open(url, create=False) as books, _at_work(f"replaying {archive}"):
        carried = books.check_carried(archive)
    note(f"{archive}: its closing balances are the opening balances of this ledger, for {', '.join(carried)}")


def _figures(summary: Any) -> dict[str, Any]:
    from pubpriv.privacy.units import to_text

    state = summary.state
    amounts = {name: to_text(getattr(state, name).main) for name in ("cap", "spent", "held")}
    counts = {name: getattr(summary, name) for name in ("records", "charges", "recomputed", "answers")}
    counts |= {"trusted": summary.trusted, "unchecked": dict(summary.unknown)}
    return counts | amounts | {"currency": summary.budget.currency, "head": summary.head}


@app.command("export")
def _export(
    out_: Annotated[Path, typer.Option("--out", help="File to write; an older export is replaced.")],
    datasets: _Datasets = None,
    after: Annotated[
        Path | None, typer.Option(help="Write only what came after this export; the two belong together.")
    ] = None,
    ledger: LedgerOption = None,
) -> None:
    """Write every record as JSON lines.

    An auditor checks them with `pubpriv ledger verify --file`. Keep the file away from the ledger: it is also the
    witness against a ledger that was restored from an older copy. If PUBPRIV_LEDGER_WITNESS names it, a ledger that
    lacks some of its records opens for reading only.

    With --after, write only records after another export, which stays unchanged: both together are the backup, and the
    newer one is the witness.
    """
    from pubpriv.ledger import Ledger

    if out_.is_dir() or not out_.absolute().parent.is_dir():
        raise InvalidInput(f"--out {out_} must be a file in a folder that exists")
    with Ledger.open(ledger_url(ledger), create=False) as books, _at_work(f"writing {out_}"):
        ends = books.export(out_, datasets or [], after)
    for dataset, end in ends.items():
        out(f"{dataset}: {end.records:,} records, head {end.head}")
    files = " ".join(f"--file {each}" for each in ([after] if after else []) + [out_])
    note(f"written to {out_}; check it anywhere with `pubpriv ledger verify {files}`")


@app.command("restore")
def _restore(
    files: Annotated[list[Path], typer.Argument(help="An export of the ledger, and then what continues it.")],
    datasets: Annotated[
        list[str] | None, typer.Option("--dataset", help="Restore only this dataset; may be repeated.")
    ] = None,
    ledger: LedgerOption = None,
) -> None:
    """Append the records that an export has and the ledger lacks.

    The export is checked first. This brings an older copy up to date, or moves a whole ledger into an empty database.
    From then on use only one of the two copies: if both are charged, the budget is spent twice.
    """
    from pubpriv.ledger import Ledger

    *after, file = files
    with Ledger.open(ledger_url(ledger)) as books, _at_work(f"restoring from {file}"):
        appended = books.restore(file, datasets or [], after)
    for dataset, records in appended.items():
        out(f"{dataset}: {records:,} records appended")


@app.command("close")
def _close(
    to: Annotated[str, typer.Option(help="URL of the ledger in which the books go on: a new, empty database.")],
    out_: Annotated[Path, typer.Option("--out", help="File to write: the archive, an export of all closed books.")],
    ledger: LedgerOption = None,
) -> None:
    """Close all books of a ledger, and carry them on in a new one. This cannot be undone.

    Nothing is charged to the old ledger any more; it can be read and verified forever. The new one begins with the
    amounts spent, with terms, tables and names of all runs, and refuses whatever the old one would refuse. An archive
    with every record is written first, and the new books are made from it.

    End all runs first, and run this as the owner. If it is interrupted, run it again: the two ledgers never both take
    charges.
    """
    from pubpriv.ledger import Ledger
    from pubpriv.privacy.wording import for_people

    if out_.is_dir() or not out_.absolute().parent.is_dir():
        raise InvalidInput(f"--out {out_} must be a file in a folder that exists")
    with Ledger.open(ledger_url(ledger), create=False) as old, Ledger.open(to) as new:
        with _at_work("closing the books"):
            runs = old.carry_on(new, out_)
        for dataset, number in runs.items():
            balance = new.balance(dataset)
            spent = for_people(balance.budget.amount_text(balance.spent))
            out(f"{dataset}: goes on with {spent} spent of {balance.budget.describe()}, by {number:,} runs")
        note(
            f"the books of {old.url} are closed, and all of them are in {out_}. They go on in {new.url}: name it in "
            "PUBPRIV_LEDGER for all workers, export it, and name that export in PUBPRIV_LEDGER_WITNESS"
        )


@app.command("grant")
def _grant(
    writer: Annotated[str | None, typer.Option(help="Role of workers: it may append, and nothing else.")] = None,
    reader: Annotated[str | None, typer.Option(help="Role of auditors and exports: it may read.")] = None,
    ledger: LedgerOption = None,
) -> None:
    """Give two roles their rights in a ledger in PostgreSQL.

    Run it once, as the owner; it also makes the ledger's tables. The roles must exist (`createuser`). Running it again
    changes nothing, but after an upgrade that made new tables it grants the rights on them.
    """
    from pubpriv.privacy.ledger.roles import grant

    if writer is None and reader is None:
        raise InvalidInput("name a role: --writer ROLE, --reader ROLE, or both")
    for statement in grant(ledger_url(ledger), writer, reader):
        out(statement)


@contextmanager
def _at_work(what: str) -> Iterator[None]:
    """Show a spinner if there is a terminal."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield
        return
    with console.status(f"{what} ..."):
        yield
