"""Pictures of numbers with their errors, and of a budget: intervals, positions of components, weights, remainder."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from pubpriv.released.digits import percent, rounded, small
from pubpriv.released.groups import Groups
from pubpriv.released.numbers import Z95, Number, of_quantity
from pubpriv.released.report._history import History
from pubpriv.released.report.drawing import (
    FAINT,
    HALO,
    INK,
    PAPER,
    SHADES,
    WIDTH,
    Axis,
    add,
    element,
    line,
    sheet,
    short,
    words,
)

BOTH, NOISE = "#56B4E9", "#0B4F75"
"""Light colour of the whole interval, and dark colour of the part from privacy noise."""

_NAMES = 100.0
"""Width for names of groups."""


def intervals(numbers: Sequence[Number]) -> Element:
    """Draw 95% intervals of means or other locations, each on an axis of its own around its estimate."""
    step, head = 52.0, 30.0
    listed = [
        f"{n.column}: {rounded(n.value, n.error)}, of which privacy noise ±{small(Z95 * n.privacy)} and sampling "
        f"±{small(Z95 * n.sampling)}{f' and clipping ±{small(Z95 * n.clipping)}' if n.clipping else ''}."
        for n in numbers
    ]
    made = sheet(
        "intervals",
        head + step * len(numbers),
        f"95% intervals of the released {numbers[0].quantity}s",
        " ".join(listed),
    )
    _legend(made)
    for place, number in enumerate(numbers):
        m, b, y = number.value, number.error, head + step * place + 14
        width = max(b, 1e-300)
        axis = Axis(m - 2.6 * width, m + 2.6 * width, 20.0, WIDTH - 20)
        name = words(short(str(number.column), 50), 0.0, y, font_weight="bold")
        add(made, name, line(20.0, y + 14, WIDTH - 20, y + 14))
        _interval(made, axis, m, b, number.privacy, y + 14)
        for end, x, anchor in ((m - Z95 * b, 20.0, "start"), (m + Z95 * b, WIDTH - 20, "end")):
            add(made, words(rounded(end, b), x, y + 29, anchor, fill=FAINT, font_size="11"))
        add(made, words(rounded(m, b), WIDTH / 2, y + 29, "middle", font_size="11"))
    return made


def positions(numbers: Sequence[Number], chosen: Sequence[str]) -> Element:
    """Draw positions of components: for each column means, intervals, and one standard deviation of rows about them.

    Args:
        numbers: numbers of a mixture.
        chosen: names of the columns to show, in this order.
    """
    places = {name: [n for n in of_quantity(numbers, "mean") if n.column == name] for name in chosen}
    spreads = {name: [n for n in of_quantity(numbers, "sd") if n.column == name] for name in chosen}
    head, row = 30.0, 15.0
    block = 24.0 + row * len(places[chosen[0]]) + 34
    listed = [
        f"{name}: {', '.join(f'component {mean.component} at {rounded(mean.value, mean.error)}' for mean in means)}"
        for name, means in places.items()
    ]
    made = sheet("positions", head + block * len(chosen), "Where the released components are", ". ".join(listed) + ".")
    _legend(made, spread=True)
    for number, (name, means) in enumerate(places.items()):
        y = head + block * number + 14
        reach = [max(s.value, 2.1 * m.error) for m, s in zip(means, spreads[name], strict=True)]
        low = min(m.value - r for m, r in zip(means, reach, strict=True))
        high = max(m.value + r for m, r in zip(means, reach, strict=True))
        axis = Axis(low - 0.02 * (high - low), high + 0.02 * (high - low), 20.0, WIDTH - 10)
        add(made, words(short(name, 50), 0.0, y, font_weight="bold"))
        for place, (m, s) in enumerate(zip(means, spreads[name], strict=True)):
            at = y + 14 + row * place
            add(made, words(str(m.component), 0.0, at + 4, font_size="11", fill=FAINT))
            add(made, line(axis(m.value - s.value), at, axis(m.value + s.value), at, "#9a9a9a", 1.2))
            _interval(made, axis, m.value, m.error, m.privacy, at)
        axis.draw_below(made, y + 12 + row * len(means), "")
    return made


def group_panels(groups: Groups, columns: Sequence[str]) -> Element:
    """Draw groups in panels, one for each column or component, with a dot and a 95% interval for each group."""
    what = "mean" if "mean" in groups.each[0].parts else "weight"
    found = [[n for n in group.numbers(columns) if n.quantity == what] for group in groups.each]
    panels = list(zip(*found, strict=True))
    head, row = 30.0, 15.0
    block = 24.0 + row * len(groups.each) + 34
    names = [str(panel[0].column or f"component {panel[0].component}") for panel in panels]
    listed = [
        f"{name}: {', '.join(f'{n.group} at {rounded(n.value, n.error)}' for n in panel)}"
        for name, panel in zip(names, panels, strict=True)
    ]
    made = sheet("groups", head + block * len(panels), f"Groups by {groups.by}", ". ".join(listed) + ".")
    _legend(made)
    for number, (name, panel) in enumerate(zip(names, panels, strict=True)):
        y = head + block * number + 14
        low, high = min(n.value - 2.1 * n.error for n in panel), max(n.value + 2.1 * n.error for n in panel)
        pad = 0.02 * (high - low) or 1e-300
        axis = Axis(low - pad, high + pad, _NAMES, WIDTH - 10)
        add(made, words(short(name, 50), 0.0, y, font_weight="bold"))
        for place, n in enumerate(panel):
            at = y + 14 + row * place
            add(made, words(short(str(n.group), 14), 0.0, at + 4, font_size="11", fill=FAINT))
            _interval(made, axis, n.value, n.error, n.privacy, at)
        axis.draw_below(made, y + 12 + row * len(panel), "")
    return made


def weight_bars(weights: Sequence[Number]) -> Element:
    """Draw weights of components as bars with their 95% intervals."""
    head, row = 30.0, 26.0
    listed = [
        f"Component {w.component}: {percent(w.value, w.error)} ± {percent(Z95 * w.error, w.error)}." for w in weights
    ]
    made = sheet("weights", head + row * len(weights) + 40, "Weights of the components", " ".join(listed))
    _legend(made)
    high = min(1.0, max(w.value + 2.2 * w.error for w in weights) * 1.05)
    axis, bottom = Axis(0.0, 100 * high, 22.0, WIDTH - 70), head + row * len(weights)
    for j, weight in enumerate(weights):
        y = head + row * j + 12
        color = SHADES[j % len(SHADES)]
        add(made, words(str(j + 1), 4.0, y + 4, font_weight="bold"))
        long = max(0.5, axis(100 * weight.value) - 22)
        add(made, element("rect", x=22.0, y=y - 8, width=long, height=16.0, fill=color, opacity="0.35"))
        _interval(made, axis, 100 * weight.value, 100 * weight.error, 100 * weight.privacy, y)
        add(made, words(percent(weight.value, weight.error), WIDTH - 64, y + 4))
    axis.draw_below(made, bottom, "percent of the records")
    return made


def burn_down(history: History, release_id: str | None) -> Element:
    """Draw the remaining budget after each release.

    Args:
        history: history of the dataset's budget.
        release_id: the release to mark; None marks none.
    """
    start, top, bottom = 60.0, 26.0, 190.0
    about = (
        f"Of {history.cap:.4g} {history.currency} in all, {history.spent:.4g} were spent by {history.number} "
        f"releases, {history.held:.4g} are held by runs under way, and {history.remaining:.4g} are left."
    )
    made = sheet("budget", bottom + 44, f"What is left of the budget of {history.dataset}", about)
    upwards = Axis(0.0, history.cap * 1.04, bottom, top)
    add(made, words(f"left of the budget, in {history.currency}", 0.0, 12.0))
    upwards.draw_beside(made, start, WIDTH - 10)
    shown = history.runs
    left = history.cap - history.spent_earlier
    width = (WIDTH - 10 - start) / (len(shown) + 1)
    x = start
    path = [f"M{start:.1f} {upwards(left):.1f}h{width / 2:.1f}"]
    marked: tuple[float, float] | None = None
    for run in shown:
        x += width
        left -= run.spent
        path.append(f"V{upwards(max(0.0, left)):.1f}H{min(x + width / 2, WIDTH - 10):.1f}")
        if run.release_id == release_id:
            marked = x, upwards(left)
    add(made, element("path", d=f"{''.join(path)}V{bottom:.1f}H{start:.1f}Z", fill=SHADES[0], opacity="0.15"))
    add(made, element("path", d="".join(path), fill="none", stroke=SHADES[0], stroke_width=2.0))
    add(made, line(start, bottom, WIDTH - 10, bottom, FAINT))
    if marked is not None:
        _mark(made, bottom, *marked, f"this release: {short(str(release_id), 30)}")
    of_all = f" (of {history.number})" if history.earlier else ""
    ends = "1 release" if len(shown) == 1 else f"{len(shown)} releases, oldest to newest{of_all}"
    add(made, words(ends, (start + WIDTH - 10) / 2, bottom + 20, "middle"))
    return made


def _interval(made: Element, axis: Axis, center: float, both: float, privacy: float, y: float) -> None:
    """Draw the interval of all errors light and wide, that of privacy noise dark and narrow, the estimate as a dot."""
    for error, color, width in ((both, BOTH, 7.0), (privacy, NOISE, 3.0)):
        low, high = max(axis.low, center - Z95 * error), min(axis.high, center + Z95 * error)
        add(made, line(axis(low), y, axis(high), y, color, width))
    add(made, dot(axis(center), y))


def dot(x: float, y: float) -> Element:
    """Return the dot of an estimate."""
    return element("circle", cx=x, cy=y, r=3.0, fill=PAPER, stroke=INK, stroke_width=1.4)


def _legend(made: Element, spread: bool = False) -> None:
    parts = [("95% interval", BOTH, 7.0), ("its privacy part", NOISE, 3.0)]
    parts += [("1 sd of rows", "#9a9a9a", 1.2)] if spread else []
    x = 0.0
    for text, color, width in parts:
        add(made, line(x, 8.0, x + 18, 8.0, color, width), words(text, x + 23, 12.0, font_size="11", fill=FAINT))
        x += 36 + 6.0 * len(text)


def _mark(made: Element, bottom: float, x: float, y: float, text: str) -> None:
    to_left = x > WIDTH / 2
    add(made, element("circle", cx=x, cy=y, r=5.0, fill=SHADES[1]))
    below = y + 18 if y + 22 < bottom else y - 10  # below the steps, where no line is in the way
    add(made, words(text, x + (6 if to_left else -2), below, "end" if to_left else "start", **HALO))
