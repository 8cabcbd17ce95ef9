"""What public rows show of single columns that a user can mend before a run: each a sentence, with what to do."""

import math
from collections.abc import Iterator

import numpy as np

from pubpriv.common.lists import in_words
from pubpriv.data.tables import PublicTable

_NEARLY = 0.95
"""A column is nearly constant if this share of its public rows has one value: the others are few in any table."""

_HEAP, _LEVELS = 0.5, 12
"""A column heaps if this share of its public rows has one value, its median, and there are more values than a rating
has."""

_MISSING = 0.05
"""A column is named if this share of its cells is missing: all other cells of such rows are lost, too."""

_REST, _MOST_USED, _ROWS_EACH = 0.03, 4, 4
"""A column follows from others if they leave this share of its sd, a thousandth of its variance; of so many others at
most, with at least so many public rows for each number that is fitted."""


def sentences_of_columns(public: PublicTable, by_column: bool) -> tuple[str, ...]:
    """Say which columns are constant, nearly so, heaped, computed from others, or often missing.

    Args:
        public: public rows.
        by_column: whether columns are treated one by one, and no moments are released: then only columns of one value
            are named.
    """
    if by_column:
        return tuple(_one_value(public, moments=False))
    return (*_missing(public), *_one_value(public), *_determined(public))


def _missing(public: PublicTable) -> Iterator[str]:
    of = len(public.rows) + public.dropped + sum(each.rows for each in public.left_out)
    for name, cells in zip(public.columns, public.missing_cells().tolist(), strict=True):
        if cells and cells >= _MISSING * of:
            yield (
                f"{name} is missing in {cells} of {of} public rows, and a row with a missing cell counts in no column: "
                "leave it out, or estimate it by itself"
            )


def _one_value(public: PublicTable, moments: bool = True) -> Iterator[str]:
    for name, cells in zip(public.columns, public.rows.T, strict=True):
        values, counts = np.unique(cells, return_counts=True)
        most, m = int(counts.max()), len(cells)
        value = f"{values[np.argmax(counts)]:g}"
        if len(values) == 1:
            yield f"{name} is {value} in all {m} public rows, which show no spread: leave it out"
        elif most >= _NEARLY * m:
            yield f"{name} is nearly constant, {value} in {most} of {m} public rows: its other values are a guess"
        elif moments and most >= _HEAP * m and len(values) > _LEVELS:
            yield f"{name} is {value} in {most} of {m} public rows: its mean and sd hide that, `fit quantiles` shows it"


def _determined(public: PublicTable) -> Iterator[str]:
    """Say which columns follow from others, each with the fewest others; one of each relation is named."""
    rows = public.rows[:, np.ptp(public.rows, axis=0) > 0]
    names = [name for name, cells in zip(public.columns, public.rows.T, strict=True) if np.ptp(cells) > 0]
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    related = list[frozenset[int]]()
    for j in reversed(range(len(names))):
        used = _followed(standard, j)
        relation = frozenset((j, *used))
        if used and relation not in related:
            related.append(relation)
            yield f"{names[j]} follows from {in_words([names[i] for i in sorted(used)])}: leave one out"


def _followed(standard: np.ndarray, j: int) -> tuple[int, ...]:
    """Find the columns of standardised rows (m, d) that give column j; empty: none do.

    One after the other, each time the one that leaves least (orthogonal least squares, Chen, Billings and Luo 1989).
    """
    m, d = standard.shape
    used, rest = list[int](), standard[:, j]
    others = np.delete(standard, j, axis=1)
    places = np.delete(np.arange(d), j)
    for _ in range(min(_MOST_USED, d - 1, m // _ROWS_EACH - 1)):
        sizes = np.linalg.norm(others, axis=0)
        shares = np.divide(others.T @ rest, sizes, out=np.zeros(d - 1), where=sizes > 1e-6 * math.sqrt(m))
        best = int(np.argmax(np.abs(shares)))
        if sizes[best] <= 1e-6 * math.sqrt(m):
            return ()
        axis = others[:, best] / sizes[best]
        used.append(int(places[best]))
        rest, others = rest - axis * (axis @ rest), others - np.outer(axis, axis @ others)
        if np.linalg.norm(rest) <= _REST * math.sqrt(m):
            return tuple(used)
    return ()
