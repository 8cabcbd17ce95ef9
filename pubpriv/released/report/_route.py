"""The picture of a run: private rows on top, the door, questions with their prices, and the result below."""

from xml.etree.ElementTree import Element

from pubpriv.released.report.drawing import FAINT, INK, SHADES, WIDTH, add, element, folded, line, sheet, words
from pubpriv.released.report.story import Asked, Story

_MOST = 14
"""Most questions that are drawn; the others are combined in one line."""

_BAR, _END = 262.0, 322.0
"""Horizontal positions at which bars of prices begin, and at which the longest ends."""

_DOOR, _PALE, _ALARM = "#0B4F75", "#eef5fa", "#8a1c1c"


def route(story: Story) -> Element:
    """Draw how a run's answers left the private table.

    Args:
        story: story of the run.
    """
    shown = _shown(story.asked)
    rows = [folded(each.words, 42, 2) for each in shown]
    lines = [part for text in story.outcome for part in folded(text, 50, 6)]
    top, door = 70.0, 106.0
    first = door + 66
    last = first + sum(14.0 * len(row) + 10 for row in rows)
    height = last + 56 + 15.0 * len(lines) + 16
    about = " ".join(f"{each.words}: {each.price:.3g} {story.currency}." for each in shown)
    made = sheet("route", height, story.summary(), f"{about} What came out: {' '.join(story.outcome)}")
    _tables(made, story, top)
    _door(made, story, door)
    _questions(made, list(zip(shown, rows, strict=True)), first)
    _arrow(made, WIDTH / 2, last + 2, last + 24)
    box = element("rect", x=0.5, y=last + 26, width=WIDTH - 1, height=15.0 * len(lines) + 34, rx=6.0)
    box.attrib |= {"fill": "#f2f8f5", "stroke": SHADES[2]}
    add(made, box, words("what came out", 12.0, last + 45, font_weight="bold"))
    for number, text in enumerate(lines):
        add(made, words(text, 12.0, last + 63 + 15.0 * number))
    return made


def _shown(asked: tuple[Asked, ...]) -> list[Asked]:
    if len(asked) <= _MOST:
        return list(asked)
    rest = asked[_MOST - 1 :]
    price, times = sum(each.price for each in rest), sum(each.times for each in rest)
    return [*asked[: _MOST - 1], Asked("", "more questions", times, price, None)]


def _tables(made: Element, story: Story, bottom: float) -> None:
    """Draw the two tables: private rows in a closed box, public ones in an open one."""
    wide = 216.0 if story.public else WIDTH - 1
    add(made, element("rect", x=0.5, y=0.5, width=wide, height=bottom - 1, rx=6.0, fill=_PALE, stroke=_DOOR))
    add(made, words("private rows: they stay here", 12.0, 19.0, font_weight="bold"))
    for number, text in enumerate([*folded(story.rows, 34, 1), *folded(f"protected: {story.unit}", 34, 2)]):
        add(made, words(text, 12.0, 36.0 + 14 * number, font_size="11"))
    if story.public:
        box = {"fill": "none", "stroke": FAINT, "stroke_dasharray": "4 3"}
        add(made, element("rect", x=230.5, y=0.5, width=WIDTH - 231, height=bottom - 1, rx=6.0, **box))
        add(made, words("public rows", 242.0, 19.0, font_weight="bold"))
        for number, text in enumerate((story.public, "they tell where", "to look")):
            add(made, words(text, 242.0, 36.0 + 14 * number, font_size="11"))
        _arrow(made, 295.0, bottom, bottom + 34, "4 3")
    _arrow(made, 108.0, bottom, bottom + 34)


def _door(made: Element, story: Story, y: float) -> None:
    color = _ALARM if story.simulation else _DOOR
    text = (
        "no door: a simulation, nothing is private" if story.simulation else "the door: pay, then count, then add noise"
    )
    add(made, element("rect", x=0.5, y=y, width=WIDTH - 1, height=28.0, rx=4.0, fill=color))
    add(made, words(text, WIDTH / 2, y + 18.5, "middle", fill="#fff", font_weight="bold"))
    add(made, words("the ledger: what was asked", 0.0, y + 50, font_weight="bold"))
    add(made, words(f"cost in {story.currency}", WIDTH, y + 50, "end", font_weight="bold"))


def _questions(made: Element, rows: list[tuple[Asked, list[str]]], y: float) -> None:
    """Draw a line for each question, with its price as a bar; the most expensive has the longest."""
    most = max((each.price for each, _ in rows), default=0.0) or 1.0
    for each, texts in rows:
        for number, text in enumerate(texts):
            add(made, words(text, 0.0, y + 10 + 14 * number, font_size="11"))
        long = max(1.0, (_END - _BAR) * each.price / most)
        add(made, element("rect", x=_BAR, y=y + 1, width=long, height=10.0, fill=SHADES[0]))
        add(made, words(f"{each.price:.2g}", WIDTH, y + 10, "end", font_size="11", fill=INK))
        y += 14.0 * len(texts) + 10
        add(made, line(0.0, y - 5, WIDTH, y - 5, "#e2e2e2"))


def _arrow(made: Element, x: float, y: float, end: float, dash: str = "none") -> None:
    add(made, line(x, y, x, end - 6, INK, 1.4, dash))
    add(made, element("path", d=f"M{x - 4:.1f} {end - 7:.1f}h8l-4 7z", fill=INK))
