"""The burn-down of a dataset's budget, drawn."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.privacy.ledger.records import states_of
from pubpriv.privacy.units import UNIT

SUFFIXES = (".png", ".svg")
SPENT, HELD, CAP = "#0072B2", "#56B4E9", "#D55E00"
"""Of Okabe and Ito's palette: told apart with every kind of colour blindness, and in grey."""

LABELS = 12
"""Of more runs than this, those that spent most are labelled."""


@dataclass(frozen=True)
class Steps:
    """A dataset's balance after each of its records: `taken` is spent and held."""

    at: list[datetime]
    cap: list[float]
    spent: list[float]
    taken: list[float]


def check_plot(path: Path) -> None:
    """A picture can be written there.

    Raises:
        InvalidInput: another suffix, or a folder that is not there or may not be written to.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"a plot is a {' or an '.join(SUFFIXES)} file, not {str(path)!r}")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInput(f"the folder {str(folder)!r} of the plot does not exist: make it first")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidInput(f"the plot {str(path)!r} cannot be written: choose another place")


def draw(path: Path, dataset: str, budget: Any, records: Sequence[Any]) -> None:
    """Cumulative spending as steps over time, holds above it, the cap as a line, the runs labelled.

    Args:
        path: where to, checked by `check_plot`.
        dataset: its name.
        budget: its cap.
        records: all records of the dataset, oldest first.

    Raises:
        Unavailable: the disk refuses the file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    steps = _steps(records)
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    FigureCanvasAgg(figure)  # no window system and no global state
    axes = figure.add_subplot()
    axes.set_title(f"{dataset}: what was spent of {budget.describe()}", loc="left", pad=28)
    _draw_money(axes, steps, budget)
    _draw_frame(axes, steps, budget)
    _label_runs(axes, _ends(records, steps))
    failure: str | None = None
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        failure = str(error.strerror)
    if failure is not None:
        raise Unavailable(f"the plot {str(path)!r} cannot be written ({failure}); the ledger is as it was")


def _steps(records: Sequence[Any]) -> Steps:
    states = [states_of(record.state)[0] for record in records]
    return Steps(
        [datetime.fromisoformat(record.at) for record in records],
        [state.cap.main / UNIT for state in states],
        [state.spent.main / UNIT for state in states],
        [(state.spent + state.held).main / UNIT for state in states],
    )


def _ends(records: Sequence[Any], steps: Steps) -> list[tuple[str, datetime, float, float]]:
    """Name, time and height of each run's last charge, and what the run spent; largest first."""
    ends: dict[str, tuple[datetime, float, float]] = {}
    for number, record in enumerate(records):
        if record.kind == "charged":
            before = ends.get(record.release_id, (None, 0.0, 0.0))[2]
            cost = steps.spent[number] - steps.spent[number - 1]
            ends[record.release_id] = steps.at[number], steps.spent[number], before + cost
    found = [(name, *end) for name, end in ends.items()]
    return sorted(found, key=lambda end: -end[3])


def _draw_money(axes: Any, steps: Steps, budget: Any) -> None:
    axes.fill_between(
        steps.at, steps.spent, steps.taken, step="post", color=HELD, alpha=0.35, linewidth=0, label="held by open runs"
    )
    axes.step(steps.at, steps.spent, where="post", color=SPENT, linewidth=2, label="spent")
    cap = f"cap: {steps.cap[-1]:.6g} {budget.currency}"
    axes.step(steps.at, steps.cap, where="post", color=CAP, linewidth=1.6, linestyle=(0, (6, 3)), label=cap)


def _draw_frame(axes: Any, steps: Steps, budget: Any) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    span = max(steps.at[-1] - steps.at[0], timedelta(minutes=1))
    axes.set_xlim(steps.at[0] - span * 0.02, steps.at[-1] + span * 0.16)  # room for the last run's name
    for values, color in ((steps.cap, CAP), (steps.spent, SPENT)):
        # a line to the margin's end: what stood at the last record stands now
        axes.plot([steps.at[-1], steps.at[-1] + span], [values[-1]] * 2, color=color, linewidth=1, linestyle=":")
    axes.set_ylim(0, 1.06 * max(steps.cap))
    axes.set_ylabel(f"cumulative, in {budget.currency}")
    locator = AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("UTC", loc="right")
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0.2)


def _label_runs(axes: Any, ends: list[tuple[str, datetime, float, float]]) -> None:
    """Names to the lower right of the runs' ends, where no step goes; those that would overlap are left out."""
    if not ends:
        return
    axes.plot([end[1] for end in ends], [end[2] for end in ends], "o", color=SPENT, markersize=4, linestyle="none")
    axes.figure.draw_without_rendering()  # settles the layout that extents are measured in
    taken: list[Any] = []
    for name, at, height, _ in ends:
        text = axes.annotate(
            name, (at, height), xytext=(6, -4), textcoords="offset points", va="top", fontsize=8, color="0.2"
        )
        box = text.get_window_extent().padded(2)
        if len(taken) == LABELS or any(box.overlaps(other) for other in taken) or box.y0 < axes.bbox.y0:
            text.remove()
        else:
            taken.append(box)
