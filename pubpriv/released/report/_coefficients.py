"""The picture of a regression: coefficients with their intervals, on one axis."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

from pubpriv.released.digits import rounded, small
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.histograms import histograms_in
from pubpriv.released.numbers import Z95, Number, of_all, of_quantity
from pubpriv.released.report._tables import Table
from pubpriv.released.report.charts import BOTH, NOISE, dot
from pubpriv.released.report.drawing import FAINT, INK, WIDTH, Axis, add, line, sheet, short, words

_ROW, _HEAD, _LEFT = 22.0, 26.0, 190.0


def coefficient_picture(estimate: RegressionEstimate, most: int | None = None) -> Element:
    """Draw the coefficients of a regression, each times the sd of its column among the public rows.

    Args:
        estimate: a released regression.
        most: most coefficients; None: all.
    """
    kept = histograms_in(estimate.public, len(estimate.columns)) or ()
    units = {name: each.sd for name, each in zip(estimate.columns, kept, strict=False)}
    return _plot(of_quantity(of_all(estimate.numbers()), "coefficient")[:most], units)


def _plot(numbers: Sequence[Number], units: Mapping[str, float]) -> Element:
    """Draw coefficients with 95% intervals and their privacy part, each times the sd of its column.

    Args:
        numbers: coefficients.
        units: sd of each column, so that coefficients of columns in other units stand on one axis.
    """
    scaled = [(n, units.get(str(n.column), 1.0)) for n in numbers]
    listed = [f"{n.column}: {rounded(n.value, n.error)} ({_interval(n)})." for n in numbers]
    made = sheet("coefficients", _HEAD + _ROW * len(scaled) + 40, "The released coefficients", " ".join(listed))
    add(made, line(0.0, 8.0, 18.0, 8.0, BOTH, 7.0), words("95% interval", 23.0, 12.0, font_size="11", fill=FAINT))
    add(made, line(110.0, 8.0, 128.0, 8.0, NOISE, 3.0))
    add(made, words("its privacy part", 133.0, 12.0, font_size="11", fill=FAINT))
    ends = [0.0, *(unit * end for n, unit in scaled for end in n.interval)]
    pad = 0.03 * (max(ends) - min(ends)) or 1e-300
    axis, bottom = Axis(min(ends) - pad, max(ends) + pad, _LEFT, WIDTH - 14), _HEAD + _ROW * len(scaled)
    add(made, line(axis(0.0), _HEAD - 8, axis(0.0), bottom, INK))
    for place, (n, unit) in enumerate(scaled):
        y, (low, high) = _HEAD + _ROW * place + 6, n.interval
        add(made, words(short(str(n.column), 30), 0.0, y + 4, font_size="11"))
        add(made, line(axis(unit * low), y, axis(unit * high), y, BOTH, 7.0))
        noise = Z95 * n.privacy
        add(made, line(axis(unit * (n.value - noise)), y, axis(unit * (n.value + noise)), y, NOISE, 3.0))
        add(made, dot(axis(unit * n.value), y))
    axis.draw_below(made, bottom, "change of the outcome with one standard deviation of the column", top=_HEAD - 8)
    return made


def coefficient_table(estimate: RegressionEstimate) -> Table:
    """Make the table of a journal: estimate, robust standard error, interval, and what was counted and guaranteed."""
    numbers = of_all(estimate.numbers())
    shown = [n for quantity in _NAMES for n in of_quantity(numbers, quantity)]
    rows = [
        [
            _NAMES[n.quantity] or str(n.column),
            rounded(n.value, n.error),
            small(n.error),
            _interval(n),
            str(n.state or ""),
        ]
        for n in shown
    ]
    rows.append(["n", f"{estimate.rows:,.0f}", "", "", ""])
    caption = (
        f"{estimate.outcome}: standard errors hold where scatter is uneven, and include the noise of "
        f"{estimate.privacy['guarantee']['text']}"
    )
    return Table(caption, ("", "estimate", "standard error", "95% interval", "state"), rows)


_NAMES = {
    "coefficient": "",
    "intercept": "(intercept)",
    "R2": "R2",
    "residual_sd": "standard deviation about the line",
}
"""Quantities of the table, and what they are called; a coefficient has the name of its column."""


def _interval(number: Number) -> str:
    low, high = (rounded(end, number.error) for end in number.interval)
    return f"{low} to {high}"
