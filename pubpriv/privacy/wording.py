"""Guarantees in sentences, for the command line and the report page.

The sentences claim what the proofs of the budgets show (`privacy.budgets`), and no more.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, exp
from typing import Any

from pubpriv.privacy.budgets import KINDS, Amount
from pubpriv.privacy.ledger.period_terms import PeriodTerms

_DECIMAL = re.compile(r"(?<![\w.-])\d+\.\d{3,}(?![\w.])")
_NEIGHBOURS = "neighbours differ in one record, the number of records is public"
_NEIGHBOURS_DATED = "neighbours differ in one record, its date included; the number of records in a period is private"
_NEIGHBOURS_OF_PERSONS = (
    "neighbours differ in all rows of one {ids}, however many; the numbers of persons and of rows are private"
)


def for_people(amounts: str) -> str:
    """Round the amounts in a text to four digits: `0.5 rho` for `0.499999999948 rho`; files keep all digits.

    Refusals show exact amounts, because the last digit may decide what fits.
    """
    return _DECIMAL.sub(lambda match: f"{float(match[0]):.4g}", amounts)


def left_for_people(left: Amount, cap: Amount) -> Amount:
    """Return the remaining amount for display: zero if it is at most a millionth of the cap, left by rounding."""
    return left if left.main * 10**6 > cap.main else replace(left, main=0)


def declared(unit: str) -> str:
    """Return the unit in the owner's words, with the remark that it was not checked."""
    return f"{unit}, as declared by the owner, not checked"


def neighbours(person: Sequence[str], dated: bool = False) -> str:
    """Describe how neighbouring tables differ.

    Args:
        person: id columns, if the unit is a person.
        dated: whether the dataset has periods.
    """
    if person:
        return _NEIGHBOURS_OF_PERSONS.format(ids=" and ".join(person))
    return _NEIGHBOURS_DATED if dated else _NEIGHBOURS


def period_lines(terms: PeriodTerms, persons: bool, tables: int = 1) -> list[str]:
    """Return sentences about the promise for periods, in addition to the guarantee of the dataset's own cap.

    Args:
        terms: the dataset's terms.
        persons: whether its unit is a person.
        tables: how many tables it has. A record is of one of them, and somebody may have one in each.
    """
    one, text = f"one {terms.unit}", terms.budget.guarantee()["text"]
    by_date = f"a row belongs to the {terms.unit} of its {terms.column}"
    if persons:
        return [
            f"guaranteed for what one person has in {one}: {text}; {by_date}",
            "what the periods show of one person adds up, within the cap of the dataset",
        ]
    always = "guaranteed for every record of a table, its date included, in all periods together and for ever"
    line = f"{always}: {text}; {by_date}"
    if terms.lifetime:
        return [line]
    waived = "there is no other cap: it was waived, as the ledger says, with a reason, so there is one table only"
    again = f"with {tables} tables the dataset's cap holds for all periods together, although it was waived"
    return [line, waived if tables < 2 else again]


def statement_of_periods(terms: PeriodTerms, period: str | None, persons: bool) -> dict[str, Any]:
    """Return the part of a run's privacy statement that is about periods.

    Args:
        terms: the dataset's terms.
        period: period of the run; None: all rows, which counts in every period.
        persons: whether the unit of the dataset is a person.
    """
    # the dataset's cap may be waived later, and the statement of a run must not change then
    kept = {"unit": terms.unit, "column": terms.column, "budget": terms.budget.to_json()}
    return {"period": period, "periods": kept, "promised": period_lines(replace(terms, lifetime=True), persons)}


def guarantee_lines(
    dataset: str,
    unit: str,
    cap: str | None,
    release_id: str,
    allotment: str,
    person: Sequence[str] = (),
    dated: bool = False,
) -> list[str]:
    """Return the lines of the promise: the dataset's unit, then the guarantee of all runs, then that of one run.

    Args:
        dataset: name of the dataset.
        unit: what one record stands for, as the owner declared it.
        cap: the guarantee of the dataset's cap; None if no ledger was read.
        release_id: release id of the run.
        allotment: the run's own guarantee.
        person: id columns, if the unit is a person.
        dated: whether the dataset has periods.
    """
    lines = [f"dataset {dataset}, unit: {declared(unit)}; {neighbours(person, dated)}"]
    lines += [] if cap is None else [f"guaranteed for all runs together: {cap}"]
    return [*lines, f"guaranteed for run {release_id}: {allotment}"]


