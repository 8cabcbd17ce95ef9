"""Tables of a report as text: released numbers with their errors, correlations, provenance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.released.digits import MINUS, rounded, small
from pubpriv.released.numbers import MISSING, Z95, Number, sources_of
from pubpriv.released.original_units import OriginalNumber


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows; it scrolls by itself if it is wider than the page.

    Attributes:
        caption: caption of the table.
        heads: heads of the columns.
        rows: rows of texts, each as long as `heads`.
        style: CSS class.
        marked: index of a highlighted row; -1 for none.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    style: str = ""
    marked: int = -1


@dataclass(frozen=True)
class _HeatMap:
    """Correlations of `names` with each other: text and colour of each cell, row by row."""

    caption: str
    names: Sequence[str]
    cells: Sequence[Sequence[tuple[str, str]]]


def original_table(caption: str, numbers: Sequence[OriginalNumber]) -> Table:
    """Make a table of numbers of mapped columns in their original units."""
    rows = []
    for number in numbers:
        error = (number.high - number.low) / (2 * Z95)
        value, low, high = (rounded(each, error) for each in (number.value, number.low, number.high))
        rows.append([number.column, number.what, value, f"{low} to {high}", str(number.state or "")])
    return Table(caption, ("", "", "estimate", "95% interval", "state"), rows)


def number_table(caption: str, numbers: Sequence[Number], more: tuple[str, Sequence[str]] | None = None) -> Table:
    """Make a table of numbers: column or component, estimate, interval and errors by source.

    Args:
        caption: caption of the table.
        numbers: one for each row.
        more: head and cells of an additional column.
    """
    rows, clipped = [], "clipping" in sources_of(numbers)
    stated = any(number.state for number in numbers)
    for number in numbers:
        value, b = number.value, number.error
        low, high = (rounded(end, b) for end in number.interval)
        name = label(number)
        errors = [small(Z95 * number.privacy), small(Z95 * number.sampling)]
        errors += [small(Z95 * number.clipping)] * clipped
        states = [str(number.state or "")] * stated
        rows.append([name, rounded(value, b), f"{low} to {high}", *errors, *states])
    errors_of = "± privacy noise", "± sampling", *["± clipping"] * clipped
    heads = ("", "estimate", "95% interval", *errors_of, *["state"] * stated)
    if more is None:
        return Table(caption, heads, rows)
    return Table(caption, (*heads, more[0]), [[*row, cell] for row, cell in zip(rows, more[1], strict=True)])


def label(number: Number) -> str:
    """Name a number in a table: `income`, `income, 25%`, `income = 0`, `income, missing`, `component 2`."""
    if number.rank is not None:
        return f"{number.column}, {100 * number.rank:g}%"
    if number.level is not None:
        sign = ", " if number.level == MISSING else " " if number.level.startswith(">") else " = "
        return f"{number.source}{sign}{number.level}"
    return number.column or f"component {number.component}"


def correlations(caption: str, names: Sequence[str], covariance: np.ndarray, most: int) -> Table | _HeatMap:
    """Show the correlations of a covariance (d, d): all if d <= `most`, else only the `most` strongest."""
    spread = np.sqrt(np.diag(covariance))
    values = covariance / np.outer(spread, spread)
    if len(names) <= most:
        cells = [
            [(_signed(value), _color(value, i == j)) for j, value in enumerate(row)] for i, row in enumerate(values)
        ]
        return _HeatMap(caption, names, cells)
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(values[first, second]).round(9), kind="stable")[:most]
    rows = [[f"{names[first[i]]} and {names[second[i]]}", _signed(values[first[i], second[i]])] for i in order]
    return Table(f"{caption}: the {len(rows)} strongest", ("columns", "correlation"), rows)


def _color(value: float, diagonal: bool) -> str:
    """Blue for positive, orange for negative, always dark on light."""
    share = 0.0 if diagonal else min(1.0, abs(float(value)))
    full = (86, 180, 233) if value > 0 else (240, 160, 90)
    return f"rgb({','.join(str(round(255 - share * (255 - part))) for part in full)})"


def _signed(value: float) -> str:
    text = f"{value:.2f}".replace("-", MINUS)
    return "0.00" if text == f"{MINUS}0.00" else text
