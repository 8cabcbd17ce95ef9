"""Find the scale of a degenerate column from private counts of its sizes, and the coordinates that all scales define.

A scale that is too large adds some noise to its column. One that is too small puts the rows that differ far beyond all
others, where the noise of the last release drowns every column. So a size is used only if rows clearly have it. (In a
bisection for a quantile, noise among some dozens of rows took one wrong turn, and ended a thousandfold too far down.)
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Shells
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._degenerate_columns import Layout, centered, scale_question
from pubpriv.estimators.steps import step

_SMALL = 1e-3
"""A scale below this share of the spread of the public rows is due to noise."""

_CLEARLY, _LEAST, _WINDOWS = 5.0, 20.0, (1, 2, 4, 8, 16)
"""Rows are clearly in one of these numbers of adjacent bins if their count exceeds CLEARLY noise sds, and LEAST."""


@public_value
@dataclass(frozen=True)
class Scale:
    """The scale of a degenerate column.

    Attributes:
        value: divisor of z, in the table's units.
        seen: False if almost no private row differs from the public rows' value or combination.
        hidden: number of rows that may differ, by about as much, and not be seen; 0 where nothing was asked.
    """

    value: float
    seen: bool
    hidden: float = 0.0


@step(title="scale of a degenerate column", private=True)
def learn_scale(curator: Curator, layout: Layout, place: int, ask: Ask) -> Scale:
    """Learn the scale of a degenerate column.

    The largest size that rows clearly have is mapped to the length of the longest whitened records, sqrt(d) + 3, so
    that neither these nor the column determine the noise of the last release alone. It is mapped to less if the public
    rows show more than a rare value, so that the column is no longer than the others.

    Args:
        curator: the run.
        layout: layout of all columns.
        place: position of the column among the degenerate ones.
        ask: label and price.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    column = layout.degenerate[place]
    answer = curator.release(scale_question(layout, column, ask), ask.label)
    asked = answer.question  # on a resumed run, the question as it was stored
    assert isinstance(asked.partition, Shells)
    sd = bounding_sd(asked, "count")
    largest, hidden = _largest(np.array(asked.partition.edges), answer.values["count"], sd), max(_CLEARLY * sd, _LEAST)
    seen = largest > (column.unit * _SMALL if column.spread else 0.0)
    reach = (largest if seen else column.unit) / (3 + math.sqrt(layout.dimension))
    if not column.spread:
        return Scale(reach, seen, hidden)
    return Scale(max(reach, min(column.unit, largest)) if seen else column.unit, seen, hidden)


def _largest(edges: np.ndarray, counts: np.ndarray, sd: float) -> float:
    """Find the largest size that rows clearly have, rounded up to the end of its bin; 0 if there is none.

    Args:
        edges: (bins,) edges of the bins of sizes.
        counts: (bins + 1,) rows below the first edge, between edges, and beyond the last, where no size is known.
        sd: noise sd of each count.
    """
    within, found = counts[1:-1], -1
    for width in _WINDOWS:
        sums = np.convolve(within, np.ones(width), "valid")
        clear = np.flatnonzero(sums > max(_CLEARLY * math.sqrt(width) * sd, _LEAST))
        found = max(found, int(clear.max(initial=-1)))
    return float(edges[found + 1]) if found >= 0 else 0.0


@step(title="assemble coordinates")
def assemble(layout: Layout, regular: Frame | None, scales: tuple[Scale, ...]) -> Frame:
    """Make the map of the last release: whitened regular columns, then degenerate columns divided by their scales.

    Args:
        layout: layout of the columns.
        regular: the map that the rounds found, or None if every column is degenerate.
        scales: scales of the degenerate columns, in order.
    """
    if regular is not None and not layout.degenerate:
        return regular
    origin = np.array(layout.center)
    center, rows = (origin, np.zeros((0, layout.dimension))) if regular is None else regular.dense()
    values = np.array([np.array(column.weights) @ origin for column in layout.degenerate])
    own = [np.array(column.weights) / scale.value for column, scale in zip(layout.degenerate, scales, strict=True)]
    return Frame.of(centered(center, layout.degenerate, values), np.vstack([rows, *own]))
