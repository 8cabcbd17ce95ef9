"""`pubpriv explain`: the questions of a run about private rows, their prices, and the result."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.options import JsonOption, LedgerOption, check_suffix, ledger_url
from pubpriv.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from pubpriv.released.estimate import Estimate
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
    number: Annotated[
        str | None,
        typer.Option(
            help="Why is this number's interval so wide: mean:COLUMN, variance:COLUMN, quantile:COLUMN@RANK.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a run: the questions about private rows, the price of each, and the result; or one number's interval.

    A model file has all of this. For a run in the ledger, the number of noisy numbers of each question is shown.
    With --number NAME nothing is written: the parts of that number's error, its state and what would help are printed.
    """
    from pubpriv.released.report.explained import write_explained

    if number is not None:
        if dataset is not None or ledger is not None or out_ is not None:
            raise InvalidInput("--number is about a number in a model file: leave out --dataset, --ledger and --out")
        _explain_number(Path(what), number, as_json)
        return
    if as_json:
        raise InvalidInput("--json goes with --number; the model file has all of a run")
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


def _explain_number(file: Path, name: str, as_json: bool) -> None:
    from pubpriv.released.why import why

    estimate = _loaded(file)
    estimate.check_whole()
    told = why(estimate, name)
    if as_json:
        out(json.dumps(told.to_json(), indent=1))
        return
    number = told.number
    out(f"{number.name} of {estimate.of_whom}: {number.value:.6g}, 95% interval {told.low:.6g} to {told.high:.6g}")
    wider = "" if told.wider is None else f"; the interval is {told.wider:.2g} times as wide as without privacy"
    out(f"state: {told.state}{wider}")
    heads = ["part of the error", "standard error", "share of its square", "what it is"]
    table("why it is so wide", heads, [list(part) for part in told.parts()])
    for finding in told.findings:
        out(f"found ({finding.code}): {finding.text}")
    if told.could_hide is not None:
        hidden = told.could_hide
        out(
            f"could hide: {hidden.rows:,.0f} rows that lay {hidden.beyond:.3g} standard deviations out in "
            f"{number.column}, on one side, would not be seen, and would move it by "
            f"{f'up to {hidden.high:.3g}' if hidden.low else f'{hidden.high:.3g} upwards'}"
        )
    for remedy in told.remedies:
        out(f"what would help: {remedy}")


def _loaded(file: Path) -> "Estimate":
    from pubpriv.released.kinds import load

    if not file.exists():
        raise InvalidInput(f"there is no model file {str(file)!r}: for a run in the ledger name its --dataset too")
    return load(file)


def _of_model(file: Path) -> "Story":
    from pubpriv.released.report.story import Story

    return Story.of_model(_loaded(file))


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
