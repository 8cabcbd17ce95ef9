"""Pictures of released quantiles, shares and distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import asinh
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.released.digits import percent
from pubpriv.released.numbers import Z95, Number, of_all, of_quantity
from pubpriv.released.quantiles import QuantilesEstimate
from pubpriv.released.report._tables import label
from pubpriv.released.report.charts import BOTH, NOISE, dot
from pubpriv.released.report.drawing import (
    FAINT,
    HALO,
    INK,
    SHADES,
    WIDTH,
    Axis,
    add,
    curve,
    line,
    sheet,
    short,
    words,
)
from pubpriv.released.report.words import sentence, share_in_words, value_in_words

_OUT, _POINTS = 0.003, 160
"""Share of the rows on either side that a picture of a distribution leaves out, and points of its line."""

_APART = 46.0
"""Pixels between the texts of two values."""

_LEFT, _RIGHT = 40.0, WIDTH - 12.0


@dataclass(frozen=True)
class _Scale:
    """Maps values of a column to pixels: evenly about the middle, and in proportion far out, where tails are long."""

    middle: float
    unit: float
    axis: Axis

    @classmethod
    def of(cls, estimate: QuantilesEstimate, column: str, values: Sequence[float], start: float) -> "_Scale":
        """Choose the scale of a column for values that shall be seen."""
        low, middle, high = (estimate.quantile(column, share)[0] for share in (0.25, 0.5, 0.75))
        unit = max(high - low, 1e-9 * max(abs(middle), 1e-300), (max(values) - min(values)) / 50)
        ends = [asinh((each - middle) / unit) for each in (min(values), max(values))]
        pad = 0.04 * (ends[1] - ends[0]) or 1.0
        return cls(middle, unit, Axis(ends[0] - pad, ends[1] + pad, start, _RIGHT))

    def __call__(self, value: float) -> float:
        """Return the pixel of a value, at most at the ends."""
        place = asinh((value - self.middle) / self.unit)
        return self.axis(min(max(place, self.axis.low), self.axis.high))

    def name(self, made: Element, values: Sequence[tuple[float, str]], y: float) -> None:
        """Write values below, as far as there is room: the middle ones first."""
        placed: list[float] = []
        for value, text in sorted(values, key=lambda each: abs(self(each[0]) - self(self.middle))):
            x = self(value)
            if all(abs(x - other) > _APART for other in placed):
                placed.append(x)
                half = 3.3 * len(text)
                add(made, words(text, min(max(x, half), WIDTH - half), y, "middle", font_size="11", fill=FAINT))


def quantile_plot(estimate: QuantilesEstimate, columns: Sequence[str]) -> Element:
    """Draw the quantiles of each column in a row: dots, 95% intervals, and what of these noise alone makes."""
    quantiles = of_quantity(of_all(estimate.numbers()), "quantile")
    found = {name: [n for n in quantiles if n.column == name] for name in columns}
    head, row = 30.0, 66.0
    listed = [
        f"{name}: {', '.join(f'{percent(n.rank or 0)} at or below {value_in_words(n)}' for n in numbers)}."
        for name, numbers in found.items()
    ]
    made = sheet("quantiles", head + row * len(columns), "The released quantiles", " ".join(listed))
    add(made, line(0.0, 8.0, 18.0, 8.0, BOTH, 7.0), words("95% interval", 23.0, 12.0, font_size="11", fill=FAINT))
    add(made, line(110.0, 8.0, 128.0, 8.0, NOISE, 3.0))
    add(made, words("its privacy part", 133.0, 12.0, font_size="11", fill=FAINT))
    for place, (name, numbers) in enumerate(found.items()):
        y = head + row * place + 14
        scale = _Scale.of(estimate, name, [end for n in numbers for end in n.interval], 12.0)
        add(made, words(short(name, 50), 0.0, y, font_weight="bold"), line(12.0, y + 22, _RIGHT, y + 22))
        for n in numbers:
            low, high = n.interval
            add(made, line(scale(low), y + 22, scale(high), y + 22, BOTH, 7.0))
            ends = max(low, n.value - Z95 * n.privacy), min(high, n.value + Z95 * n.privacy)
            add(made, line(scale(ends[0]), y + 22, scale(ends[1]), y + 22, NOISE, 3.0))
            add(made, dot(scale(n.value), y + 22))
        scale.name(made, [(n.value, f"{100 * (n.rank or 0):g}%") for n in numbers], y + 13)
        scale.name(made, [(n.value, value_in_words(n)) for n in numbers], y + 41)
    return made


def distribution_charts(estimate: QuantilesEstimate, columns: Sequence[str]) -> list[Element]:
    """Draw the share of the rows at or below each value, in a band, with the public rows dotted."""
    return [_distribution(estimate, name, f"distribution-{place + 1}") for place, name in enumerate(columns)]


def _distribution(estimate: QuantilesEstimate, name: str, of_picture: str) -> Element:
    whole = estimate.described.of(name)
    shares = np.linspace(_OUT, 1 - _OUT, _POINTS)
    values = [whole.value_at(float(share) * whole.known.total) for share in shares]
    scale, upwards = _Scale.of(estimate, name, values, _LEFT), Axis(0.0, 1.0, 168.0, 26.0)
    about = f"{name}: {sentence(estimate, name)} The band holds 95% at each value, for sampling and noise."
    made = sheet(of_picture, 200.0, f"Share of the rows at or below each value of {name}", about)
    add(made, words(short(name, 50), 0.0, 14.0, font_weight="bold"))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = upwards(share)
        add(made, line(_LEFT, y, _RIGHT, y, "#ececec"), words(f"{share:.0%}", _LEFT - 6, y + 4, "end", **_SMALL))
    edges, below, sds = estimate.distribution(name)
    sampling = estimate.described.widening * np.sqrt(below * (1 - below) / whole.known.total)
    reach = Z95 * np.hypot(sds, sampling)
    inside = (edges > values[0]) & (edges < values[-1])
    ends = [
        [(scale(x), upwards(min(max(share, 0.0), 1.0))) for x, share in zip(edges[inside], band[inside], strict=True)]
        for band in (below - reach, below + reach)
    ]
    if inside.any():
        add(made, curve([*ends[0], *reversed(ends[1])], "none", 0.0, fill=SHADES[0]))
        made[-1].set("opacity", "0.22")
    points = [(scale(x), upwards(share)) for x, share in zip(values, shares, strict=True)]
    add(made, curve(points, SHADES[0], 2.0))
    public = whole.given.thinned.rows
    dotted = [(scale(x), upwards((i + 0.5) / len(public))) for i, x in enumerate(public.tolist())]
    add(made, curve(dotted, INK, 1.2, "2 3"))
    add(made, words("dotted: public rows", _RIGHT, 22.0, "end", **HALO, fill=FAINT))
    quantiles = [n for n in of_quantity(of_all(estimate.numbers()), "quantile") if n.column == name]
    scale.name(made, [(n.value, value_in_words(n)) for n in quantiles], 184.0)
    add(made, line(_LEFT, upwards(0.0), _RIGHT, upwards(0.0), FAINT))
    return made


_SMALL = {"font_size": "11", "fill": FAINT}


def group_dots(by: str, columns: Sequence[Sequence[Number]]) -> Element:
    """Draw a panel for each number that groups have, with a dot and a 95% interval for each group."""
    head, row = 12.0, 15.0
    listed = [f"{label(own[0])}: {', '.join(f'{n.group} at {value_in_words(n)}' for n in own)}" for own in columns]
    heights = [24.0 + row * len(own) + 34 for own in columns]
    made = sheet("groups", head + sum(heights), f"Groups by {by}", ". ".join(listed) + ".")
    top = head
    for own, height in zip(columns, heights, strict=True):
        y = top + 14
        low, high = min(n.interval[0] for n in own), max(n.interval[1] for n in own)
        pad = 0.02 * (high - low) or 1e-300
        axis = Axis(low - pad, high + pad, 100.0, _RIGHT)
        add(made, words(short(label(own[0]), 50), 0.0, y, font_weight="bold"))
        for place, n in enumerate(own):
            at = y + 14 + row * place
            add(made, words(short(str(n.group), 14), 0.0, at + 4, font_size="11", fill=FAINT))
            add(made, line(axis(n.interval[0]), at, axis(n.interval[1]), at, BOTH, 7.0), dot(axis(n.value), at))
        axis.draw_below(made, y + 12 + row * len(own), "")
        top += height
    return made


def share_dots(numbers: Sequence[Number]) -> Element:
    """Draw shares as dots with 95% intervals."""
    head, row = 26.0, 20.0
    listed = [f"{label(n)}: {share_in_words(n)}." for n in numbers]
    made = sheet("shares", head + row * len(numbers) + 40, "The released shares", " ".join(listed))
    highest = min(1.0, max(n.interval[1] for n in numbers) * 1.05)
    axis, bottom = Axis(0.0, 100 * highest, 150.0, WIDTH - 14), head + row * len(numbers)
    for place, n in enumerate(numbers):
        y = head + row * place
        low, high = n.interval
        add(made, words(short(label(n), 24), 0.0, y + 4, font_size="11"))
        add(made, line(axis(100 * low), y, axis(100 * high), y, BOTH, 7.0), dot(axis(100 * n.value), y))
    axis.draw_below(made, bottom, "percent of the rows", top=head - 12)
    return made
