"""`pubpriv explain`: the questions of a run about private rows, their prices, and the result."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.options import LedgerOption, check_suffix, ledger_url
from pubpriv.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from pubpriv.released.report.story import Story


def explain(
    what: Annotated[
        str, typer.Argument(metavar="MODEL|RUN", help="Model file, or with --dataset a release id.", show_default=False)
    ],
    dataset: Annotated[
        str | None, typer.Option(help="Dataset of the run, whose ledger is read.", show_default=False)
    ] = None,
    ledger: LedgerOption = None,
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Default: NAME-explained.html; an .svg is the picture alone.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Explain a run: the questions about private rows, the price of each, and the result.

    A model file has all of this. For a run in the ledger, the number of noisy numbers of each question is shown.
    """
    from pubpriv.released.report.explained import write_explained

    if dataset is None and ledger is not None:
        raise InvalidInput("--ledger is for runs: name the run's --dataset too, or leave --ledger out")
    story = _of_model(Path(what)) if dataset is None else _of_run(what, dataset, ledger)
    beside = Path(what).with_suffix("") if dataset is None else Path(what.replace("/", "-"))
    file = beside.with_name(f"{beside.name}-explained.html") if out_ is None else out_
    check_suffix(file, "an explained run", ".html", ".svg", ".htm", "")
    if file.exists() and not overwrite:
        raise InvalidInput(f"{file} exists: --overwrite replaces it")
    out(story.title)
    table("what was asked of the private rows", list(story.table_heads()), story.table_rows())
    out(story.summary())
    for line in (*story.guarantees, *story.outcome):
        out(line)
    failure: str | None = None
    try:
        write_explained(story, file)
    except OSError as error:
        failure = str(error.strerror)
    if failure is not None:
        raise Unavailable(f"{file} cannot be written ({failure})")
    note(f"drawn in {file}")


def _of_model(file: Path) -> "Story":
    from pubpriv.released.kinds import load
    from pubpriv.released.report.story import Story

    if not file.exists():
        raise InvalidInput(f"there is no model file {str(file)!r}: for a run in the ledger name its --dataset too")
    return Story.of_model(load(file))


def _of_run(release_id: str, dataset: str, ledger: str | None) -> "Story":
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.released.report.story import Story

    with Ledger.open(ledger_url(ledger), create=False) as books:
        run, balance = books.run(dataset, release_id), books.balance(dataset)
        bill = run.bill()
        views = {charge.label: run.find(charge.label) for charge in bill.charges}
    numbers = {
        label: sum(map(len, view.answer.values()))
        for label, view in views.items()
        if view is not None and view.answer is not None
    }
    return Story.of_run(balance, bill, numbers)
