"""Parts of the rows, level by level: where each lies, its principal components, and the parts that it splits into.

Source: KSSU 2019, algorithm 1 (RPGMP), with the same recursion, breadth first; `zoom` replaces PGLOC (theorem 3.2).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture.kssu.plan import BINS
from pubpriv.estimators.mixture.rounds import GRAM_SHARES
from pubpriv.estimators.steps import step

_FALSE = 10.0
"""In about one question out of this many, an empty bin or cell is mistaken for a full one."""

_TRIFLE = 0.002
"""A bin with fewer rows than this share of the smallest component's is not full."""

_WORTH = 2
"""A box shrinks in a column only if it becomes this many times narrower: narrow bins at its ends look empty."""

_WITHIN = 0.6
"""Clip radius of second moments, divided by half the diagonal of the box: few rows lie in corners."""


@public_value
@dataclass(frozen=True)
class _RowPart:
    """A part of the rows.

    Attributes:
        low, high: box around them, in the table's units, (d,).
        size: approximate number of rows; 0 if not asked yet.
        center: their mean, (d,).
        variance: approximate variance of a column.
        basis: principal directions, (ell, d), orthonormal.
        reach: how far the rows reach along those.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    size: float = 0.0
    center: tuple[float, ...] = ()
    variance: float = 0.0
    basis: tuple[tuple[float, ...], ...] = ()
    reach: float = 0.0


@public_value
@dataclass(frozen=True)
class RowParts:
    """All rows, divided into parts, one for each region.

    Attributes:
        regions: assigns records to parts.
        parts: the parts, in the order of the regions.
    """

    regions: Everything | Refined
    parts: tuple[_RowPart, ...]

    @classmethod
    def whole(cls, d: int, bound: float) -> "RowParts":
        """Make one part of all rows, within `bound` of zero in each column."""
        return cls(Everything(), (_RowPart((-bound,) * d, (bound,) * d),))


@public_value
@dataclass(frozen=True)
class FullCells:
    """A group of full cells that touch, at one refinement of a part's grid.

    Attributes:
        center: relative to the part's centre, in the grid's directions, (ell,).
        variance: variance in a direction.
        size: number of rows in its cells.
    """

    center: tuple[float, ...]
    variance: float
    size: float


def heavy(counts: np.ndarray, sd: float) -> np.ndarray:
    """Find the noisy counts that are larger than those of empty cells."""
    return np.asarray(counts > sd * math.sqrt(2 * math.log(_FALSE * counts.size)))


@step(title="zoom", private=True)
def zoom(curator: Curator, parts: RowParts, least: float, asks: tuple[Ask, ...]) -> RowParts:
    """Shrink the boxes of all parts to the bins that are full.

    Args:
        curator: the run.
        parts: parts with their boxes.
        least: rows of the smallest component.
        asks: one ask per column.

    Privacy: one `Counts` for each column, mu^2 <= the asks' prices.
    """
    low, high = (np.array([getattr(part, side) for part in parts.parts]) for side in ("low", "high"))
    width = (high - low) / BINS
    lows, highs, sizes = low.copy(), high.copy(), np.array([part.size for part in parts.parts])
    bins = (tuple((i,) for i in range(BINS)),) * len(parts.parts)
    for j, ask in enumerate(asks):
        axis = np.eye(len(asks))[[j]]
        frames = tuple(Frame.of(low[i], axis / width[i, j]) for i in range(len(low)))
        answer = curator.release(Counts.priced(GridCells(parts.regions, frames, bins), ask.price), ask.label)
        counts = answer.values["count"].reshape(len(low), BINS)
        full = heavy(counts, float(answer.question.noise()["count"][0])) & (counts > _TRIFLE * least)
        for i in np.flatnonzero(full.any(axis=1)):
            first, last = np.flatnonzero(full[i])[[0, -1]]
            if last - first + 3 <= BINS / _WORTH:
                lows[i, j], highs[i, j] = low[i, j] + (first - 1) * width[i, j], low[i, j] + (last + 2) * width[i, j]
            sizes[i] = max(sizes[i], counts[i, full[i]].sum())
    found = zip(parts.parts, lows.tolist(), highs.tolist(), sizes.tolist(), strict=True)
    return replace(
        parts, parts=tuple(replace(part, low=tuple(a), high=tuple(b), size=size) for part, a, b, size in found)
    )


@step(title="look at parts", private=True)
@one_thread
def look(curator: Curator, parts: RowParts, ell: int, ask: Ask) -> RowParts:
    """Release centre, variance and principal directions of all parts.

    Privacy: one `LiftedGram`, mu^2 <= ask.price for all parts together.
    """
    low, high = (np.array([getattr(part, side) for part in parts.parts]) for side in ("low", "high"))
    frames = tuple(Frame.of(center) for center in (low + high) / 2)
    radii = tuple((_WITHIN * np.linalg.norm(high - low, axis=1) / 2).tolist())
    answer = curator.release(LiftedGram.priced(parts.regions, frames, radii, ask.price, GRAM_SHARES), ask.label)
    found = []
    for i, part in enumerate(parts.parts):
        count = max(float(answer.values["count"][i]), 1.0)
        shift = answer.values["sum"][i] / count
        shift *= min(1.0, radii[i] / max(float(np.linalg.norm(shift)), 1e-300))
        values, vectors = np.linalg.eigh(answer.values["moment"][i] / count - np.outer(shift, shift))
        center = np.array(frames[i].center) + shift
        found.append(
            replace(
                part,
                size=count,
                center=tuple(center.tolist()),
                variance=float(np.clip(values.mean(), (radii[i] / BINS) ** 2, radii[i] ** 2)),
                basis=row_tuples(vectors[:, ::-1][:, :ell].T),
                reach=radii[i],
            )
        )
    return replace(parts, parts=tuple(found))


@step(title="split")
def split(parts: RowParts, groups: tuple[tuple[FullCells, ...], ...]) -> RowParts:
    """Cut each part into the groups of its grid; a part with one group or none stays whole.

    Args:
        parts: parts after `look`.
        groups: groups of each part.
    """
    inner, made = [], []
    for part, own in zip(parts.parts, groups, strict=True):
        basis, center = np.array(part.basis), np.array(part.center)
        if len(own) < 2:
            inner.append(Cells((Frame.of(center, basis / part.reach),), (0.0,)))
            made.append(part)
            continue
        frames, offsets = [], []
        for group in own:
            middle = center + basis.T @ np.array(group.center)
            frames.append(Frame.of(middle, basis / math.sqrt(group.variance)))
            offsets.append(math.log(group.size) - len(basis) / 2 * math.log(group.variance))
            near = _RowPart(tuple((middle - part.reach).tolist()), tuple((middle + part.reach).tolist()))
            made.append(replace(near, size=group.size, center=tuple(middle.tolist()), variance=group.variance))
        inner.append(Cells(tuple(frames), tuple(offsets)))
    return RowParts(Refined(parts.regions, tuple(inner)), tuple(made))
