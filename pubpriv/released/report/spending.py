"""The picture of a dataset's spending over time, for its owner, who may see when runs charged.

It shows the times of charges, unlike a page for readers (`report._history`).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.privacy.budgets import Budget
from pubpriv.privacy.ledger.records import Record, states_of
from pubpriv.privacy.units import UNIT
from pubpriv.released.estimate import write_atomically
from pubpriv.released.report.drawing import (
    FAINT,
    HALO,
    SHADES,
    Axis,
    add,
    element,
    line,
    picture_text,
    sheet,
    short,
    words,
)

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 760.0, 60.0, 750.0, 58.0, 350.0

_SPENT, _HELD, _CAP = SHADES[0], "#56B4E9", SHADES[1]

_LABELS = 12
"""Most labels; if there are more runs, those that spent most are labelled."""

_DOTS, _FINEST = 200, 2000
"""Most runs that are marked with dots; and steps smaller than 1 / `_FINEST` of the cap are drawn as one."""

_STEPS = {
    "s": (1, 2, 5, 15, 30),
    "m": (1, 2, 5, 15, 30),
    "h": (1, 2, 6, 12),
    "D": (1, 2, 7, 14),
    "M": (1, 2, 3, 6),
    "Y": (1, 2, 5, 10, 20, 50, 100),
}
"""Steps between marks on the time axis, in NumPy's units."""

_FORMATS = {
    "s": ("%H:%M:%S", "%Y-%m-%d"),
    "m": ("%H:%M", "%Y-%m-%d"),
    "h": ("%H:%M", "%Y-%m-%d"),
    "D": ("%d %b", "%Y"),
    "M": ("%b", "%Y"),
    "Y": ("%Y", ""),
}
"""Formats of a mark, and of the text below it, which is written when it changes."""


@dataclass(frozen=True)
class _Balance:
    """A dataset's balance after one of its records, in its currency; `taken` is spent and held."""

    at: datetime
    cap: float
    spent: float
    taken: float


@dataclass(frozen=True)
class _RunEnd:
    """Time and height of a run's last charge, and the run's spending."""

    name: str
    at: datetime
    height: float
    spent: float


def check_plot(path: Path) -> None:
    """Check that a picture can be written to a path.

    Raises:
        InvalidInput: another suffix than .svg, or a folder that does not exist or is not writable.
    """
    if path.suffix.lower() != ".svg":
        raise InvalidInput(f"a plot is an .svg file, not {str(path)!r}: write {path.with_suffix('.svg').name}")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInput(f"the folder {str(folder)!r} of the plot does not exist: make it first")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInput(f"the plot {str(path)!r} cannot be written: choose another place")


def write_plot(path: Path, picture: Element) -> None:
    """Write a picture to a path that `check_plot` accepted.

    Raises:
        Unavailable: the disk refuses the file.
    """
    failure: str | None = None
    try:
        write_atomically(path, picture_text(picture))
    except OSError as error:
        failure = str(error.strerror)
    if failure is not None:
        raise Unavailable(f"the plot {str(path)!r} cannot be written ({failure}); nothing else was changed")


def spending(dataset: str, budget: Budget, records: Sequence[Record]) -> Element:
    """Draw spending as steps over time, holds above it, the cap as a line, and the names of runs.

    Args:
        dataset: name of the dataset.
        budget: its cap.
        records: all records of the dataset, oldest first.
    """
    balances, ends = _balances(records), _ends(records)
    last = balances[-1]
    left = f"{last.cap - last.taken:.4g} left"
    about = (
        f"Of {last.cap:.6g} {budget.currency}, {last.spent:.4g} were spent by {len(ends)} runs and "
        f"{last.taken - last.spent:.4g} are held by open runs; {left}. Times are in UTC."
    )
    title = f"{dataset}: what was spent of {budget.describe()}"
    made = sheet("spending", _BOTTOM + 62, title, about, _WIDTH)
    add(made, words(short(title, 90), 4.0, 16.0, font_weight="bold", font_size="14"))
    _legend(made, f"cap: {last.cap:.6g} {budget.currency}, {left}")
    span = max(last.at - balances[0].at, timedelta(minutes=1))
    first, beyond = balances[0].at - span * 0.02, last.at + span * 0.16  # room for the last run's name
    across = Axis(first.timestamp(), beyond.timestamp(), _LEFT, _RIGHT)
    upwards = Axis(0.0, 1.06 * max(balance.cap for balance in balances), _BOTTOM, _TOP)
    upwards.draw_beside(made, _LEFT, _RIGHT)
    add(made, words(f"cumulative, in {budget.currency}", 4.0, _TOP - 8, font_size="11", fill=FAINT))
    _time_axis(made, across, first, beyond)
    _draw_balances(made, balances, across, upwards)
    _label_runs(made, ends, across, upwards)
    return made


def _balances(records: Sequence[Record]) -> list[_Balance]:
    """Balances that differ visibly: of a hundred thousand charges a picture shows at most some thousands."""
    states = [(datetime.fromisoformat(record.at), states_of(record.state)[0]) for record in records]
    found = [(at, state) for at, state in states if state.cap.main]  # no cap before books are carried on
    finest = found[-1][1].cap.main // _FINEST
    kept = [found[0]]
    for at, state in found[1:]:
        last = kept[-1][1]
        moved = abs(state.spent.main - last.spent.main), abs(state.held.main - last.held.main)
        if max(moved) > finest or state.cap != last.cap:
            kept.append((at, state))
    kept.append(found[-1])
    return [
        _Balance(at, state.cap.main / UNIT, state.spent.main / UNIT, (state.spent + state.held).main / UNIT)
        for at, state in kept
    ]


