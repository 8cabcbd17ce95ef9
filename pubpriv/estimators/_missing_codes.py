"""Public cells that stand for a missing value, as -999 or 9.96921e+36: found in the public rows alone, which are free.

Distances from the median are compared as u = asinh(distance / median distance): linear among ordinary values, and a
logarithm beyond, so that long tails come out short. A value is taken for a code if its u is far beyond that of all
other cells: by a large factor, or by a smaller one if programs and questionnaires use the value as a code. The fewer
rows, the larger the factor, as the largest of few is often alone. `tests/estimators/test_missing_codes.py` measures how
often columns of honest laws have such a value.
"""

from dataclasses import dataclass

import numpy as np

_FEWEST, _FEWEST_OTHERS, _FEWEST_PLAIN = 5, 8, 2
"""Rows without which nothing is suspected, and cells away from the median besides the suspect: of a value that is no
known code, and of one that is."""

_FACTOR, _OF_FEW, _LEAST = 3.0, 48.0, 4.0
"""A value is wild if its u exceeds the largest other one by the first number or, if that is more, the second one over
the number of rows, and is at least the third: 27 median distances."""

_KNOWN_FACTOR, _KNOWN_OF_FEW = 1.5, 18.0
"""The first two of these for values that are known as codes."""

_MOST, _MOST_KNOWN = 0.25, 0.45
"""Largest share of rows with the same code: values of more rows are a part of the table."""

_FILLS = (
    *(float(sign * 2.0**bits + shift) for bits in (15, 31, 63) for sign, shift in ((-1, 0), (1, -1), (-1, 1))),
    *(float(2.0**bits - 1) for bits in (8, 16, 32)),
    *(sign * 10.0**power for sign in (-1, 1) for power in (20, 30, 34, 35, 36, 38)),
    *(sign * float(limit) for sign in (-1, 1) for limit in (np.finfo(np.float32).max, np.finfo(np.float64).max)),
    *(sign * float(np.float32(9.96921e36)) for sign in (-1, 1)),
)
"""Least and largest integers and floats, and fill values of netCDF and of weather and climate data."""


@dataclass(frozen=True)
class Code:
    """A value of one column that is taken for a code.

    Attributes:
        column: index of the column.
        value: the value.
        rows: indices of the rows that have it.
        times: its distance from the median, over the largest other one.
    """

    column: int
    value: float
    rows: tuple[int, ...]
    times: float


def codes_in(rows: np.ndarray, one_law: bool) -> tuple[Code, ...]:
    """Find the values of public rows (m, d) that are taken for codes.

    Args:
        rows: all finite.
        one_law: whether the rows are of one law, in which a row by itself far out is suspicious. In a mixture it may be
            the only one of its component: only known codes are found.
    """
    found = []
    for column, cells in enumerate(rows.T):
        kept = np.arange(len(cells))
        while (code := _code_in(cells[kept], one_law)) is not None:
            value, times = code
            found.append(Code(column, value, tuple(kept[cells[kept] == value].tolist()), times))
            kept = kept[cells[kept] != value]
    return tuple(found)


def known_code(value: float) -> bool:
    """Tell whether programs or questionnaires use a value as a code for a missing one: 99, -999, 9998, fill values."""
    if any(abs(value - fill) <= 1e-6 * abs(fill) for fill in _FILLS):
        return True
    if value != np.rint(value) or not 10 <= abs(value) < 1e15:
        return False
    digits = str(int(abs(value)))
    alike = digits == digits[0] * len(digits) and digits[0] in "789"
    return alike or (set(digits[:-1]) == {"9"} and digits[-1] in "678")


@np.errstate(over="ignore")  # the largest floats are codes, too
def _code_in(cells: np.ndarray, one_law: bool) -> tuple[float, float] | None:
    """Return (value, times) of the code that is furthest out in a column; None: there is none."""
    m = len(cells)
    if m < _FEWEST:
        return None
    values, counts = np.unique(cells, return_counts=True)
    apart = np.abs(values / 2 - np.median(cells / 2))  # halves: a difference of such codes is no number
    usual = np.repeat(apart, counts)
    if not usual.any():
        return None
    far = np.arcsinh(apart / (float(np.median(usual)) or float(np.median(usual[usual > 0]))))
    known = np.array([known_code(value) for value in values.tolist()])
    for at in np.argsort(-apart):
        others = np.arange(len(values)) != at
        if known[at]:
            others &= ~known
            least, most, fewest = max(_KNOWN_FACTOR, _KNOWN_OF_FEW / m), _MOST_KNOWN, _FEWEST_PLAIN
            if values[at] < 0 <= values[others].min(initial=np.inf):
                least = 1.0  # a negative one among sizes and counts
        elif one_law:
            least, most, fewest = max(_FACTOR, _OF_FEW / m), _MOST, _FEWEST_OTHERS
        else:
            continue
        if counts[at] > most * m or counts[others & (apart > 0)].sum() < fewest:
            continue
        if far[at] >= least * far[others].max() and (known[at] or far[at] >= _LEAST):
            return float(values[at]), float(apart[at] / apart[others].max())
    return None
