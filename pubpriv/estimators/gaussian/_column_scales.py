"""The scale of a degenerate column, from a private quantile, and the coordinates that follow from all scales."""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._degenerate_columns import Layout, scale_question
from pubpriv.estimators.gaussian._whole import Whole
from pubpriv.estimators.steps import step

_SMALL = 1e-3
"""A scale below this part of a spread that the public rows show is noise's doing."""


@public_value
@dataclass(frozen=True)
class Scale:
    """What is known of the size of a degenerate column.

    Attributes:
        value: what z is divided by, in the table's units.
        seen: False if hardly any private row differs from the public rows' value or combination.
    """

    value: float
    seen: bool


@step(title="scale of a degenerate column", private=True)
def learn_scale(curator: Curator, layout: Layout, place: int, whole: Whole, ask: Ask) -> Scale:
    """Learn a size for a degenerate column.

    The quantile is brought to where the longest of the whitened records are, sqrt(d) + 3, so that neither they nor
    the column set the noise of the last release alone; and nearer where the public rows show more than a rare value, so
    that the column is no longer than the others.

    Args:
        curator: the run.
        layout: of all columns.
        place: of the column among the degenerate ones.
        whole: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `Bisection`, mu^2 at most ask.price.
    """
    column = layout.degenerate[place]
    answer = curator.release(scale_question(layout, column, whole, ask), ask.label)
    asked = answer.question  # on a resumed run, as it was stored
    quantile = float(answer.values["quantile"][0])
    least = column.unit * _SMALL if column.spread else 2 * asked.lower
    seen = least < quantile < asked.upper / 2
    reach = (quantile if seen else column.unit) / (3 + math.sqrt(layout.dimension))
    if not column.spread:
        return Scale(reach, seen)
    return Scale(max(reach, min(column.unit, quantile)) if seen else column.unit, seen)


@step(title="assemble coordinates")
def assemble(layout: Layout, regular: Frame | None, scales: tuple[Scale, ...]) -> Frame:
    """Make the map of the last release: whitened regular columns first, then each degenerate column over its scale.

    Args:
        layout: of the columns.
        regular: where the rounds have led, or None if every column is degenerate.
        scales: of the degenerate columns, in order.
    """
    if regular is not None and not layout.degenerate:
        return regular
    center, rows = (np.array(layout.center), np.zeros((0, layout.dimension))) if regular is None else regular.dense()
    own = [np.array(column.weights) / scale.value for column, scale in zip(layout.degenerate, scales, strict=True)]
    return Frame.of(center, np.vstack([rows, *own]))
