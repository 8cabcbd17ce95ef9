"""Hints for the next fit, from released numbers and public rows: nothing here looks at a private row.

A column with a long tail to the right (fares, prices, areas) is the most expensive: its far rows are clipped, or
included at the price of noise for all columns. Its logarithm has no such tail. If the public rows show that, and the
release agrees, the release names the column. This is only a hint, not a flag: numbers and errors remain valid.
"""

from collections.abc import Sequence

import numpy as np

from pubpriv.common.column_names import join_columns
from pubpriv.data.columns import parse_columns

_SKEWED, _SURE = 1.25, 3.0
"""Public rows are skewed if the skewness exceeds this, and this many standard deviations of Gaussian rows' skewness."""

_LEAN = 0.15
"""The median must be nearer to the lowest tenth than to the highest by more than this share of their distance."""

_MENDED = 0.5
"""A logarithm mends a column if it leaves at most this share of the skewness."""

_BELOW = 0.05
"""The Gaussian with the released mean and variance must have more than this share where the column cannot be."""

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
    a released number agrees: the Gaussian with its mean and variance reaches below zero, where the column has almost no
    rows, or there are rows beyond the clip radius.

    Args:
        columns: names of the d columns; one that is mapped already is not named.
        public: (m, d) public rows.
        mean: (d,) released.
        covariance: (d, d) released.
        beyond: share of rows that is certainly beyond the clip radius: the released share minus two of its sds.

    Returns:
        A sentence that names them, and says what to write instead; empty if there are none.

    Privacy: free; uses released numbers and public rows only.
    """
    found = [
        name
        for j, name in _tailed(columns, public)
        if beyond > _BEYOND or _reaches_below_zero(float(mean[j]), float(covariance[j, j]))
    ]
    return _advice(columns, found)


def tail_remedy(column: str, values: np.ndarray) -> str:
    """Say what helps a column whose tail has no end that was seen, from its public values (m,).

    A logarithm helps only a long tail to the right, of a column that is no map of another one already.
    """
    parsed = parse_columns((column,))[0]
    if parsed.function is None and loses_its_tail(values):
        return f"estimate its logarithm, log1p({column}), which has no such tail"
    if parsed.function is None:
        return f"bound it, clip({column}, LOW, HIGH), by limits that are known without the private rows"
    return "a larger budget, or other bounds or maps of the same column"


def _tailed(columns: Sequence[str], public: np.ndarray) -> list[tuple[int, str]]:
    """List indices and names of columns that are not mapped, and whose public rows (m, d) lose a tail in `log1p`."""
    parsed = enumerate(parse_columns(tuple(columns)))
    return [(j, columns[j]) for j, column in parsed if column.function is None and loses_its_tail(public[:, j])]


def _advice(columns: Sequence[str], found: Sequence[str]) -> tuple[str, ...]:
    """Say what to write instead of the columns that were found; empty if there are none."""
    if not found:
        return ()
    instead = join_columns([f"log1p({name})" if name in found else name for name in columns])
    one = len(found) == 1
    text = (
        f"{' and '.join(found)} {'has' if one else 'have'} a long tail to the right: {'its' if one else 'their'} "
        f"logarithm{'' if one else 's'} would be estimated better (--columns '{instead}'), in the logarithm's units"
    )
    return (text,)


def loses_its_tail(values: np.ndarray) -> bool:
    """Decide whether public values (m,) are clearly skewed to the right, and their logarithms hardly."""
    if len(values) < 3 or values.min() <= -1:
        return False
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    if low + high - 2 * middle <= _LEAN * (high - low):
        return False  # only a few far rows, in a column with two tails
    skewness, bound = _skewness(values), max(_SKEWED, _SURE * np.sqrt(6 / len(values)))
    return skewness > bound and abs(_skewness(np.log1p(values))) < _MENDED * skewness


def _skewness(values: np.ndarray) -> float:
    """Compute the third central moment over the second's power of 3/2; zero if all values are equal."""
    apart = values - values.mean()
    variance = float((apart**2).mean())
    return float((apart**3).mean()) / variance**1.5 if variance > 0 else 0.0


def _reaches_below_zero(mean: float, variance: float) -> bool:
    from scipy.special import ndtr

    return variance > 0 and float(ndtr(-mean / np.sqrt(variance))) > _BELOW
