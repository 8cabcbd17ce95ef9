"""The grid over the principal components of each part: full cells are refined, and groups of them counted.

Source: our own replacement for the terrific balls (lemma 4.2) of KSSU 2019, algorithm 1.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.questions import Counts
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.kssu._tree import FullCells, RowParts, heavy
from pubpriv.estimators.mixture.kssu.plan import MOST_CELLS
from pubpriv.estimators.steps import step

_COVERED = 0.6
"""Groups are used if they contain at least this share of the rows in full cells."""

_LOST = 0.4
"""A part is not refined further if full cells contain less than this share of its rows."""

_Cell = tuple[int, ...]


@public_value
@dataclass(frozen=True)
class PartGrid:
    """The state of the grids of all parts.

    Attributes:
        cuts: number of refinements so far; cells have a side of `reach` / 2^(cuts - 1).
        cells: for each part, the cells to ask about; none if the part is done.
        best: for each part, the groups at the refinement that showed most of them.
    """

    cuts: int
    cells: tuple[tuple[_Cell, ...], ...]
    best: tuple[tuple[FullCells, ...], ...]

    @classmethod
    def over(cls, parts: RowParts) -> "PartGrid":
        """Make grids of four cells in each direction, two on either side of the centre of each part."""
        ell = len(parts.parts[0].basis)
        return cls(1, (tuple(product((-2, -1, 0, 1), repeat=ell)),) * len(parts.parts), ((),) * len(parts.parts))

    @property
    def done(self) -> bool:
        """Whether nothing is left to ask."""
        return not any(self.cells)


@step(title="cut", private=True)
def cut(curator: Curator, parts: RowParts, grid: PartGrid, most: int, least: float, ask: Ask) -> PartGrid:
    """Count the cells of all parts, keep the groups if there are more than before, and refine the full cells.

    Args:
        curator: the run.
        parts: parts after `look`.
        grid: state before this cut.
        most: most groups that a part may have.
        least: least rows of a group.
        ask: ask of this cut.

    Privacy: one `Counts` over the grids of all parts, mu^2 <= ask.price.
    """
    scales = [2 ** (grid.cuts - 1) / part.reach for part in parts.parts]
    frames = tuple(
        Frame.of(np.array(part.center), np.array(part.basis) * scale)
        for part, scale in zip(parts.parts, scales, strict=True)
    )
    answer = curator.release(Counts.priced(GridCells(parts.regions, frames, grid.cells), ask.price), ask.label)
    full = heavy(answer.values["count"], float(answer.question.noise()["count"][0]))
    ends = np.cumsum([len(cells) for cells in grid.cells])[:-1]
    children: list[tuple[_Cell, ...]] = []
    best = []
    for part, cells, counts, chosen, scale, before in zip(
        parts.parts,
        grid.cells,
        np.split(answer.values["count"], ends),
        np.split(full, ends),
        scales,
        grid.best,
        strict=True,
    ):
        kept, weights = np.array(cells, dtype=np.int64).reshape(-1, len(part.basis))[chosen], counts[chosen]
        found = _groups(kept, weights, 1 / scale, least)
        fits = len(before) < len(found) <= most and sum(g.size for g in found) >= _COVERED * weights.sum()
        best.append(found if fits else before)
        going = len(kept) and weights.sum() >= _LOST * part.size
        children.append(_children(kept) if going else ())
    while sum(map(len, children)) > MOST_CELLS:  # too many cells: stop refining the parts that have most
        children[max(range(len(children)), key=lambda i: len(children[i]))] = ()
    return replace(grid, cuts=grid.cuts + 1, cells=tuple(children), best=tuple(best))


def _groups(cells: np.ndarray, weights: np.ndarray, side: float, least: float) -> tuple[FullCells, ...]:
    """Join cells (count, ell) that touch, corners included, into groups of at least `least` rows."""
    from scipy.sparse.csgraph import connected_components

    if not len(cells):
        return ()
    touch = (np.abs(cells[:, None] - cells[None]) <= 1).all(axis=2)
    number, labels = connected_components(touch, directed=False)
    found = []
    for label in range(number):
        own = labels == label
        size = float(weights[own].sum())
        if size >= least:
            places, shares = (cells[own] + 0.5) * side, weights[own] / size
            center = shares @ places
            # rows are assumed to be uniform in a cell
            variance = float((shares @ (places - center) ** 2).mean()) + side**2 / 12
            found.append(FullCells(tuple(center.tolist()), variance, size))
    return tuple(found)


def _children(cells: np.ndarray) -> tuple[_Cell, ...]:
    corners = np.array(list(product((0, 1), repeat=cells.shape[1])))
    return tuple(map(tuple, (2 * cells[:, None] + corners[None]).reshape(-1, cells.shape[1]).tolist()))
