"""Pictures of the released model of each column over the histogram of its public rows, for comparing them."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.released.digits import rounded, small
from pubpriv.released.estimate import Estimate
from pubpriv.released.histograms import Histogram
from pubpriv.released.law import Mixture
from pubpriv.released.numbers import Z95, Number, of_all, of_columns, of_quantity
from pubpriv.released.report.drawing import (
    FAINT,
    HALO,
    INK,
    SHADES,
    WIDTH,
    Axis,
    add,
    curve,
    element,
    line,
    sheet,
    short,
    words,
)

_POINTS = 181
"""Points of a curve; each shows the mean density up to the next point, so that no narrow component is missed."""

_TALLEST = 3.0
"""Curves are cut off at this multiple of the tallest bar, so that a narrow component does not flatten everything."""

_FAINTEST = 0.01
"""A component is not drawn where it is lower than this share of the picture's height."""

_TOP, _BOTTOM, _MARGIN = 40.0, 150.0, 10.0


def fit_charts(estimate: Estimate, shown: Sequence[int], histograms: Sequence[Histogram]) -> list[Element]:
    """Draw a picture for each column: bars of public rows, and over them the released density, or the released mean.

    Args:
        estimate: the release.
        shown: indices of the columns to draw.
        histograms: histograms of the public rows, one per column; empty if unknown, and then a mean has no picture.
    """
    law = estimate.law
    if law is None and not histograms:
        return []
    means, deviations = _overall(estimate)
    made = []
    for place, i in enumerate(shown):
        bars = histograms[i] if histograms else None
        name = f"fit-{place + 1}"
        made.append(_column(name, str(estimate.columns[i]), law, i, means[i], deviations[i], bars))
    return made


def _overall(estimate: Estimate) -> tuple[list[Number], list[Number | None]]:
    """Means and standard deviations of columns over all components; for a mixture without errors."""
    law = estimate.law
    if estimate.n_components is None or law is None:
        numbers = of_all(estimate.numbers())
        means, deviations = of_columns(numbers), of_quantity(numbers, "sd")
        return means, [*deviations] or [None] * len(means)
    center, _, total = law.moments
    moments = [(name, float(center[i]), float(np.sqrt(total[i, i]))) for i, name in enumerate(estimate.columns)]
    return (
        [Number("mean", None, name, None, mean, 0.0, 0.0) for name, mean, _ in moments],
        [Number("sd", None, name, None, sd, 0.0, 0.0) for name, _, sd in moments],
    )


def _column(
    name: str, column: str, law: Mixture | None, i: int, mean: Number, deviation: Number | None, bars: Histogram | None
) -> Element:
    across = _across(law, i, mean, bars)
    grid = np.linspace(across.low, across.high, _POINTS)
    parts = np.zeros((0, _POINTS - 1)) if law is None else _densities(law, i, grid)
    whole = parts.sum(axis=0)
    height = _height(whole, bars)
    upwards = Axis(0.0, height, _BOTTOM, _TOP)
    numbers = f"{mean.quantity} {_with_error(mean)}" + ("" if deviation is None else f", sd {_with_error(deviation)}")
    public = "" if bars is None else f" Bars are {bars.rows:,} public rows{_beyond(bars)}."
    cut = " The curve is cut off at the top." if whole.size and whole.max() > height else ""
    title = f"{column}: what was released{'' if bars is None else ' over the public rows'}"
    made = sheet(name, _BOTTOM + 24, title, f"Released: {numbers}.{public}{cut}")
    add(made, words(short(column, 50), 0.0, 14.0, font_weight="bold"), words(numbers, 0.0, 30.0, fill=FAINT))
    if bars is not None:
        _draw_bars(made, bars, across, upwards)
    middles = (grid[1:] + grid[:-1]) / 2
    if law is not None:
        add(made, _curve(middles, whole, across, upwards, INK, 2.4))
        _draw_components(made, middles, parts, across, upwards)
    else:
        _draw_mean(made, mean, across)
    across.draw_below(made, _BOTTOM, "")
    return made


