"""Check that datasets are registered in the ledger with their caps and tables, and how long their budgets last.

Runs on a worker bind no table, so that nobody can decide what is private by starting a run; tables are declared here.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from pubpriv.common.column_names import join_in_command, text_of
from pubpriv.common.tables import canonical, identified, kind_of
from pubpriv.data.categories import named_source
from pubpriv.data.columns import parse_columns, sources_of
from pubpriv.data.persons import person_names
from pubpriv.data.pieces import is_delimited
from pubpriv.data.tables import PublicTable
from pubpriv.deployments.fire_times import times
from pubpriv.deployments.model import Audit, Dataset, Series
from pubpriv.errors import InvalidInput, PubPrivError
from pubpriv.estimators.jobs import check_public_file
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.terms import ONE_RECORD, person_columns_of
from pubpriv.privacy.ledger.urls import understand, without_password
from pubpriv.privacy.ledger.views import NamedTable

_MOST_TIMES = 1000
"""Most future runs that are counted until the end of a budget, the limit of Prefect's schedules."""


@dataclass(frozen=True)
class _BudgetCheck:
    """Result of checking a dataset in the ledger.

    Attributes:
        dataset: name of the dataset.
        looked: whether the ledger is known here and was read.
        right: whether it is registered with this cap and table.
        finding: text for people, with the command to run if there is something to do.
        forecasts: for each release, by name, how long the budget lasts.
    """

    dataset: str
    looked: bool
    right: bool
    finding: str
    forecasts: dict[str, str]


def budget_checks(models: Iterable[Dataset | Audit], set_budget: bool = False) -> list[_BudgetCheck]:
    """Look in the ledger for every dataset, its cap and its table.

    Args:
        models: checked files.
        set_budget: register those that are not, and declare their tables.

    Raises:
        InvalidInput: a public table that shares files with a private one.
        SpecMismatch: a private table of another dataset.
    """
    return [_check(each, set_budget) for each in models if isinstance(each, Dataset)]


def _check(dataset: Dataset, set_budget: bool) -> _BudgetCheck:
    url, cap = os.environ.get(dataset.ledger), parse_budget(dataset.cap)
    if not url:
        return _BudgetCheck(dataset.dataset, False, False, f"not checked: {dataset.ledger} is not set here", {})
    shown = without_password(url)
    balance = _balance(dataset, url)
    if balance is None and set_budget:
        with Ledger.open(url) as ledger:
            whose = dataset.person
            ledger.register(
                dataset.dataset,
                cap,
                unit=dataset.unit,
                person=whose,
                persons=dataset.persons,
                periods=dataset.period_terms,
            )
        balance = _balance(dataset, url)
    line = f"pubpriv budget set {dataset.dataset} {dataset.cap} --unit {quote(dataset.unit)} --ledger {quote(shown)}"
    line += f" --person {quote(','.join(dataset.person))}" if dataset.person else ""
    line += f" --persons {dataset.persons}" if dataset.persons else ""
    line += f" --period {quote(dataset.periods)} --per-period {dataset.per_period}" if dataset.periods else ""
    if balance is None:
        line += _declaring(dataset, _columns(dataset)[0])
        finding = f"not registered, so its runs would be refused: run `{line}`, or deploy with --set-budget"
        if understand(url).is_missing:  # most probably it is elsewhere
            finding = (
                f"not registered, because there is no ledger at {shown}: correct {dataset.ledger}. Only if there is no "
                f"ledger yet, run `{line}`, or deploy with --set-budget: a second one would allow budgets to be spent "
                "twice"
            )
        return _BudgetCheck(dataset.dataset, True, False, finding, {})
    otherwise = _otherwise(dataset, balance, line)
    if otherwise:
        return _BudgetCheck(dataset.dataset, True, False, otherwise, _forecasts(dataset, balance))
    undeclared = _undeclared(dataset, balance, url, set_budget)
    finding = f"registered with {cap.describe()}" + (f", but {undeclared}" if undeclared else "")
    return _BudgetCheck(dataset.dataset, True, not undeclared, finding, _forecasts(dataset, balance))


def _otherwise(dataset: Dataset, balance: Any, line: str) -> str:
    """Describe differences of the file from the ledger, with the command `line` to set them; empty if none."""
    cap = parse_budget(dataset.cap)
    if balance.budget.to_json() != cap.to_json():
        return (
            f"the ledger's cap is {balance.budget.describe()}, the file's {cap.describe()}: correct the file, or to "
            f"raise the cap run `{line} --raise --reason WHY`"
        )
    if dataset.unit not in (balance.unit, ONE_RECORD):  # whose default stands for any
        known, said = balance.unit, dataset.unit
        return f"one record is {known!r} in the ledger, which never changes, and {said!r} in the file: correct the file"
    if person_columns_of(balance.person) != person_names(dataset.person):
        protected = balance.person.described() if balance.person else "one row"
        return f"the ledger protects {protected}, the file says {', '.join(dataset.person) or 'one row'}: correct it"
    periods = _other_periods(dataset.period_terms, balance.periods)
    return f"{periods}: correct the file, or give the dataset these with `{line}`" if periods else ""