def _best_guess(guarantee: Mapping[str, Any], charges: Sequence[Mapping[str, Any]] = ()) -> float | None:
    """Bound the probability of guessing right which of two equally likely records is in the table.

    The attacker knows every other record, all settings and everything that was released under the guarantee: all
    answers of one run, or of all runs of a dataset. One half is pure chance; the rest is half the total variation
    between the two laws of the release, for which the smallest bound is used: (epsilon, delta)-DP gives
    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Kairouz, Oh, Viswanath 2015), and each kind of budget adds bounds of
    its own (`Budget.variation_bounds`).

    Args:
        guarantee: result of `Budget.guarantee`.
        charges: charges of the run, with their noise scales; an epsilon-DP mechanism has none. Empty for a cap.

    Returns:
        A probability, never below the truth; None for a simulation, which guarantees nothing.
    """
    if "epsilon" not in guarantee:
        return None
    epsilon, delta = float(guarantee["epsilon"]), float(guarantee.get("delta", 0.0))
    apart = [(1 - exp(-epsilon) + 2 * delta * exp(-epsilon)) / (1 + exp(-epsilon))]
    if guarantee["kind"] in KINDS:
        all_gaussian = bool(charges) and all(charge["noise_scale"] for charge in charges)
        apart += KINDS[guarantee["kind"]].variation_bounds(guarantee, all_gaussian)
    return min(1.0, 0.5 + 0.5 * min(apart))


def plain_words(
    unit: str,
    guarantee: Mapping[str, Any],
    charges: Sequence[Mapping[str, Any]],
    cap: Mapping[str, Any] | None = None,
    person: Sequence[str] = (),
) -> list[str]:
    """Explain the guarantee to somebody who never heard of differential privacy; empty for a simulation.

    A run's guarantee covers what the run computed, *given* its settings and everything that other runs published: its
    budget, or that it was started at all, may follow from their answers. A page that shows other runs is covered only
    by the guarantee of the dataset's cap (`docs/privacy.md`, 7).

    Args:
        unit: what one record stands for, as the owner declared it.
        guarantee: the run's guarantee.
        charges: charges of the run.
        cap: the guarantee of the dataset's cap, if other runs are shown too.
        person: id columns, if the unit is a person.
    """
    guess = _best_guess(guarantee, charges)
    if guess is None:
        return []
    ids = " and ".join(person)
    what = f"everything of one person: all rows of one {ids}, however many" if person else "a whole record"
    protected = (
        f"What is protected is {what}: {declared(unit)}. Random noise of a known size was added to every "
        "number that was computed from the private rows, before it left the table."
    )
    whole = None if cap is None else _best_guess(cap)
    one = "person" if person else "record"
    limits = (
        f"That holds whatever else they know, and for every {one} alike. It does not hide what is true of the table as "
        f"a whole, nor {'about how many persons' if person else 'how many records'} there are."
    )
    by_this, by_all = _rounded_up(guess), None if whole is None else _rounded_up(whole)
    return [protected, *(text.replace("record", one) for text in _attacked(by_this, by_all)), limits]


def guess_in_short(
    guarantee: Mapping[str, Any], charges: Sequence[Mapping[str, Any]], cap: Mapping[str, Any] | None = None
) -> str:
    """Return the figure of `plain_words` in one line, for the cap if other runs are shown; empty for a simulation."""
    guess = _best_guess(guarantee, charges) if cap is None else _best_guess(cap)
    if guess is None:
        return ""
    return (
        "Somebody who knows everything else in the table, and considers two possibilities equally likely, finds the "
        f"right one with a probability of at most {_rounded_up(guess)}; 50% is chance."
    )


def _attacked(by_this: str, by_all: str | None) -> list[str]:
    """Sentences on how often an attacker can be right: from everything shown, and from this release alone."""
    alone = (
        "Suppose that somebody knows every other record, all settings of this release and everything that other "
        "releases have published, and that one record could then still be either of two, which are equally likely. "
        "The numbers of this release let them pick the right one with a probability of at most "
        f"{by_this}; 50% would be pure chance."
    )
    if by_all is None:
        return [alone]
    together = (
        "Suppose that somebody knows every other record, all settings and everything on this page, and that without "
        "any release one record could be either of two, which are equally likely. They can pick the right one with a "
        f"probability of at most {by_all}; 50% would be pure chance. This is the figure of the dataset's whole budget, "
        "as it is now: the page shows what other releases spent, which may follow from their answers."
    )
    share = (
        "The numbers of this release account for a part of that: to somebody who knows all other releases and the "
        f"settings of this one, and still considers the two equally likely, they give at most {by_this}."
    )
    return [together, share]


def _rounded_up(share: float) -> str:
    """The share as a percentage, rounded up."""
    return f"{ceil(share * 1000) / 10:.1f}%" if share < 0.999 else "100%"
