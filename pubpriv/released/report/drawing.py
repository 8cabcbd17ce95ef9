"""The sheet that pictures are drawn on: a titled SVG, axes, and colours that nobody confuses.

Names of datasets, columns and units are other people's text. They enter pictures as text of elements or as values of
attributes of `xml.etree`, which escapes them when it writes, and never as markup.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from pubpriv.released.report.digits import tick_text, ticks

INK, FAINT, RULE, PAPER = "#1a1a1a", "#595959", "#d0d0d0", "#ffffff"
SHADES = ("#0072B2", "#D55E00", "#007A5A", "#A64D79", "#8A6D00", "#3D6A8A", "#5B3E96", "#7A3B00")
"""After Okabe and Ito, darkened to stand on white; pictures number what they colour, so nothing hangs on them."""

_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "5 2 1 2", "12 4", "1 4", "6 2 2 2 2 2")
WIDTH = 360.0
"""Of every picture in its own units: on a telephone its letters stay readable, on paper it fills a column."""

HALO = {"font_size": "11", "stroke": "#fff", "stroke_width": "3", "paint_order": "stroke"}
"""How a text is written that lies upon lines."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"

_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that no XML file may hold, and those that turn the direction of the text around them."""


def element(tag: str, *children: str | Element | None, **attributes: object) -> Element:
    """An element of a page or a picture.

    Args:
        tag: its name.
        children: texts and elements, in order; None is left out.
        attributes: by name; `_` stands for `-`, `class_` for class, None leaves one out.
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
    """Coordinates with a tenth of a pixel; everything else as it is."""
    if isinstance(value, float):
        text = f"{value:.1f}"
        return "0" if text == "-0.0" else text.removesuffix(".0")
    return str(value)


def clean(text: str) -> str:
    """The text without characters that break a file or turn its direction."""
    return _CONTROL.sub("\ufffd", text)


def markup(picture: Element) -> str:
    """Write a picture for an HTML page."""
    return ET.tostring(picture, encoding="unicode", method="html")


def picture_text(root: ET.Element) -> str:
    """An SVG file that stands alone."""
    alone = ET.Element(root.tag, {"xmlns": "http://www.w3.org/2000/svg", **root.attrib})
    alone.text = root.text
    # paper of its own: viewers with dark pages put it on those
    paper = ET.Element("rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    texts = [part for part in root if part.tag in {"title", "desc"}]
    alone.extend([*texts, paper, *[part for part in root if part not in texts]])
    return ET.tostring(alone, encoding="unicode") + "\n"


def color_and_dash(number: int) -> tuple[str, str]:
    """Find what a component is drawn with: after all colours, other dashes."""
    return SHADES[number % len(SHADES)], _DASHES[number // len(SHADES) % len(_DASHES)]


@dataclass(frozen=True)
class Axis:
    """A linear map of `low`..`high` to the pixels `start`..`end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Pixels of a value."""
        span = self.high - self.low or 1.0
        return self.start + (float(value) - self.low) / span * (self.end - self.start)

    @property
    def scale(self) -> float:
        """Pixels of a unit; negative where the axis runs upwards."""
        return (self.end - self.start) / (self.high - self.low or 1.0)


def sheet(name: str, height: float, title: str, description: str, width: float = WIDTH) -> Element:
    """An empty picture with its text alternative.

    Args:
        name: of the picture, unique on a page: letters, digits and dashes.
        height: in its own units.
        title: what it shows.
        description: what somebody who cannot see it should know.
        width: in its own units.
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
    """A line of text."""
    return element("text", text, x=x, y=y, text_anchor=anchor, **attributes)


def line(
    x1: float, y1: float, x2: float, y2: float, color: str = RULE, width: float = 1.0, dash: str = "none"
) -> Element:
    """A straight line."""
    dashed = None if dash == "none" else dash
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color, stroke_width=width, stroke_dasharray=dashed)


def curve(
    points: Sequence[tuple[float, float]], color: str, width: float, dash: str = "none", fill: str = "none"
) -> Element:
    """A line through points in pixels."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashed = None if dash == "none" else dash
    return element("path", d=path, fill=fill, stroke=color, stroke_width=width, stroke_dasharray=dashed)


def dots(points: Sequence[tuple[float, float]], size: float, color: str, opacity: str) -> Element:
    """Many small dots as one path."""
    path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return element(
        "path", d=path, fill="none", stroke=color, stroke_width=size, stroke_linecap="round", opacity=opacity
    )


def bottom_axis(picture: Element, axis: Axis, y: float, title: str, top: float | None = None) -> None:
    """Marks below a horizontal axis, its title, and faint lines up to `top`."""
    marks = ticks(axis.low, axis.high)
    for mark in marks:
        x = axis(mark)
        add(picture, line(x, y, x, y + 4, FAINT))
        if top is not None:
            add(picture, line(x, top, x, y, "#ececec"))
        text = tick_text(mark, marks)
        half = 3.3 * len(text)  # of its width: the outermost stays on the sheet
        at = min(max(x, half), WIDTH - half)
        add(picture, words(text, at, y + 16, "middle", font_size="11", fill=FAINT))
    add(picture, line(axis.start, y, axis.end, y, FAINT))
    for number, part in zip(count(), folded(title, 50), strict=False):
        add(picture, words(part, (axis.start + axis.end) / 2, y + 32 + 14 * number, "middle"))


def left_axis(picture: Element, axis: Axis, x: float, right: float) -> None:
    """Marks beside a vertical axis, and faint lines to `right`."""
    marks = ticks(min(axis.low, axis.high), max(axis.low, axis.high))
    for mark in marks:
        y = axis(mark)
        add(picture, line(x, y, right, y, "#ececec"), line(x - 4, y, x, y, FAINT))
        add(picture, words(tick_text(mark, marks), x - 6, y + 4, "end", font_size="11", fill=FAINT))
    add(picture, line(x, axis.start, x, axis.end, FAINT))


def folded(text: str, letters: int, most: int = 3) -> list[str]:
    """A text in lines of at most so many letters; what does not fit ends in an ellipsis."""
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
    """A name of at most so many letters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