def _other_periods(said: PeriodTerms | None, known: PeriodTerms | None) -> str:
    """Say that file and ledger name other periods; nothing where they agree. A waived cap is the ledger's business."""
    here = None if known is None else replace(known, lifetime=True)
    if said == here:
        return ""
    written, known_as = ("no periods" if terms is None else terms.described() for terms in (said, known))
    return f"the file says {written}, the ledger {known_as}"


def _undeclared(dataset: Dataset, balance: Any, url: str, declare: bool) -> str:
    """Say why the private table is not declared, and what to do; nothing if it is."""
    private = identified(dataset.private)
    if dataset.public is not None:
        check_public_file(dataset.public, url, dataset.private)
    columns, why = _columns(dataset)
    known: dict[str, Any] = next((table for table in balance.tables if table["uri"] == private), {"columns": ()})
    groups, whole = _group_columns(dataset), known.get("no_line_breaks", False)
    if not (whole or dataset.no_line_breaks) and _has_lines_of_persons(dataset):
        return (
            f"its table {dataset.private} is CSV, of persons, and nothing declares that no cell contains a line break, "
            "so its runs are refused: if none can, write `no_line_breaks: true` into the file"
        )
    named = {*columns} <= {*known["columns"]} and {*groups} <= {*known.get("groups", ())}
    said = whole >= dataset.no_line_breaks and known.get("another_table", False) >= dataset.another_table
    if "uri" in known and named and said:
        return ""
    if declare and columns:
        with Ledger.open(url, create=False) as ledger:
            table = NamedTable(private, columns, groups)
            ledger.register(
                dataset.dataset,
                budget=balance.budget,
                table=table,
                no_line_breaks=dataset.no_line_breaks,
                another_table=dataset.another_table,
            )
        return ""
    line = f"pubpriv budget set {dataset.dataset} {dataset.cap}{_declaring(dataset, columns)}"
    return (
        f"its table {dataset.private} is not declared{why}, so its runs are refused: run `{line} --ledger "
        f"{quote(without_password(url))}`" + ("" if declare else ", or deploy with --set-budget")
    )


def _declaring(dataset: Dataset, columns: tuple[str, ...]) -> str:
    """Give the options of `pubpriv budget set` that declare the private table, for a person to correct."""
    groups = "".join(f" --by {quote(join_in_command([name]))}" for name in _group_columns(dataset))
    said = " --no-line-breaks" * dataset.no_line_breaks + " --another-table" * dataset.another_table
    names = join_in_command(columns) or "NAMES"
    return f" --private {quote(dataset.private)} --columns {quote(names)}{groups}{said}"


def _has_lines_of_persons(dataset: Dataset) -> bool:
    """Check whether the records of persons are lines of text, as far as can be seen here."""
    if not dataset.person:
        return False
    try:
        return is_delimited(canonical(dataset.private))
    except PubPrivError:  # the table is not here
        return kind_of(dataset.private) == "CSV"


def _group_columns(dataset: Dataset) -> tuple[str, ...]:
    """List the columns by which releases of the file tell groups of rows apart."""
    named = [release.settings.get("by") for release in dataset.releases]
    return tuple(sorted({named_source(str(by)) for by in named if by}))


def _columns(dataset: Dataset) -> tuple[tuple[str, ...], str]:
    """List the columns of the file that runs read; none, and why, where only a table that is not here has them."""
    names = dataset.columns
    if names is None and dataset.public is None:
        return (), " (the file names no columns, and no public table that has them)"
    if names is None:
        others = {*map(text_of, (*person_names(dataset.person), *_group_columns(dataset)))}
        try:
            names = tuple(name for name in PublicTable.open(dataset.public).columns if name not in others)
        except PubPrivError:
            return (), f" (the file names no columns, and the public table {dataset.public} cannot be read here)"
    return tuple(sorted(sources_of(parse_columns(names)))), ""


def _balance(dataset: Dataset, url: str) -> Any:
    """Read the balance; None where there is no ledger yet, or no such dataset in it."""
    try:
        with Ledger.open(url, create=False) as ledger:
            return ledger.balance(dataset.dataset) if dataset.dataset in ledger.datasets() else None
    except InvalidInput:
        return None


def _forecasts(dataset: Dataset, balance: Any) -> dict[str, str]:
    alone = ", if no other release spends" if len(dataset.releases) > 1 else ""
    return {release.name: f"{_until(release, balance)}{alone}" for release in dataset.releases}


def _until(release: Series, balance: Any) -> str:
    """Say for how many releases the budget pays, and until when that is."""
    if not balance.capped:
        return f"each {balance.periods.unit} has a budget of its own, without an end"
    fits = parse_budget(release.allotment).how_many(balance.budget, balance.cap, balance.remaining)
    text = f"the budget pays for {fits} more release{'' if fits == 1 else 's'}"
    if not fits or release.schedule is None or not release.schedule.active or fits > _MOST_TIMES:
        return text
    due = times(release.schedule.prefect(), fits)
    return f"{text}, until {due[-1]:%Y-%m-%d %H:%M}" if len(due) == fits else text
