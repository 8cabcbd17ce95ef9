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

MARKS, FINEST = 200, 2000
"""More runs than that are not marked with dots; steps smaller than this part of the cap are drawn as one."""


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
    _label_runs(axes, _ends(records))
    failure: str | None = None
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        failure = str(error.strerror)
    if failure is not None:
        raise Unavailable(f"the plot {str(path)!r} cannot be written ({failure}); the ledger is as it was")


def _steps(records: Sequence[Any]) -> Steps:
    """Balances that differ to the eye: of a hundred thousand charges a picture shows no more than some thousands."""
    told = [(datetime.fromisoformat(record.at), states_of(record.state)[0]) for record in records]
    finest = told[-1][1].cap.main // FINEST
    kept = [told[0]]
    for at, state in told[1:]:
        last = kept[-1][1]
        moved = abs(state.spent.main - last.spent.main), abs(state.held.main - last.held.main)
        if max(moved) > finest or state.cap != last.cap:
            kept.append((at, state))
    kept.append(told[-1])
    return Steps(
        [at for at, _ in kept],
        [state.cap.main / UNIT for _, state in kept],
        [state.spent.main / UNIT for _, state in kept],
        [(state.spent + state.held).main / UNIT for _, state in kept],
    )


def _ends(records: Sequence[Any]) -> list[tuple[str, datetime, float, float]]:
    """Name, time and height of each run's last charge, and what the run spent; largest first, then newest."""
    ends: dict[str, tuple[datetime, float, float]] = {}
    for record in records:
        if record.kind == "charged":
            dataset, run = states_of(record.state)
            at, height = datetime.fromisoformat(record.at), dataset.spent.main / UNIT
            ends[record.release_id] = at, height, run.charged.main / UNIT if run else 0.0
    return sorted([(name, *end) for name, end in ends.items()], key=lambda end: (end[3], end[1]), reverse=True)


def _draw_money(axes: Any, steps: Steps, budget: Any) -> None:
    axes.fill_between(
        steps.at, steps.spent, steps.taken, step="post", color=HELD, alpha=0.35, linewidth=0, label="held by open runs"
    )
    axes.step(steps.at, steps.spent, where="post", color=SPENT, linewidth=2, label="spent")
    cap = f"cap: {steps.cap[-1]:.6g} {budget.currency}, {steps.cap[-1] - steps.taken[-1]:.4g} left"
    axes.step(steps.at, steps.cap, where="post", color=CAP, linewidth=1.6, linestyle=(0, (6, 3)), label=cap)


def _draw_frame(axes: Any, steps: Steps, budget: Any) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    span = max(steps.at[-1] - steps.at[0], timedelta(minutes=1))
    beyond = [steps.at[-1], steps.at[-1] + span]
    axes.set_xlim(steps.at[0] - span * 0.02, steps.at[-1] + span * 0.16)  # room for the last run's name
    for values, color in ((steps.cap, CAP), (steps.spent, SPENT)):
        # to the margin's end: what stood at the last record stands now
        axes.plot(beyond, [values[-1]] * 2, color=color, linewidth=1, linestyle=":")
    axes.fill_between(beyond, [steps.spent[-1]] * 2, [steps.taken[-1]] * 2, color=HELD, alpha=0.2, linewidth=0)
    axes.set_ylim(0, 1.06 * max(steps.cap))
    axes.set_ylabel(f"cumulative, in {budget.currency}")
    locator = AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("time (UTC)")
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0.2)


def _label_runs(axes: Any, ends: list[tuple[str, datetime, float, float]]) -> None:
    """Names to the lower right of the runs' ends, where no step goes, or else to the upper left, or not at all."""
    if len(ends) <= MARKS:
        axes.plot([end[1] for end in ends], [end[2] for end in ends], "o", color=SPENT, markersize=4)
    axes.figure.draw_without_rendering()  # settles the layout that extents are measured in
    taken: list[Any] = []
    for name, at, height, _ in ends[: 10 * LABELS]:
        for beside, below in ((6, -4), (-6, 4)):
            text = axes.annotate(
                name,
                (at, height),
                xytext=(beside, below),
                textcoords="offset points",
                ha="left" if beside > 0 else "right",
                va="top" if below < 0 else "bottom",
                fontsize=8,
                color="0.2",
            )
            box = text.get_window_extent().padded(2)
            inside = axes.bbox.x0 <= box.x0 and axes.bbox.y0 <= box.y0
            if inside and len(taken) < LABELS and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
