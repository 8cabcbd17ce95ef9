"""`pubpriv init`: ask for the facts of a dataset, write its file, and register it. Every answer can be an option."""

import os
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import note, out
from pubpriv.cli.declared import declared_table
from pubpriv.cli.extras import need
from pubpriv.cli.options import AnotherTableOption, ColumnsOption, LedgerOption, ledger_url, written
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS

if TYPE_CHECKING:
    from pubpriv.data.tables import PrivateTable
    from pubpriv.deployments.model import Dataset
    from pubpriv.privacy.ledger.views import NamedTable

_HEAD = """\
# A dataset of pubpriv, for `--dataset` of fit and plan, and for `pubpriv deploy`. It holds names, and nothing of a row.
"""


def _answer(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


def init(
    dataset: Annotated[str | None, _answer("Name of the dataset in the ledger.")] = None,
    private: Annotated[
        str | None, _answer("Private table, Parquet, CSV, Feather, SPSS, Stata or SAS: a file, a folder or a glob.")
    ] = None,
    public: Annotated[str | None, _answer("Public rows of the same kind, in any of these formats.")] = None,
    columns: ColumnsOption = None,
    unit: Annotated[str | None, _answer("What one record stands for, in words.")] = None,
    person: Annotated[
        str | None,
        _answer("If one person can have several rows: the columns that say whose row it is, COLUMN[,COLUMN]."),
    ] = None,
    by: Annotated[str | None, _answer("A column whose groups of rows the release tells apart.")] = None,
    period: Annotated[
        str | None, _answer("If the table grows: UNIT:COLUMN of periods with a cap of their own, as month:visit_date.")
    ] = None,
    per_period: Annotated[str | None, _answer("Cap of each period, as zcdp:0.1.")] = None,
    no_line_breaks: Annotated[
        bool,
        typer.Option("--no-line-breaks", help="Declare that no cell of the private table contains a line break."),
    ] = False,
    another_table: AnotherTableOption = False,
    table_changes: Annotated[
        bool, typer.Option("--table-changes", help="Declare that rows change between runs: a schedule needs it.")
    ] = False,
    cap: Annotated[str | None, _answer("Most that all releases together may spend, for ever.")] = None,
    estimator: Annotated[str | None, _answer(f"First release: {', '.join(e.name for e in ESTIMATORS)}.")] = None,
    budget: Annotated[str | None, _answer("What one release may spend.")] = None,
    ledger: LedgerOption = None,
    out_: Annotated[Path | None, typer.Option("--out", help="File. Default: NAME.yaml.", show_default=False)] = None,
    register: Annotated[
        bool | None, typer.Option("--register/--no-register", help="Register the dataset too.", show_default=False)
    ] = None,
) -> None:
    """Ask for the facts of a dataset, write its file, and register it with its cap.

    Every question has an option, and is not asked if the option is given. Only the schema and the number of rows of
    the private table are read.
    """
    for module in ("ruamel", "prefect"):
        need(module)
    from pubpriv.common.column_names import join_columns, split_columns, text_of
    from pubpriv.common.tables import canonical
    from pubpriv.deployments.files import described
    from pubpriv.deployments.model import Dataset
    from pubpriv.privacy.ledger.terms import ONE_PERSON, ONE_RECORD

    dataset = _ask(dataset, "--dataset", "Name of the dataset")
    file = Path(f"{dataset}.yaml") if out_ is None else out_
    if file.exists():
        raise InvalidInput(f"{file} exists: choose another --out, or delete it")
    url = _ledger(ledger)
    private = canonical(
        _ask(
            private,
            "--private",
            "Private table (Parquet, CSV, Feather, Excel, SPSS, Stata or SAS; file, folder or glob)",
        )
    )
    public = canonical(_ask(public, "--public", "Public rows of the same kind"))
    shared = _shared(private, public, url)
    ids = _whose(person, public)
    by = _offer(by, "Column whose groups of rows the release tells apart (Enter: none)")
    period = _offer(period, "Periods with a cap of their own, if the table grows, as month:visit_date (Enter: none)")
    if period:
        per_period = _ask(per_period, "--per-period", "Cap of each period (for example zcdp:0.1)")
    beside = {*ids, *([by] if by else [])}
    offered = join_columns([name for name in shared if text_of(name) not in beside])
    names = split_columns(_ask(columns, "--columns", "Columns to use", offered))
    data = {
        "dataset": dataset,
        "unit": _ask(unit, "--unit", "What does one record stand for", ONE_PERSON if ids else ONE_RECORD),
        **({"person": ids} if ids else {}),
        "cap": _ask(cap, "--cap", "Most that all releases together may spend, for ever (for example zcdp:2)"),
        "private": private,
        "public": public,
        "columns": names,
        **({"no_line_breaks": True} if no_line_breaks else {}),
        **({"another_table": True} if another_table else {}),
        **({"table_changes": True} if table_changes else {}),
        **({"periods": period} if period else {}),
        **({"per_period": per_period} if per_period else {}),
        "releases": [_release(estimator, budget, by)],
    }
    model = described(file, data)
    assert isinstance(model, Dataset)
    _check_tables(model)
    _write(file, data)
    note(f"dataset {dataset} is described in {file}")
    if _confirmed(register, f"Register it in {url}, with the cap {model.cap}, for good"):
        _register(model, url)
    else:
        where = (
            "" if ledger is None and os.environ.get("PUBPRIV_LEDGER") else f"PUBPRIV_LEDGER={quote(url)} "
        )  # the file names no other ledger
        note(f"it is not registered yet: `{where}pubpriv deploy --check --set-budget {quote(str(file))}` does that")
    _tell_next(file, model, url, ledger is not None or not os.environ.get("PUBPRIV_LEDGER"))


def _ledger(given: str | None) -> str:
    """Return the ledger's URL; at a terminal one in this folder is offered, by its absolute path.

    Raises:
        InvalidInput: there is none, and nobody to ask.
    """
    if given is None and not os.environ.get("PUBPRIV_LEDGER") and sys.stdin.isatty():
        place = Path(typer.prompt("Ledger", default=str(Path("ledger.db").absolute()), err=True))
        return ledger_url(str(place) if "://" in str(place) else f"sqlite:///{place.expanduser().absolute()}")
    return ledger_url(given)


def _whose(given: str | None, public: str) -> list[str]:
    """Return the columns that say whose row it is; none: each row is a person's only one.

    Says which columns of the public rows look like ids and repeat.
    """
    from pubpriv.common.column_names import split_columns
    from pubpriv.common.lists import in_words
    from pubpriv.data.repeated_ids import repeated_ids

    repeated = repeated_ids(public) if given is None else ()
    if repeated:
        which = in_words(repeated)
        note(
            f"warning: values of {which} repeat in the public rows: if that says whose row it is, one person has "
            f"several rows, and --person {repeated[0]} protects them together"
        )
    question = "Can one person have several rows? Then the column that says whose row it is (Enter: no)"
    answer = _offer(given, question)
    return split_columns(answer) if answer else []


def _offer(given: str | None, question: str) -> str | None:
    """Return the value of an option, or ask for it at a terminal; None: there is none."""
    if given is not None or not sys.stdin.isatty():
        return given or None
    answer: str = typer.prompt(question, default="", show_default=False, err=True)
    return answer.strip() or None


def _ask(given: str | None, option: str, question: str, default: str | None = None) -> str:
    """Return the value of an option, or ask for it.

    Raises:
        InvalidInput: there is no terminal to ask at.
    """
    if given is not None:
        return given
    try:
        answer: str = typer.prompt(question, default=default, err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
    else:
        return answer
    raise InvalidInput(f"there is no terminal to ask at ({question}): give {option}")


def _confirmed(given: bool | None, question: str) -> bool:
    if given is not None:
        return given
    try:
        return typer.confirm(question, default=True, err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
    return False


def _shared(private: str, public: str, url: str) -> list[str]:
    """Return the numeric columns of the public rows, after checking that they are not those of a private table.

    Raises:
        InvalidInput: see `check_public_file`.
    """
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.privacy.ledger.urls import understand

    check_public_file(public, None if understand(url).is_missing else url, private)
    return list(PublicTable.open(public).columns)


def _release(estimator: str | None, budget: str | None, by: str | None) -> dict[str, Any]:
    named = [each.name for each in ESTIMATORS]
    chosen = _ask(estimator, "--estimator", f"First release ({', '.join(named)})", named[0])
    allotment = _ask(budget, "--budget", "What one release may spend (for example zcdp:0.5)")
    settings = {"settings": {"by": by}} if by else {}
    return {"name": chosen, "estimator": chosen, "allotment": allotment, **settings}


def _check_tables(model: "Dataset") -> None:
    """Open both tables with the columns, so that a missing column is an error now."""
    from pubpriv.data.public_categories import groups_of
    from pubpriv.data.tables import PublicTable

    assert model.public is not None  # init asks for it
    PublicTable.open(model.public, model.columns)
    for by in _groups(model):
        groups_of(model.public, by)
    _declared(model)


def _groups(model: "Dataset") -> list[str]:
    """Columns by which the releases tell groups apart."""
    return [str(release.settings["by"]) for release in model.releases if release.settings.get("by")]


def _declared(model: "Dataset") -> "tuple[PrivateTable, NamedTable]":
    """Open the private table as it is declared."""
    from pubpriv.common.column_names import text_of
    from pubpriv.data.persons import person_names

    terms = model.period_terms
    dates = "" if terms is None else text_of(terms.column)
    return declared_table(
        model.private, model.columns or (), tuple(map(text_of, person_names(model.person))), dates, _groups(model)
    )


def _write(file: Path, data: dict[str, Any]) -> None:
    from io import StringIO

    from ruamel.yaml import YAML

    from pubpriv.released.estimate import write_atomically

    text, yaml = StringIO(_HEAD), YAML()
    text.seek(0, 2)
    yaml.dump(data, text)
    written(lambda: write_atomically(file, text.getvalue()), file)


def _register(model: "Dataset", url: str) -> None:
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger

    cap = parse_budget(model.cap)
    table, named = _declared(model)
    with Ledger.open(url) as books:
        books.register(
            model.dataset,
            budget=cap,
            table=named,
            unit=model.unit,
            person=model.person,
            periods=model.period_terms,
            no_line_breaks=model.no_line_breaks,
            another_table=model.another_table,
        )
    note(f"dataset {model.dataset} has a budget of {cap.describe()} and the table {table.uri}")


def _tell_next(file: Path, model: "Dataset", url: str, named: bool) -> None:
    """Print the complete next two commands."""
    first = model.releases[0]
    where = f" --ledger {quote(url)}" if named else ""
    line = f"{first.estimator} --dataset {quote(str(file))} --budget {first.allotment}{where}"
    note("next, what a release would cost and tell, and the release itself:")
    out(f"pubpriv plan {line}")
    out(f"pubpriv fit {line} --out {model.dataset}.json")
