"""Groups of records by a category: a column of the file that is not a column of the estimate.

A category is written as a public text: a text as it is, an integer in decimal digits, `true` or `false`, or the month
of a date, `2026-11`. The list of categories is public: somebody declared it, or it comes from public rows. Any other
value of the private column is in no group and is never published.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pubpriv.common.column_names import inside, name_of, quoted
from pubpriv.data._checks import kind, kinds
from pubpriv.data.codec import public_value
from pubpriv.errors import InvalidInput

_MOST_CATEGORIES = 1000
"""Limit on the number of groups, because each takes time in a scan."""

_MONTH_OF = re.compile(r"\s*month\((.+)\)\s*", re.DOTALL)
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


def source_of_groups(column: str) -> str:
    """Return the file's column that `column` or `month(column)` names, in quotes or not."""
    match = _MONTH_OF.fullmatch(column)
    return inside(match[1] if match else column)


def is_by_month(column: str) -> bool:
    """Return whether a text says `month(column)`."""
    return _MONTH_OF.fullmatch(column) is not None


def named_source(text: str) -> str:
    """Return the file's column that a text of a user names, `column` or `month(column)`.

    Raises:
        InvalidInput: another expression, or no text.
    """
    match = _MONTH_OF.fullmatch(text) if isinstance(text, str) else None
    return name_of(match[1] if match else text, "the column of groups")


def _text_of_groups(column: str) -> str:
    """The shortest text with this meaning; a name as earlier versions wrote it keeps its text."""
    name, by_month = source_of_groups(column), is_by_month(column)
    plain = name if inside(name) == name and name and not is_by_month(name) else quoted(name)
    return f"month({plain})" if by_month else plain


class _Coded(Protocol):
    """A block of records whose categories are known."""

    @property
    def codes(self) -> np.ndarray | None:
        """Index in the list of each record's category, NaN if it is not listed, (length,)."""


@public_value
@dataclass(frozen=True)
class ByCategory:
    """Regions by category: a record's region is the index of its category in a public list, none for others and null.

    A private table is opened with the list and codes its rows while it reads them (`PrivateTable.by`). Questions about
    another list or another column are refused.

    Attributes:
        column: column of the file, or `month(column)` for dates.
        values: the categories, each once.

    Raises:
        InvalidInput: no column, no values or one of them twice, or more than 1,000; no months.

    Example:
        >>> import pubpriv as pp
        >>> plans = pp.ByCategory("plan", ("family", "individual"))
        >>> table = pp.PrivateTable.open("patients.csv", ["visits", "diseases"], by=plans)
        >>> table.by.values
        ('family', 'individual')
    """

    column: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        kind("the column of ByCategory", self.column, str)
        if not self.column.strip():
            raise InvalidInput("a column of groups has a name: --by region, or --by 'month(visit_date)'")
        object.__setattr__(self, "column", _text_of_groups(self.column))
        kinds("the values of ByCategory", self.values, str)
        if len({*self.values}) < len(self.values) or "" in self.values:
            raise InvalidInput(f"the groups by {self.column} are texts, each named once")
        if len(self.values) > _MOST_CATEGORIES:
            raise InvalidInput(f"{len(self.values)} groups by {self.column} are too many: {_MOST_CATEGORIES} at most")
        odd = [value for value in self.values if self.by_month and not _MONTH.fullmatch(value)]
        if odd:
            raise InvalidInput(f"the groups by {self.column} are months, as 2026-11 is, not {odd[0]!r}")

    @property
    def source(self) -> str:
        """The column of the file."""
        return source_of_groups(self.column)

    @property
    def by_month(self) -> bool:
        """Whether the groups are the months of a date column."""
        return is_by_month(self.column)

    @property
    def n_regions(self) -> int:
        """Number of categories."""
        return len(self.values)

    def check(self, columns: int) -> None:
        """Accept records of any length."""

    def assign(self, view: _Coded) -> np.ndarray:
        """Return the index of each record's category, -1 for none.

        Raises:
            ValueError: a defect; the records were read without their categories.
        """
        if view.codes is None:
            raise ValueError("records without categories")
        known = (view.codes >= 0) & (view.codes < self.n_regions)  # NaN is neither
        return np.where(known, view.codes, -1).astype(np.int64)


def check_groups(by: ByCategory | None, columns: Iterable[str]) -> None:
    """Refuse groups by a column that the estimate or the ids already use.

    Raises:
        InvalidInput: the column is among `columns`, or `by` is not a `ByCategory`.
    """
    if by is None:
        return
    if type(by) is not ByCategory:
        raise InvalidInput('groups are given by a column and its values: by=ByCategory("region", ("north", "south"))')
    if by.source in {*columns}:
        raise InvalidInput(
            f"column {by.source} makes the groups, so it cannot be a column of the estimate or an id: leave it out of "
            "--columns"
        )
