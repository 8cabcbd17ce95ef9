"""The table and the figure of `pubpriv bench buys`: a line for each estimator and number of public rows, n across."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from pubpriv.released.report.drawing import FAINT, INK, SHADES, Axis, add, curve, dots, element, line, sheet, words

_PANEL, _LEFT, _RIGHT, _TOP, _BOTTOM = 400.0, 52.0, 388.0, 58.0, 250.0
_BESIDE = 3.0
"""Lines are drawn so many pixels beside each other: most lie upon each other at the top."""

_SHARES = {number / 4: f"{number / 4:.0%}" for number in range(5)}
_ERRORS = {
    math.log10(mark): f"{mark:g}" for power in range(-4, 3) for mark in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
}

_Row = dict[str, Any]


@dataclass(frozen=True)
class _Measure:
    """A panel: what is measured upwards.

    Attributes:
        heading: what it is.
        axis: its range, and where it is drawn.
        marks: texts beside it, by value.
        of: its value in one cell; None: it has none there.
    """

    heading: str
    axis: Axis
    marks: dict[float, str]
    of: Callable[[_Row], float | None]


@dataclass(frozen=True)
class _Line:
    """What one estimator reached with so many public rows, by n, and how it is drawn."""

    name: str
    rows: list[_Row]
    color: str
    dash: str


def name_of(row: _Row) -> str:
    """Name a line, with its public rows if it takes any."""
    return f"{row['line']}, {row['m']} public rows" if row["m"] else str(row["line"])


def cells(rows: Sequence[_Row]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the table: one row for each line, one column for each n."""
    sizes, lines = _sizes(rows), _by_line(rows)
    body = [[name, *(_cell(row) for row in sorted(own, key=lambda row: row["n"]))] for name, own in lines.items()]
    return ["", *(f"n {n:,}" for n in sizes)], body


def markdown(rows: Sequence[_Row]) -> str:
    """Write the table as Markdown."""
    heads, body = cells(rows)
    return "\n".join(f"| {' | '.join(each)} |" for each in (heads, ["---"] * len(heads), *body))


def drawn(rows: Sequence[_Row], title: str) -> Element:
    """Draw shares of runs that find all, and errors of means of those; lines that never find all are only named."""
    lines, never = _lines(rows)
    height = _BOTTOM + 62 + 16 * (math.ceil(len(lines) / 2) + bool(never))
    about = "Two panels by the number of private rows; `--json` prints every point."
    made = sheet("buys", height, title, about, 2 * _PANEL)
    add(made, words(title, 4.0, 16.0, font_weight="bold"))
    sizes = _sizes(rows)
    margin = 0.06 * max(math.log10(sizes[-1] / sizes[0]), 1.0)
    across = Axis(math.log10(sizes[0]) - margin, math.log10(sizes[-1]) + margin, _LEFT, _RIGHT)
    for number, measure in enumerate(_measures(lines)):
        panel = add(element("g", transform=f"translate({_PANEL * number:g} 0)"), *_axes(measure, across, sizes))
        for place, own in enumerate(lines):
            add(panel, *_curve(own, measure, across, _BESIDE * (place - (len(lines) - 1) / 2)))
        add(made, panel)
    _legend(made, lines, never)
    return made


def _sizes(rows: Sequence[_Row]) -> list[int]:
    return sorted({row["n"] for row in rows})


def _by_line(rows: Sequence[_Row]) -> dict[str, list[_Row]]:
    lines: dict[str, list[_Row]] = {}
    for row in rows:
        lines.setdefault(name_of(row), []).append(row)
    return lines


def _cell(row: _Row) -> str:
    if not row["runs"]:
        needed = float(f"{row['needs']:.2g}")
        return f"needs {needed:,.0f}"
    found = f"{row['found']}/{row['runs']}"
    return f"{found}, {row['mean']:.2g}, {row['covariance']:.2g}" if row["found"] else found


def _lines(rows: Sequence[_Row]) -> tuple[list[_Line], list[str]]:
    """Give the lines that are drawn, and the names of those that never find all."""
    shown: list[_Line] = []
    never: list[str] = []
    for name, own in _by_line(rows).items():
        if not any(row.get("found") for row in own):
            never.append(name if own[0]["runs"] else f"{name} {_cell(own[0])} rows")
            continue
        color = INK if not shown else SHADES[(len(shown) - 1) % len(SHADES)]
        dash = "none" if own[0]["m"] else "2 3" if not shown else "7 3"
        shown.append(_Line(name, [row for row in own if row["runs"]], color, dash))
    return shown, never


def _measures(lines: Sequence[_Line]) -> tuple[_Measure, _Measure]:
    def share(row: _Row) -> float:
        return float(row["found"] / row["runs"])

    def error(row: _Row) -> float | None:
        return math.log10(row["mean"]) if row["found"] else None

    errors = [math.log10(row["mean"]) for own in lines for row in own.rows if row["found"]] or [0.0]
    heights = Axis(min(errors) - 0.1, max(errors) + 0.1, _BOTTOM, _TOP)
    return (
        _Measure("runs that find every component", Axis(-0.03, 1.0, _BOTTOM, _TOP), _SHARES, share),
        _Measure("largest error of a mean in those runs, in standard deviations", heights, _ERRORS, error),
    )


def _axes(measure: _Measure, across: Axis, sizes: Sequence[int]) -> list[Element]:
    """The heading and both axes: n is told by its logarithm."""
    made = [words(measure.heading, 4.0, _TOP - 16, font_size="11", fill=FAINT)]
    for value, text in measure.marks.items():
        if measure.axis.low <= value <= measure.axis.high:
            y = measure.axis(value)
            made += [line(_LEFT, y, _RIGHT, y), words(text, _LEFT - 6, y + 4, "end", font_size="10")]
    for n in sizes:
        x = across(math.log10(n))
        made += [line(x, _BOTTOM, x, _BOTTOM + 4, FAINT), words(f"{n:,}", x, _BOTTOM + 16, "middle", font_size="10")]
    return [*made, words("private rows n", (_LEFT + _RIGHT) / 2, _BOTTOM + 32, "middle", font_size="10")]


def _curve(own: _Line, measure: _Measure, across: Axis, beside: float) -> list[Element]:
    heights = [(row["n"], measure.of(row)) for row in own.rows]
    points = [(across(math.log10(n)) + beside, measure.axis(height)) for n, height in heights if height is not None]
    return [curve(points, own.color, 1.6, own.dash), dots(points, 5.0, own.color, "1")]


def _legend(made: Element, lines: Sequence[_Line], never: Sequence[str]) -> None:
    for number, own in enumerate(lines):
        x, y = 12.0 + _PANEL * (number % 2), _BOTTOM + 56.0 + 16 * (number // 2)
        add(made, line(x, y - 4, x + 22, y - 4, own.color, 1.6, own.dash), words(own.name, x + 28, y, font_size="11"))
    if never:
        y = _BOTTOM + 56.0 + 16 * math.ceil(len(lines) / 2)
        add(made, words(f"In no run: {'; '.join(never)}.", 12.0, y, font_size="10", fill=FAINT))
