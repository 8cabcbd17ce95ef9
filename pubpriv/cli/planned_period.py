"""Additions of `pubpriv plan --period` to a plan: the period, and what is left of its caps."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pubpriv.cli.console import out
from pubpriv.cli.known import Known
from pubpriv.cli.options import ledger_url
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.privacy.ledger.period_outlook import PeriodOutlook, Room


def outlook_of(known: Known, period: str, budget: str) -> "PeriodOutlook":
    """Look up the caps of a dataset for one more run of a period; nothing is opened or charged.

    Raises:
        InvalidInput: no dataset is named, it has no such period, or the budget cannot be charged to its caps.
        Unavailable: the ledger cannot be read now.
    """
    from pubpriv.ledger.unit import check_unit
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.ledger.period_outlook import PeriodOutlook

    if known.dataset is None:
        raise InvalidInput(
            "--period names a period of a dataset: say which, with --dataset, and its ledger with --ledger or "
            "PUBPRIV_LEDGER"
        )
    allotment = parse_budget(budget)
    check_unit(None, 1, period, allotment)
    with Ledger.open(ledger_url(known.ledger), create=False) as books:
        balance = books.balance(known.dataset)
    if balance.periods is None:
        raise InvalidInput(f"dataset {known.dataset!r} has no periods: leave out --period {period}")
    return PeriodOutlook.of(balance, balance.periods, allotment, period)


def without_table(known: Known, rows: int | None, counted: bool, outlook: "PeriodOutlook") -> Known:
    """Leave the private table out: the number of rows or persons of a period is private, so it is typed, not counted.

    Args:
        known: facts of the dataset.
        rows: typed number of rows.
        counted: whether persons or their sizes were typed.
        outlook: outlook of the period.

    Raises:
        InvalidInput: the number was not typed, or is for the other unit.
    """
    if outlook.persons and not counted:
        raise InvalidInput(
            f"the unit of dataset {known.dataset!r} is a person: give --persons N, or --sizes, for about how many have "
            f"rows in one {outlook.terms.unit}"
        )
    if not outlook.persons and (rows is None or counted):
        raise InvalidInput(
            f"the number of rows that dataset {known.dataset!r} has in {outlook.period} is private: give --rows N, for "
            f"about how many one {outlook.terms.unit} has"
        )
    return replace(known, private=None)


def show_outlook(outlook: "PeriodOutlook") -> None:
    """Print the run's part of the period's cap, and the part of the dataset's cap if each period has such a run."""
    unit = outlook.terms.unit
    out(f"{outlook.period}: {_in_words(outlook.own)}")
    if outlook.lifetime is None:
        out(f"all {unit}s together: no cap, it was waived; each record has that of a {unit}, for ever")
        return
    runs = outlook.lifetime.runs
    each = f"{runs:,} {unit}{'' if runs == 1 else 's'}"
    out(f"all {unit}s together: {_in_words(outlook.lifetime)}, so one in each of {each}")


def _in_words(room: "Room") -> str:
    from pubpriv.privacy.wording import for_people

    amounts = {"cap": room.cap, "spent": room.spent, "held": room.held, "left": room.remaining}
    balance = ", ".join(f"{name} {for_people(room.budget.amount_text(amount))}" for name, amount in amounts.items())
    runs = f"{room.runs:,} like it {'fits' if room.runs == 1 else 'fit'}"
    return f"{balance}; this run takes {for_people(room.budget.amount_text(room.run))}, and {runs}"


def with_outlook(plan: dict[str, Any], outlook: "PeriodOutlook | None") -> dict[str, Any]:
    """Return the plan as JSON data, with the outlook if there is one."""
    return plan if outlook is None else {**plan, "period": outlook.to_json()}
