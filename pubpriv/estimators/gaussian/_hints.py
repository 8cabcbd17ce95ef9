"""Hints for the next fit, from released numbers and public rows: nothing here looks at a private row.

A column with a long tail to the right (fares, prices, areas) costs most: its far rows are clipped, or let in at the
price of noise for all. Its logarithm has no such tail. So where public rows show that, and the release agrees, the
release names the column. It is a hint and no flag: numbers and errors are what they are.
"""

from collections.abc import Sequence

import numpy as np

from pubpriv.common.lists import join_names
from pubpriv.data.columns import parse_columns

_SKEWED, _SURE = 1.25, 3.0
"""Public rows are skewed beyond this, and by so many standard deviations of the skewness of as many Gaussian rows."""

_LEAN = 0.15
"""The middle is nearer to the lowest tenth than to the highest by more than this share of their distance."""

_MENDED = 0.5
"""A logarithm that mends a column leaves at most this share of its skewness."""

_BELOW = 0.05
"""A Gaussian with the released mean and variance has more than this share where the column cannot be."""

_BEYOND = 0.002
"""A share of rows beyond the clip radius that shows a tail."""


def log_hints(
    columns: Sequence[str],
    public: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    beyond: float = 0.0,
) -> tuple[str, ...]:
    """Name the columns whose `log1p` would have been estimated better.

    A column is named if its public rows are all above -1, have a long tail to the right and lose it in `log1p`, and if
    a released number agrees: the Gaussian with its mean and variance reaches below zero, where the column has hardly a
    row, or rows lie beyond the clip radius.

    Args:
        columns: their d names; one that is mapped already is not named again.
        public: (m, d) public rows.
        mean: (d,) released.
        covariance: (d, d) released.
        beyond: share of rows beyond the clip radius that is surely there: what was released less two of its sds.

    Returns:
        A sentence that names them, and says what to write instead; empty if there are none.

    Privacy: none is spent; released numbers and public rows go in.
    """
    found = [
        name
        for j, name in _tailed(columns, public)
        if beyond > _BEYOND or _reaches_below_zero(float(mean[j]), float(covariance[j, j]))
    ]
    return _advice(columns, found)


def public_hints(columns: Sequence[str], public: np.ndarray) -> tuple[str, ...]:
    """Name the columns whose public rows (m, d) alone say that their `log1p` would be estimated better, for a plan."""
    found = [name for _, name in _tailed(columns, public)]
    return tuple(f"in the public rows {hint}" for hint in _advice(columns, found))


def _tailed(columns: Sequence[str], public: np.ndarray) -> list[tuple[int, str]]:
    """Give places and names of columns that are not mapped, and whose public rows (m, d) lose a tail in `log1p`."""
    parsed = enumerate(parse_columns(tuple(columns)))
    return [(j, columns[j]) for j, column in parsed if column.function is None and _loses_its_tail(public[:, j])]


def _advice(columns: Sequence[str], found: Sequence[str]) -> tuple[str, ...]:
    """Say what to write instead of the columns that were found; nothing of none."""
    if not found:
        return ()
    instead = join_names([f"log1p({name})" if name in found else name for name in columns])
    one = len(found) == 1
    text = (
        f"{' and '.join(found)} {'has' if one else 'have'} a long tail to the right: {'its' if one else 'their'} "
        f"logarithm{'' if one else 's'} would be estimated better (--columns '{instead}'), in the logarithm's units"
    )
    return (text,)


def _loses_its_tail(values: np.ndarray) -> bool:
    """Tell whether public values (m,) are surely skewed to the right, and their logarithms hardly."""
    if len(values) < 3 or values.min() <= -1:
        return False
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    if low + high - 2 * middle <= _LEAN * (high - low):
        return False  # a few far rows of a column that has two tails
    skewness, bound = _skewness(values), max(_SKEWED, _SURE * np.sqrt(6 / len(values)))
    return skewness > bound and abs(_skewness(np.log1p(values))) < _MENDED * skewness


def _skewness(values: np.ndarray) -> float:
    """Third central moment over the second's power of 3/2; zero of values that are all equal."""
    apart = values - values.mean()
    variance = float((apart**2).mean())
    return float((apart**3).mean()) / variance**1.5 if variance > 0 else 0.0


def _reaches_below_zero(mean: float, variance: float) -> bool:
    from scipy.special import ndtr

    return variance > 0 and float(ndtr(-mean / np.sqrt(variance))) > _BELOW