def _across(law: Mixture | None, i: int, mean: Number, bars: Histogram | None) -> Axis:
    """Axis with room for the whole model and the bars."""
    ends = [mean.value - 4 * mean.error, mean.value + 4 * mean.error] if law is None else []
    if law is not None:
        _, centers, covariances = law.arrays
        spreads = 3.2 * np.sqrt(covariances[:, i, i])
        ends += [*(centers[:, i] - spreads), *(centers[:, i] + spreads)]
    if bars is not None:
        ends += [bars.low, bars.high]
    return Axis(float(min(ends)), float(max(ends)), _MARGIN, WIDTH - _MARGIN)


def _densities(law: Mixture, i: int, grid: np.ndarray) -> np.ndarray:
    """Mean density of each component between points, times its weight, (k, len(grid) - 1)."""
    from scipy.special import ndtr

    weights, means, covariances = law.arrays
    z = (grid - means[:, i, None]) / np.sqrt(covariances[:, i, i])[:, None]
    # tails computed from the side on which they are small, for precision
    mass = np.where(z[:, :-1] > 0, ndtr(-z[:, :-1]) - ndtr(-z[:, 1:]), ndtr(z[:, 1:]) - ndtr(z[:, :-1]))
    return np.asarray((weights / weights.sum())[:, None] * mass / np.diff(grid))


def _height(whole: np.ndarray, bars: Histogram | None) -> float:
    tallest = 0.0 if bars is None else float(bars.densities.max())
    curve_ = float(whole.max()) if whole.size else 0.0
    if tallest > 0:
        curve_ = min(curve_, _TALLEST * tallest)
    return 1.06 * max(curve_, tallest)


def _draw_bars(made: Element, bars: Histogram, across: Axis, upwards: Axis) -> None:
    edges = np.linspace(bars.low, bars.high, len(bars.counts) + 1)
    for left, right, density in zip(edges[:-1], edges[1:], bars.densities, strict=True):
        x, y = across(left), upwards(density)
        if density > 0:
            add(
                made,
                element(
                    "rect",
                    x=x,
                    y=y,
                    width=max(across(right) - x, 0.5),
                    height=_BOTTOM - y,
                    fill="#cfcfcf",
                    stroke="#ffffff",
                    stroke_width=0.8,
                ),
            )


def _draw_components(made: Element, middles: np.ndarray, parts: np.ndarray, across: Axis, upwards: Axis) -> None:
    """Draw each of several components as a line where it is high enough, with its number at the top."""
    for j, part in enumerate(parts if len(parts) > 1 else ()):
        there = part > _FAINTEST * upwards.high
        if there.any():
            color, top = SHADES[j % len(SHADES)], int(part.argmax())
            add(made, _curve(middles[there], part[there], across, upwards, color, 1.4))
            y = upwards(min(float(part[top]), upwards.high))
            number = words(str(j + 1), across(middles[top]), max(y - 5, _TOP + 4), "middle", fill=color, **HALO)
            add(made, number)


def _curve(x: np.ndarray, y: np.ndarray, across: Axis, upwards: Axis, color: str, width: float) -> Element:
    points = [(across(a), upwards(min(float(b), upwards.high))) for a, b in zip(x, y, strict=True)]
    return curve(points, color, width)


def _draw_mean(made: Element, mean: Number, across: Axis) -> None:
    """Draw the released mean as a line, in the band of its 95% interval."""
    low, high = (across(mean.value + sign * Z95 * mean.error) for sign in (-1, 1))
    band = element(
        "rect", x=low, y=_TOP, width=max(high - low, 1.0), height=_BOTTOM - _TOP, fill=SHADES[0], opacity="0.3"
    )
    add(made, band, line(across(mean.value), _TOP, across(mean.value), _BOTTOM, SHADES[0], 2.0))


def _with_error(number: Number) -> str:
    if not number.error:
        return rounded(number.value)
    return f"{rounded(number.value, number.error)} ± {small(Z95 * number.error)}"


def _beyond(bars: Histogram) -> str:
    return f", of which {bars.outside:,} lie outside them" if bars.outside else ""
