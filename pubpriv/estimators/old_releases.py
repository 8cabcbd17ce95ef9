"""Values of an old release of quantiles in the place of public rows: next month's run begins where this month's ended.

They follow from released numbers, so they cost nothing. Columns are drawn one by one, so only estimators that treat
columns so may take them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.released.kinds import load
from pubpriv.released.quantiles import QuantilesEstimate

_VALUES = 200
"""Values of a column, at even ranks: as many as a release keeps of public rows."""


def is_release(source: Any) -> bool:
    """Return whether public rows are given as an old release, or by the name of its model file."""
    return isinstance(source, QuantilesEstimate) or str(source).endswith(".json")


def stands_for_rows(source: Any, by_column: bool) -> bool:
    """Return whether an old release is given to an estimator that treats columns one by one, and so may take it."""
    return by_column and is_release(source)


def release_in(source: Any) -> QuantilesEstimate:
    """Return the release that is given, or in a model file.

    Raises:
        InvalidInput: no such file, or another kind of release.
    """
    found = source if isinstance(source, QuantilesEstimate) else load(source)
    if not isinstance(found, QuantilesEstimate):
        raise InvalidInput(f"{source} is a released {found.kind}: only one of quantiles can stand for public rows")
    return found


def rows_of_release(source: Any, columns: Sequence[str | Column] | None) -> PublicTable:
    """Return values of each column at even ranks (200, d).

    Args:
        source: see `is_release`.
        columns: some of its columns; None: all.

    Raises:
        InvalidInput: see `release_in`; or the release lacks a column.
    """
    release = release_in(source)
    names = release.columns if columns is None else tuple(column.name for column in parse_columns(tuple(columns)))
    return PublicTable(names, np.array([release.described.of(name).values(_VALUES) for name in names]).T)


def columns_of_release(source: Any, columns: Sequence[str] | None, counted: Sequence[str]) -> tuple[str, ...]:
    """Name the columns of a run, of which some are counted, as the release has them; see `counted_columns`.

    Raises:
        InvalidInput: see `release_in`; or the release did not count a column.
    """
    release = release_in(source)
    known = {column.name: column.name for column in parse_columns(release.columns)}
    known |= {column.source: column.name for column in parse_columns(release.columns) if column.levels is not None}
    lacking = [text for text in counted if text not in known]
    if lacking:
        raise InvalidInput(f"{release.of_whom} has no column {lacking[0]}: it has {', '.join(release.columns)}")
    named = (known[text] for text in counted)
    return tuple(dict.fromkeys((*(release.columns if columns is None else columns), *named)))
