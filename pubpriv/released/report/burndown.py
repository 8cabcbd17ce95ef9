"""The picture of a dataset's budget: what each release took of it, and what is left."""

from xml.etree.ElementTree import Element

from pubpriv.released.report.drawing import FAINT, SHADES, WIDTH, Axis, left_axis, line, sheet, short, words
from pubpriv.released.report.elements import add, element
from pubpriv.released.report.history import History

MOST_RUNS = 400
"""Of more runs, steps are drawn for so many: the newest; what was before them is one."""

HALO = {"font_size": "11", "stroke": "#fff", "stroke_width": "3", "paint_order": "stroke"}

LEFT, TOP, BOTTOM = 60.0, 26.0, 190.0


def burn_down(history: History, release_id: str | None) -> Element:
    """What is left of the budget after each release.

    Args:
        history: of the dataset.
        release_id: of the release that is told of, which is marked.
    """
    about = (
        f"Of {history.cap:.4g} {history.currency} in all, {history.spent:.4g} were spent by {len(history.runs)} "
        f"releases, {history.held:.4g} are held by runs under way, and {history.remaining:.4g} are left."
    )
    made = sheet("budget", BOTTOM + 44, f"What is left of the budget of {history.dataset}", about)
    upwards = Axis(0.0, history.cap * 1.04, BOTTOM, TOP)
    add(made, words(f"left of the budget, in {history.currency}", 0.0, 12.0))
    left_axis(made, upwards, LEFT, WIDTH - 10)
    shown = history.runs[-MOST_RUNS:]
    before = sum(run.spent for run in history.runs) - sum(run.spent for run in shown)
    left = history.cap - before
    width = (WIDTH - 10 - LEFT) / (len(shown) + 1)
    x = LEFT
    path = [f"M{LEFT:.1f} {upwards(left):.1f}h{width / 2:.1f}"]
    marked: tuple[float, float] | None = None
    for run in shown:
        x += width
        left -= run.spent
        path.append(f"V{upwards(max(0.0, left)):.1f}H{min(x + width / 2, WIDTH - 10):.1f}")
        if run.release_id == release_id:
            marked = x, upwards(left)
    add(made, element("path", d=f"{''.join(path)}V{BOTTOM:.1f}H{LEFT:.1f}Z", fill=SHADES[0], opacity="0.15"))
    add(made, element("path", d="".join(path), fill="none", stroke=SHADES[0], stroke_width=2.0))
    add(made, line(LEFT, BOTTOM, WIDTH - 10, BOTTOM, FAINT))
    if marked is not None:
        _mark(made, *marked, f"this release: {short(str(release_id), 30)}")
    of_all = f" (of {len(history.runs)})" if len(shown) < len(history.runs) else ""
    ends = "1 release" if len(shown) == 1 else f"{len(shown)} releases, oldest to newest{of_all}"
    add(made, words(ends, (LEFT + WIDTH - 10) / 2, BOTTOM + 20, "middle"))
    return made


def _mark(made: Element, x: float, y: float, text: str) -> None:
    to_left = x > WIDTH / 2
    add(made, element("circle", cx=x, cy=y, r=5.0, fill=SHADES[1]))
    below = y + 18 if y + 22 < BOTTOM else y - 10  # under the steps no line is in the way
    add(made, words(text, x + (6 if to_left else -2), below, "end" if to_left else "start", **HALO))
