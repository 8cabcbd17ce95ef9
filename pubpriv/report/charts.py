"""Pictures of numbers with their errors: intervals of means, positions of components, weights."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.models import Mixture
from pubpriv.report.drawing import FAINT, INK, PAPER, RULE, SHADES, WIDTH, Axis, bottom_axis, line, sheet, short, words
from pubpriv.report.elements import add, element
from pubpriv.report.numbers import Z95, percent, small, told

BOTH, NOISE = "#56B4E9", "#0B4F75"
"""The whole interval light, the part of the privacy noise in it dark."""


def intervals(names: Sequence[str], means: np.ndarray, sampling: np.ndarray, privacy: np.ndarray) -> Element:
    """95% intervals of means, each on an axis of its own around its estimate.

    Args:
        names: of the columns that are shown.
        means: estimates, in the columns' units, (d,) as the next two.
        sampling: their standard errors of sampling.
        privacy: their standard errors of privacy noise.
    """
    step, head = 52.0, 30.0
    both = np.hypot(sampling, privacy)
    listed = [
        f"{name}: {told(m, b)}, of which privacy noise ±{small(Z95 * p)} and sampling ±{small(Z95 * s)}."
        for name, m, b, p, s in zip(names, means, both, privacy, sampling, strict=True)
    ]
    made = sheet("intervals", head + step * len(names), "95% intervals of the released means", " ".join(listed))
    _legend(made)
    for number, (name, m, b, p) in enumerate(zip(names, means, both, privacy, strict=True)):
        y = head + step * number + 14
        width = max(float(b), 1e-300)
        axis = Axis(float(m) - 2.6 * width, float(m) + 2.6 * width, 20.0, WIDTH - 20)
        add(made, words(short(name, 50), 0.0, y, font_weight="bold"), line(20.0, y + 14, WIDTH - 20, y + 14, RULE))
        _interval(made, axis, float(m), float(b), float(p), y + 14)
        for end, x, anchor in ((m - Z95 * b, 20.0, "start"), (m + Z95 * b, WIDTH - 20, "end")):
            add(made, words(told(end, b), x, y + 29, anchor, fill=FAINT, font_size="11"))
        add(made, words(told(m, b), WIDTH / 2, y + 29, "middle", font_size="11"))
    return made


def positions(
    names: Sequence[str], mixture: Mixture, chosen: Sequence[int], sampling: np.ndarray, privacy: np.ndarray
) -> Element:
    """Where the components are: of each column their means, intervals, and one standard deviation of rows about them.

    Args:
        names: of all columns.
        mixture: that was released, k components.
        chosen: columns to show, in this order.
        sampling: standard errors of the means, (k, d).
        privacy: those of privacy noise, (k, d).
    """
    weights, means, covariances = mixture.arrays
    spreads = np.sqrt(np.array([np.diag(covariance) for covariance in covariances]))
    both = np.hypot(sampling, privacy)
    head, row = 30.0, 15.0
    block = 24.0 + row * len(weights) + 34
    listed = []
    for i in chosen:
        places = [f"component {j + 1} at {told(means[j, i], both[j, i])}" for j in range(len(weights))]
        listed.append(f"{names[i]}: {', '.join(places)}")
    made = sheet("positions", head + block * len(chosen), "Where the released components are", ". ".join(listed) + ".")
    _legend(made, spread=True)
    for number, i in enumerate(chosen):
        y = head + block * number + 14
        reach = np.maximum(spreads[:, i], 2.1 * both[:, i])
        low, high = float((means[:, i] - reach).min()), float((means[:, i] + reach).max())
        axis = Axis(low - 0.02 * (high - low), high + 0.02 * (high - low), 20.0, WIDTH - 10)
        add(made, words(short(names[i], 50), 0.0, y, font_weight="bold"))
        for j in range(len(weights)):
            at, m = y + 14 + row * j, float(means[j, i])
            add(made, words(str(j + 1), 0.0, at + 4, font_size="11", fill=FAINT))
            add(made, line(axis(m - spreads[j, i]), at, axis(m + spreads[j, i]), at, "#9a9a9a", 1.2))
            _interval(made, axis, m, float(both[j, i]), float(privacy[j, i]), at)
        bottom_axis(made, axis, y + 12 + row * len(weights), "")
    return made


def weight_bars(weights: np.ndarray, sampling: np.ndarray, privacy: np.ndarray) -> Element:
    """Weights of components as bars with their 95% intervals, (k,) each."""
    head, row = 30.0, 26.0
    both = np.hypot(sampling, privacy)
    pairs = enumerate(zip(weights, both, strict=True))
    listed = [f"Component {j + 1}: {percent(w, b)} ± {percent(Z95 * b, b)}." for j, (w, b) in pairs]
    made = sheet("weights", head + row * len(weights) + 40, "Weights of the components", " ".join(listed))
    _legend(made)
    high = min(1.0, float((weights + 2.2 * both).max()) * 1.05)
    axis, bottom = Axis(0.0, 100 * high, 22.0, WIDTH - 70), head + row * len(weights)
    for j, (weight, b, p) in enumerate(zip(weights, both, privacy, strict=True)):
        y = head + row * j + 12
        color = SHADES[j % len(SHADES)]
        add(made, words(str(j + 1), 4.0, y + 4, font_weight="bold"))
        long = max(0.5, axis(100 * weight) - 22)
        add(made, element("rect", x=22.0, y=y - 8, width=long, height=16.0, fill=color, opacity="0.35"))
        _interval(made, axis, 100 * float(weight), 100 * float(b), 100 * float(p), y)
        add(made, words(percent(weight, b), WIDTH - 64, y + 4))
    bottom_axis(made, axis, bottom, "percent of the records")
    return made


def errors_of(part: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(sampling, privacy) standard errors of a number of the estimate, each of the shape of that number."""
    told_parts = [np.asarray(part[name], dtype=float).reshape(shape) for name in ("sampling", "privacy")]
    return told_parts[0], told_parts[1]


def _interval(made: Element, axis: Axis, center: float, both: float, privacy: float, y: float) -> None:
    """The interval of all errors light and wide, that of the privacy noise dark and narrow, the estimate a dot."""
    for error, color, width in ((both, BOTH, 7.0), (privacy, NOISE, 3.0)):
        low, high = max(axis.low, center - Z95 * error), min(axis.high, center + Z95 * error)
        add(made, line(axis(low), y, axis(high), y, color, width))
    add(made, element("circle", cx=axis(center), cy=y, r=3.0, fill=PAPER, stroke=INK, stroke_width=1.4))


def _legend(made: Element, spread: bool = False) -> None:
    parts = [("95% interval", BOTH, 7.0), ("its privacy part", NOISE, 3.0)]
    parts += [("1 sd of rows", "#9a9a9a", 1.2)] if spread else []
    x = 0.0
    for text, color, width in parts:
        add(made, line(x, 8.0, x + 18, 8.0, color, width), words(text, x + 23, 12.0, font_size="11", fill=FAINT))
        x += 36 + 6.0 * len(text)
