"""Building blocks of pictures: a titled SVG, axes, and colours that are easy to distinguish.

Names of datasets, columns and units are other people's text. They enter pictures only as text or attribute values of
`xml.etree` elements, which escapes them, and never as markup.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import ceil, floor, isfinite, log10
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.released.digits import MINUS

INK, FAINT, PAPER = "#1a1a1a", "#595959", "#ffffff"
_RULE = "#d0d0d0"

_TICKS = 5
"""Approximate number of marks on an axis."""

SHADES = ("#0072B2", "#D55E00", "#007A5A", "#A64D79", "#8A6D00", "#3D6A8A", "#5B3E96", "#7A3B00")
"""Colours after Okabe and Ito, darkened for white paper; everything coloured is also numbered."""

WIDTH = 360.0
"""Width of every picture in its own units, readable on a telephone and as wide as a column on paper."""

HALO = {"font_size": "11", "stroke": "#fff", "stroke_width": "3", "paint_order": "stroke"}
"""Attributes of a text on top of lines."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"

_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that are not allowed in XML, and those that change the direction of the text around them."""


def element(tag: str, *children: str | Element | None, **attributes: object) -> Element:
    """Make an element of a page or a picture.

    Args:
        tag: name of the element.
        children: texts and elements, in order; None is left out.
        attributes: by name; `_` stands for `-`, `class_` for class, and None leaves one out.
    """
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    made = ET.Element(tag, {name: clean(_written(value)) for name, value in named.items() if value is not None})
    add(made, *children)
    return made


def add(parent: Element, *children: str | Element | None) -> Element:
    """Append texts and elements to `parent`, and return it."""
    for child in children:
        if isinstance(child, str):
            _append_text(parent, clean(child))
        elif child is not None:
            parent.append(child)
    return parent


def _written(value: object) -> str:
    """Round coordinates to a tenth of a pixel; other values stay as they are."""
    if isinstance(value, float):
        text = f"{value:.1f}"
        return "0" if text == "-0.0" else text.removesuffix(".0")
    return str(value)


def clean(text: str) -> str:
    """Remove characters that break a file or change the direction of text."""
    return _CONTROL.sub("\ufffd", text)


def picture_text(root: ET.Element) -> str:
    """Return the text of a complete SVG file."""
    alone = ET.Element(root.tag, {"xmlns": "http://www.w3.org/2000/svg", **root.attrib})
    alone.text = root.text
    # a white background, because some viewers have dark pages
    paper = ET.Element("rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    texts = [part for part in root if part.tag in {"title", "desc"}]
    alone.extend([*texts, paper, *[part for part in root if part not in texts]])
    return ET.tostring(alone, encoding="unicode") + "\n"


@dataclass(frozen=True)
class Axis:
    """A linear map of `low`..`high` to the pixels `start`..`end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        span = self.high - self.low or 1.0
        return self.start + (float(value) - self.low) / span * (self.end - self.start)

    @property
    def scale(self) -> float:
        """Pixels per unit; negative if the axis runs upwards."""
        return (self.end - self.start) / (self.high - self.low or 1.0)

    def draw_below(self, picture: Element, y: float, title: str, top: float | None = None) -> None:
        """Draw a horizontal axis: marks below it, its title, and faint lines up to `top`."""
        marks = _ticks(self.low, self.high)
        for mark in marks:
            x = self(mark)
            add(picture, line(x, y, x, y + 4, FAINT))
            if top is not None:
                add(picture, line(x, top, x, y, "#ececec"))
            text = _tick_text(mark, marks)
            half = 3.3 * len(text)  # half the width of the text, to keep the outermost on the sheet
            at = min(max(x, half), WIDTH - half)
            add(picture, words(text, at, y + 16, "middle", font_size="11", fill=FAINT))
        add(picture, line(self.start, y, self.end, y, FAINT))
        for number, part in zip(count(), folded(title, 50), strict=False):
            add(picture, words(part, (self.start + self.end) / 2, y + 32 + 14 * number, "middle"))

    def draw_beside(self, picture: Element, x: float, right: float) -> None:
        """Draw a vertical axis: marks beside it, and faint lines to `right`."""
        marks = _ticks(min(self.low, self.high), max(self.low, self.high))
        for mark in marks:
            y = self(mark)
            add(picture, line(x, y, right, y, "#ececec"), line(x - 4, y, x, y, FAINT))
            add(picture, words(_tick_text(mark, marks), x - 6, y + 4, "end", font_size="11", fill=FAINT))
        add(picture, line(x, self.start, x, self.end, FAINT))


def sheet(name: str, height: float, title: str, description: str, width: float = WIDTH) -> Element:
    """Return an empty picture with its text alternative.

    Args:
        name: name of the picture, unique on a page: letters, digits and dashes.
        height: height in its own units.
        title: title of the picture.
        description: text for people who cannot see it.
        width: width in its own units.
    """
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-description"),
        viewBox=f"0 0 {width:g} {round(height, 1):g}",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-description",
        font_family=_FONT,
        font_size="12",
        fill=INK,
    )


def words(text: str, x: float, y: float, anchor: str = "start", **attributes: object) -> Element:
    """Return a line of text."""
    return element("text", text, x=x, y=y, text_anchor=anchor, **attributes)


def line(
    x1: float, y1: float, x2: float, y2: float, color: str = _RULE, width: float = 1.0, dash: str = "none"
) -> Element:
    """Return a straight line."""
    dashed = None if dash == "none" else dash
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color, stroke_width=width, stroke_dasharray=dashed)


def curve(
    points: Sequence[tuple[float, float]], color: str, width: float, dash: str = "none", fill: str = "none"
) -> Element:
    """Return a line through points in pixels."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashed = None if dash == "none" else dash
    return element("path", d=path, fill=fill, stroke=color, stroke_width=width, stroke_dasharray=dashed)


def dots(points: Sequence[tuple[float, float]], size: float, color: str, opacity: str) -> Element:
    """Return many small dots as one path."""
    path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return element(
        "path", d=path, fill="none", stroke=color, stroke_width=size, stroke_linecap="round", opacity=opacity
    )


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between `low` and `high`, about `_TICKS` of them and at least one."""
    span = high - low
    if not (isfinite(span) and span > 0):
        return [low]
    raw = span / _TICKS
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(np.round(i * step, 12 - floor(log10(step)))) for i in range(first, last + 1)] or [low]


def _tick_text(value: float, marks: list[float]) -> str:
    """Text of a mark on an axis, with enough digits to distinguish it from its neighbours."""
    step = min((b - a for a, b in pairwise(marks)), default=abs(value) or 1.0)
    largest = max(map(abs, marks))
    if largest >= 1e6 or (0 < largest < 1e-3):
        return f"{value:.{max(2, 1 + ceil(log10(max(largest / step, 1))))}g}".replace("-", MINUS)
    places = max(0, -floor(log10(step) + 1e-9))
    if abs(step * 10**places - round(step * 10**places)) > 1e-6:
        places += 1
    return f"{value + 0.0:,.{places}f}".replace("-", MINUS)


def folded(text: str, letters: int, most: int = 3) -> list[str]:
    """Break a text into at most `most` lines of `letters` letters; a longer text ends in an ellipsis."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < most:
        if len(rest) <= letters:
            return [*lines, rest]
        cut = rest.rfind(" ", 0, letters + 1)
        cut = cut if cut > letters // 2 else letters
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines[:-1], lines[-1][: letters - 1] + "…"] if rest and lines else lines or [""]


def short(text: str, letters: int) -> str:
    """Shorten a name to at most `letters` letters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
