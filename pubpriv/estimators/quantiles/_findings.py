"""What a reader should know of released quantiles: which of them are mostly guesses, and what was seen of a column."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn
from pubpriv.released.distributions.reading import Quantile, is_vague
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding

_ELSEWHERE = 4.0
"""Standard errors by which a public quantile lies off the released one before that is said."""

_FAR = 20.0
"""Widths of the public rows, from their 5% to their 95% quantile, off which they tell nothing of the private ones. With
six widths errors are at most 1.2 times those of the sample, with thirty up to twice."""

_OTHERS = "take public rows that are like the private ones"


def findings_on(
    name: str, found: Sequence[Quantile], column: Distribution, public: PublicColumn, records: float
) -> Iterator[Finding]:
    """Yield what was found of a column.

    Args:
        name: of the column.
        found: its quantiles.
        column: what is known of it.
        public: its public rows, before they were moved.
        records: number of all records.
    """
    yield from _flaws(name, found, column, public)
    missing, grain = column.known.missing, public.grain
    if missing.rows > SURELY * missing.sd:
        share = missing.rows / records
        text = f"about {share:.2g} of the rows have no number; ranks are of the others"
        yield Finding("missing-cells", (name,), NOTE, text, {"share": share})
    if grain.step:
        text = f"quantiles are given to the step of the public rows, {grain.step:.6g}"
        yield Finding("step", (name,), NOTE, text, {"step": grain.step})
    if any(_is_elsewhere(each, column, public) for each in found):
        text = (
            "the quantiles of the public rows are not those of the private rows, beyond chance: they are from "
            "elsewhere, or there are several of each person. What is released does not rely on them"
        )
        yield Finding("public-elsewhere", (name,), NOTE, text)


def left_out(wanted: Sequence[float], shares: Sequence[float]) -> Iterator[Finding]:
    """Yield which ranks of a description are not released."""
    lacking = [f"{share:g}" for share in wanted if share not in shares]
    if lacking:
        text = f"noise would drown the ranks {', '.join(lacking)}, so they are left out"
        yield Finding("ranks-left-out", (), NOTE, text, remedy="more rows, fewer columns, or a larger budget")


def _flaws(name: str, found: Sequence[Quantile], column: Distribution, public: PublicColumn) -> Iterator[Finding]:
    """Yield what makes quantiles of a column no answer: they are mostly guesses."""
    of = ("quantile",)
    if column.known.total < SURELY * column.known.missing.sd + 1:
        text = "almost no row has a number, so its quantiles are those of noise"
        remedy = "look at the file: the column may be text, have decimal commas, or be empty"
        yield Finding("no-numbers", (name,), DOUBTFUL, text, quantities=of, remedy=remedy)
        return
    off = float(max(abs(each.value - np.quantile(public.rows, each.share)) for each in found) / public.scale)
    if off > _FAR:
        text = f"the public rows lie {off:.2g} of their widths off, so they tell nothing of its rows"
        yield Finding("public-far", (name,), DOUBTFUL, text, {"widths": off}, of, _OTHERS)
    vague = tuple(each.share for each in found if is_vague(each))
    if vague:
        ranks = ", ".join(f"{share:g}" for share in vague)
        text = f"so unlike the public rows that too little is known of the rows beside the ranks {ranks}"
        yield Finding("vague-ranks", (name,), DOUBTFUL, text, {}, of, f"{_OTHERS}, or a larger budget", vague)


def _is_elsewhere(quantile: Quantile, column: Distribution, public: PublicColumn) -> bool:
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