def _ends(records: Sequence[Record]) -> list[_RunEnd]:
    """The end of each run that charged, ordered by spending, then newest first."""
    ends: dict[str, _RunEnd] = {}
    for record in records:
        if record.kind == "charged":
            dataset, run = states_of(record.state)
            at, name = datetime.fromisoformat(record.at), str(record.release_id)
            ends[name] = _RunEnd(name, at, dataset.spent.main / UNIT, run.charged.main / UNIT if run else 0.0)
    return sorted(ends.values(), key=lambda end: (end.spent, end.at), reverse=True)


def _legend(made: Element, cap: str) -> None:
    x, y = _LEFT, 36.0
    add(made, line(x, y - 4, x + 22, y - 4, _SPENT, 2.0), words("spent", x + 28, y))
    x += 90
    add(made, element("rect", x=x, y=y - 10, width=22.0, height=12.0, fill=_HELD, opacity="0.4"))
    add(made, words("held by open runs", x + 28, y))
    x += 160
    add(made, line(x, y - 4, x + 22, y - 4, _CAP, 1.6, "7 3"), words(cap, x + 28, y))


def _draw_balances(made: Element, balances: Sequence[_Balance], across: Axis, upwards: Axis) -> None:
    """Draw steps up to the last record, and dotted lines to the margin, since nothing changed after it."""
    xs = [across(balance.at.timestamp()) for balance in balances]
    heights = {
        "spent": [upwards(balance.spent) for balance in balances],
        "taken": [upwards(balance.taken) for balance in balances],
        "cap": [upwards(balance.cap) for balance in balances],
    }
    corners = {name: _corners(xs, ys) for name, ys in heights.items()}
    held = _path([*corners["taken"], *reversed(corners["spent"])]) + "Z"
    add(made, element("path", d=held, fill=_HELD, opacity="0.4"))
    spent, taken = heights["spent"][-1], heights["taken"][-1]
    size = {"width": _RIGHT - xs[-1], "height": spent - taken}
    add(made, element("rect", x=xs[-1], y=taken, fill=_HELD, opacity="0.2", **size))
    for name, color, width, dash in (("cap", _CAP, 1.6, "7 3"), ("spent", _SPENT, 2.0, None)):
        style = {"fill": "none", "stroke": color, "stroke_width": width, "stroke_dasharray": dash}
        add(made, element("path", d=_path(corners[name]), **style))
        add(made, line(xs[-1], heights[name][-1], _RIGHT, heights[name][-1], color, 1.2, "1 3"))


def _corners(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of a line that keeps each height until the next point."""
    corners = [(xs[0], ys[0])]
    for x, y in zip(xs[1:], ys[1:], strict=True):
        corners += [(x, corners[-1][1]), (x, y)]
    return corners


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _label_runs(made: Element, ends: Sequence[_RunEnd], across: Axis, upwards: Axis) -> None:
    """Write each run's name to the lower right of its end, where no step is, or to the upper left, or not at all."""
    places = [(across(end.at.timestamp()), upwards(end.height)) for end in ends]
    for x, y in places if len(ends) <= _DOTS else []:
        add(made, element("circle", cx=x, cy=y, r=3.0, fill=_SPENT))
    taken: list[tuple[float, float, float, float]] = []
    for end, (x, y) in list(zip(ends, places, strict=True))[: 10 * _LABELS]:
        name = short(end.name, 40)
        width = 6.3 * len(name) + 4
        for anchor, start, baseline in (("start", x + 6, y + 14), ("end", x - 6 - width, y - 6)):
            box = (start, baseline - 11, start + width, baseline + 3)
            inside = box[0] >= _LEFT and box[2] <= _WIDTH and box[1] >= _TOP and box[3] <= _BOTTOM
            if inside and len(taken) < _LABELS and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                at = start if anchor == "start" else start + width
                add(made, words(name, at, baseline, anchor, **HALO))
                break


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _time_axis(made: Element, across: Axis, first: datetime, last: datetime) -> None:
    unit, marks = _time_marks(first, last)
    near, far = _FORMATS[unit]
    before = ""
    for mark in marks:
        x = across(mark.timestamp())
        add(made, line(x, _BOTTOM, x, _BOTTOM + 4, FAINT))
        add(made, words(mark.strftime(near), x, _BOTTOM + 17, "middle", font_size="11", fill=FAINT))
        below = mark.strftime(far)
        if below != before:
            add(made, words(below, x, _BOTTOM + 31, "middle", font_size="11", fill=FAINT))
        before = below
    add(made, line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM))
    add(made, words("time (UTC)", (_LEFT + _RIGHT) / 2, _BOTTOM + 52, "middle"))


def _time_marks(first: datetime, last: datetime) -> tuple[str, list[datetime]]:
    """Round times between `first` and `last`, at most nine, and their unit."""
    for unit, steps in _STEPS.items():
        naive = [at.astimezone(UTC).replace(tzinfo=None) for at in (first, last)]
        low, high = np.array(naive, dtype=f"datetime64[{unit}]").astype(int).tolist()
        for step in steps:
            numbers = range(-(-(low + 1) // step) * step, high + 1, step)
            if len(numbers) <= 9:
                marks = np.array(numbers, dtype=int).astype(f"datetime64[{unit}]").astype("datetime64[s]")
                return unit, [mark.replace(tzinfo=UTC) for mark in marks.tolist()]
    return unit, []
