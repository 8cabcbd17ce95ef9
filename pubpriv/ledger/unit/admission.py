"""Checks before a run opens: its table and settings must fit the dataset's privacy unit."""

import warnings
from dataclasses import fields, replace
from string import hexdigits
from typing import Any

from pubpriv.common.lake_names import identity_of
from pubpriv.common.tables import is_in_memory
from pubpriv.data.questions.base import LIMIT, Question
from pubpriv.data.questions.per_person import MOST_ROWS
from pubpriv.data.questions.radial import reach_of
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.ledger.unit.units import Unit
from pubpriv.privacy.budgets import Budget, PureDP
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.terms import PersonTerms, person_columns_of
from pubpriv.privacy.noise import MAX_SD


def check_unit(
    terms: PersonTerms | None, most: int | str, period: str | None = None, budget: Budget | None = None
) -> int | str:
    """Refuse settings that do not fit the unit of the dataset, before the run holds any budget.

    Args:
        terms: terms of the dataset; None: its unit is a row.
        most: rows of a person that count, or `auto`.
        period: the period whose rows are asked; empty or None: all rows.
        budget: the run's budget.

    Returns:
        Rows of a person as a number, or `auto`.

    Raises:
        InvalidInput: rows of a person that are not a number, or given although the unit is a row; a budget without
            Gaussian noise for a run of one period.
    """
    if period and isinstance(budget, PureDP):
        raise InvalidInput(
            "a pure budget is not offered where rows of one period are asked: give zcdp:RHO or approx:EPSILON,DELTA"
        )
    most = check_most(most)
    if terms is None and most != 1:
        raise InvalidInput(
            "--rows-per-person is for datasets whose unit is a person, which `pubpriv budget set --person` makes"
        )
    return most


def check_most(most: int | str) -> int | str:
    """Return L as a number, or `auto`.

    Raises:
        InvalidInput: `most` is neither.
    """
    if isinstance(most, str) and most.isascii() and most.isdecimal():
        most = int(most)
    whole = isinstance(most, int) and not isinstance(most, bool)
    if most != "auto" and not (whole and 1 <= int(most) <= MOST_ROWS):
        raise InvalidInput(f"the rows of a person that count are a number from 1 to {MOST_ROWS}, or auto")
    return most


def made_again(
    table: Any,
    terms: PersonTerms | None,
    dataset: str,
    executor: Any = None,
    periods: PeriodTerms | None = None,
) -> PrivateTable:
    """Build a table again through its class, so that an unpickled or modified handle is checked like an opened one.

    Raises:
        InvalidInput: not a private table; a table in memory, although an executor would read it elsewhere; a name that
            is not a period of the dataset.
        SpecMismatch: its unit or its date column is not that of the dataset.
    """
    if not isinstance(table, PrivateTable):
        raise InvalidInput("a curator looks at a PrivateTable: open one with PrivateTable.open")
    if executor is not None and is_in_memory(table.uri):
        raise InvalidInput(
            f"the private table {table.uri} is in the memory of this process and is read here: run without --dask, and "
            "without an executor"
        )
    columns = person_columns_of(terms)
    if tuple(table.person) != columns:
        whose = f"person={list(columns)}" if columns else "no person"
        raise SpecMismatch(
            f"the privacy unit of dataset {dataset!r} is {terms.described() if terms else 'one row'}: open the table "
            f"with {whose}"
        )
    if table.period:
        _check_period(table, dataset, periods)
    return PrivateTable(**{each.name: getattr(table, each.name) for each in fields(PrivateTable)})


def _check_period(table: PrivateTable, dataset: str, periods: PeriodTerms | None) -> None:
    if periods is None:
        raise SpecMismatch(f"dataset {dataset!r} has no periods: open the table without one")
    periods.check_named(table.period)
    if table.dates != periods.column:
        raise SpecMismatch(
            f"the period of a row of dataset {dataset!r} is read from {periods.column}: open the table with "
            f"dates={periods.column!r}"
        )


def as_begun(table: PrivateTable, run: Any, release_id: str) -> PrivateTable:
    """Return the table with the version and number of rows with which the run began.

    So nothing is computed from another n, and a table with a log may have newer versions meanwhile.

    Args:
        table: the table given now.
        run: run of a ledger.
        release_id: name of the run.

    Raises:
        SpecMismatch: the run began with another table, or was opened for rows of another period.
    """
    run.check_period(table.period or None)
    begun: tuple[str, int | None] | None = run.begun()
    if begun is None:
        return table
    uri, n_rows = begun
    if table.newest and identity_of(uri) == identity_of(table.uri) and uri != table.uri:
        return replace(table, uri=uri, n_rows=n_rows)  # there is a newer version now, which nobody asked for
    if uri != table.uri:
        raise SpecMismatch(
            f"release id {release_id!r} began with the table {uri}, not with {table.uri}: use another release id"
        )
    if n_rows != table.n_rows:
        warnings.warn(
            f"the private table {uri} has {table.n_rows} rows, and release id {release_id!r} began with {n_rows}: what "
            f"was answered is replayed for {n_rows}, and nothing new is asked. Use another release id for this table",
            stacklevel=3,
        )
    return replace(table, n_rows=n_rows)


def hash_of(public: PublicTable | str) -> str:
    """Return the hash of public rows; a text must already be such a hash.

    Raises:
        InvalidInput: a text that is not a hash.
    """
    sha256 = public if isinstance(public, str) else public.sha256
    if not sha256 or set(sha256) - set(hexdigits):
        raise InvalidInput("a method begins with public rows, PublicTable.open(PATH), or with a hash of such rows")
    return sha256


def check_room(question: Question, unit: Unit) -> None:
    """Check that |total| + noise < LIMIT in every coordinate, since answers are clamped (`questions.base.LIMIT`).

    Raises:
        InvalidInput: it may be larger, or the question is about a table with another number of rows.
    """
    for part in question.parts.values():
        if part.rows not in (None, unit.exact_rows):
            raise InvalidInput("the question is about a table with another number of rows")
        if part.noise_scale > MAX_SD:
            raise InvalidInput("the budget share of a step is too small: its noise would not fit in 64 bits")
        if unit.bounds * part.bound * part.factor + reach_of(question) * part.noise_scale >= LIMIT:
            raise InvalidInput("the budget share of a step is too small, or the table too large, for 64-bit totals")
