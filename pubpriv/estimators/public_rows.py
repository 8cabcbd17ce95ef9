"""Public rows of a run, or none: some methods work without public rows."""

from collections.abc import Collection
from typing import Any

import numpy as np

from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.tables import LeftOut, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._missing_codes import Code, codes_in

NO_PUBLIC = "no-public"
"""Name of the method of a mean and of a Gaussian that works without public rows."""

SMALLEST_UNIT, LARGEST_UNIT = 1e-60, 1e60
"""Least spread and largest value of a column: the error of a covariance is computed from fourth powers, and numbers
hold those up to 1e308."""


def public_rows(
    public: Any,
    columns: tuple[str, ...],
    method: str,
    without: Collection[str] = (NO_PUBLIC,),
    one_law: bool = True,
) -> PublicTable:
    """Open the public rows, or return an empty table if the method works without.

    Args:
        public: a path, rows in memory or a `PublicTable`; None or a table without rows: none.
        columns: columns of the run.
        method: name of the method.
        without: methods that work without public rows.
        one_law: see `usable`.

    Raises:
        InvalidInput: the method would not use the rows, or needs some and has none, or the rows cannot be read, or are
            in units that numbers do not hold.
    """
    rows = PublicTable.none(columns) if public is None else PublicTable.open(public, parse_columns(columns))
    check_public(bool(len(rows.rows)), method, without)
    return usable(rows, one_law)


def usable(rows: PublicTable, one_law: bool = True) -> PublicTable:
    """Return public rows that every method can compute with: without those in which a cell stands for a missing value.

    Args:
        rows: public rows; what was left out before is not looked for again.
        one_law: see `codes_in`.

    Raises:
        InvalidInput: a column is in units so large or small that its variance, or the error of that, is no number.
    """
    if not len(rows.rows):
        return rows
    if not rows.left_out:
        rows = _without_codes(rows, one_law)
    low, high = rows.rows.min(axis=0), rows.rows.max(axis=0)
    for name, least, most in zip(rows.columns, low.tolist(), high.tolist(), strict=True):
        furthest = max(abs(least), abs(most))
        if furthest > LARGEST_UNIT:
            raise InvalidInput(
                f"the public values of column {name} reach {furthest:.2g}, too large for a covariance: give both "
                f"tables in other units, in which all values are below {LARGEST_UNIT:g}"
            )
        if 0 < most - least < SMALLEST_UNIT:
            raise InvalidInput(
                f"the public values of column {name} differ by {most - least:.2g} at most, too small for a covariance: "
                f"give both tables in other units, in which they differ by more than {SMALLEST_UNIT:g}"
            )
    return rows


def _without_codes(rows: PublicTable, one_law: bool) -> PublicTable:
    """Leave out the rows that have a code for a missing value, with a note on each value."""
    codes = codes_in(rows.rows, one_law)
    out = np.zeros(len(rows.rows), dtype=bool)
    for code in codes:
        out[list(code.rows)] = True
    why = [
        LeftOut(name := rows.columns[code.column], code.value, len(code.rows), _note_on(name, code, rows.rows, out))
        for code in codes
    ]
    return rows.without(out, tuple(why)) if why else rows


def _note_on(name: str, code: Code, rows: np.ndarray, out: np.ndarray) -> str:
    """Say which value of a column is taken for a code, in how many rows, and what the column is without them."""
    count, cells = len(code.rows), rows[:, code.column]
    kept = cells[~out]
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(cells.std())
        moved = abs(code.value / 1000 - float(np.median(kept)) / 1000)
    between = "; clip(COLUMN, LOW, HIGH) bounds it" if parse_columns((name,))[0] == Column(name) else ""
    return (
        f"{count} of {len(cells)} public rows {'has' if count == 1 else 'have'} {code.value:g} in column {name}, "
        f"{code.times:.3g} times as far from the median as any other: taken for a code of a missing value, and left "
        f"out. The public standard deviation of {name} is {kept.std():.3g} without, "
        f"{f'{spread:.3g}' if np.isfinite(spread) else 'more than numbers hold'} with. In private rows such a value "
        f"counts as a number: one row in 1,000 moves the mean by {moved:.3g}, and so few may go unseen{between}. Take "
        "such rows out of the public file if the private rows have none: else errors may include what unseen ones add"
    )


def check_unit(value: float, what: str) -> None:
    """Refuse a standard deviation given by the user that no column in such units has.

    Raises:
        InvalidInput: it is not between the limits.
    """
    if not SMALLEST_UNIT <= value <= LARGEST_UNIT:
        raise InvalidInput(
            f"{what} must be between {SMALLEST_UNIT:g} and {LARGEST_UNIT:g}, not {np.format_float_scientific(value, 2)}"
            ": use other units"
        )


def check_public(given: bool, method: str, without: Collection[str]) -> None:
    """Refuse public rows that the method would not use, and missing public rows that it needs.

    Raises:
        InvalidInput: in either case.
    """
    if given and method in without:
        raise InvalidInput(f"the method {method} makes no use of public rows: leave them out, or use another method")
    if not given and method not in without:
        instead = f"; the method {' or '.join(sorted(without))} works without" if without else ""
        raise InvalidInput(f"public rows are missing: give some{instead}")
