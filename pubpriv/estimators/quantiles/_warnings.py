"""What a reader should know of released quantiles."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.estimators.quantiles._column import Column
from pubpriv.estimators.quantiles._public import PublicColumn
from pubpriv.estimators.quantiles._reading import Quantile, is_vague

_ELSEWHERE = 4.0
"""Standard errors by which a public quantile lies off the released one before that is said."""


_FAR = 20.0
"""Widths of the public rows, from their 5% to their 95% quantile, off which they tell nothing of the private ones. With
six widths errors are at most 1.2 times those of the sample, with thirty up to twice."""


def flaws(name: str, found: Sequence[Quantile], column: Column, public: PublicColumn) -> Iterator[str]:
    """Yield what makes quantiles of a column no answer: they are mostly guesses."""
    if column.known.total < SURELY * column.known.missing.sd + 1:
        yield (
            f"almost no row has a number in column {name}: it may be text, have decimal commas, or be empty; its "
            "quantiles are those of noise"
        )
        return
    off = max(abs(each.value - np.quantile(public.rows, each.share)) for each in found) / public.scale
    if off > _FAR:
        yield (
            f"the public rows of column {name} lie {off:.2g} of their widths off, so they tell nothing of its rows: do "
            "not use its quantiles, take other public rows"
        )
    vague = [f"{each.share:g}" for each in found if is_vague(each)]
    if vague:
        yield (
            f"column {name} is so unlike the public rows that too little is known of the rows beside its ranks "
            f"{', '.join(vague)}: do not use them; take other public rows, or a larger budget"
        )


def notes(name: str, found: Sequence[Quantile], column: Column, public: PublicColumn, records: float) -> Iterator[str]:
    """Yield sentences on a column: missing cells, values that are multiples of a step, public rows from elsewhere."""
    missing, grain = column.known.missing, public.grain
    if missing.rows > SURELY * missing.sd:
        yield f"about {missing.rows / records:.2g} of the rows have no number in column {name}; ranks are of the others"
    if grain.step:
        yield f"quantiles of column {name} are given to the step of the public rows, {grain.step:.6g}"
    if any(_is_elsewhere(each, column, public) for each in found):
        yield f"the public rows of column {name} are from elsewhere: their quantiles are not those of the private rows"


def _is_elsewhere(quantile: Quantile, column: Column, public: PublicColumn) -> bool:
    """Check whether the private rank of a public quantile is another one, by more than both samples explain."""
    m, total, known = len(public.rows), column.known.total, column.known
    value = np.quantile(public.rows, quantile.share)
    edges = np.searchsorted(known.edges, [value - public.grain.step, value + public.grain.step])
    below = [0.0, *known.below, total]
    low, high = below[int(edges[0])], below[min(int(edges[1]) + 1, len(below) - 1)]
    own = total * math.sqrt(quantile.share * (1 - quantile.share) / m)
    off = _ELSEWHERE * math.hypot(own, quantile.sampling, quantile.noise)
    rank = quantile.share * total
    return high < rank - off or low > rank + off
