"""Complete a record's missing cells by a public Gaussian: E[x | observed cells], and what that leaves uncertain.

A frame F with z = W (x - c) stands for the law x ~ N(c, (W'W)^-1), under which z is standard. Let m be the missing
columns of a record, q in number, Lambda = W'W, and x0 the record with its missing cells at c. Then

- E[x_m | observed] = c_m - (Lambda_mm)^-1 (Lambda (x0 - c))_m, and Cov[x_m | observed] = (Lambda_mm)^-1;
- with Lambda_mm = L L', the columns of W_m L^-T are q orthonormal directions of z that nothing observed tells of.

*Function of that record.* Lambda (x0 - c) is one matrix product over a block of fixed shape, like the map of a frame.
All else is computed cell by cell, each operation a single rounding of numbers that belong to one record or to one
pattern of missing columns, in an order that depends on the pattern alone: factors of many patterns are computed side by
side, but by no library for batches of matrices. So neither the other records of a block nor the other patterns in it
change a bit (`placement` tries it). Nothing is kept from block to block: which patterns there are is private.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pubpriv.data.confined import Confined
from pubpriv.data.frames import GRID, Frame

_Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

MOST_COLUMNS = 1 << 10
"""Most columns of a table whose records are completed: up to there the margin of `Directions.bounds` is proven."""

_KEPT_COLUMNS = 16
"""Up to so many columns the factors of a block's patterns are kept until the block is done. With more they would take
too much memory, and are computed each time."""

_CELLS = 1 << 18
"""Cells of factors that are computed at once: they fit in a processor's cache."""

_MARGIN = 2.0**-30
"""By what part a bound is raised above its float; see `Directions.bounds`."""


@dataclass(frozen=True, eq=False, repr=False)
class _Patterns(Confined):
    """Some patterns of a block that miss equally many columns.

    Attributes:
        numbers: (k,) numbers of the patterns in the block.
        columns: (k, q) their missing columns, rising.
        precision: Lambda (d, d).
    """

    numbers: np.ndarray
    columns: np.ndarray
    precision: np.ndarray

    def inverse_factors(self) -> np.ndarray:
        """Return L^-1 (k, q, q) of each pattern, Lambda_mm = L L'; NaN where rounding leaves Lambda_mm indefinite."""
        columns = self.columns
        rest = self.precision[columns[:, :, None], columns[:, None, :]]
        inverse = np.zeros(rest.shape)
        inverse[:, range(columns.shape[1]), range(columns.shape[1])] = 1.0
        for t in range(columns.shape[1]):
            pivot = np.sqrt(rest[:, t, t])[:, None]
            column = rest[:, t + 1 :, t] / pivot
            inverse[:, t, : t + 1] /= pivot
            inverse[:, t + 1 :, : t + 1] -= column[:, :, None] * inverse[:, None, t, : t + 1]
            rest[:, t + 1 :, t + 1 :] -= column[:, :, None] * column[:, None, :]
        return inverse


@dataclass(frozen=True, eq=False, repr=False)
class Completion(Confined):
    """A block whose incomplete records were completed, with the pattern of missing columns of each.

    Attributes:
        block: (d, length); records without any cell stay as they were.
        at: (k,) places of the records that were completed.
        pattern: (k,) number of each one's pattern in this block.
        missing: (patterns, d) which columns each pattern lacks.
        factors: patterns that miss equally many columns, and their L^-1 or None if these are computed when needed.
    """

    block: np.ndarray
    at: np.ndarray
    pattern: np.ndarray
    missing: np.ndarray
    factors: tuple[tuple[_Patterns, np.ndarray | None], ...]

    @classmethod
    def of(cls, block: np.ndarray, fill: Frame, product: _Product, out: np.ndarray) -> "Completion | None":
        """Complete a block (d, length) into `out`; None if no record lacks some cells, but not all.

        Args:
            block: is not changed.
            fill: F, whose Gaussian completes the records.
            product: multiplies (d, d) by (d, length).
            out: (d, length).
        """
        lacking = np.isnan(block)
        lacks = lacking.any(axis=0)
        if not lacks.any():
            return None
        at = np.flatnonzero(lacks & ~lacking.all(axis=0))
        if not len(at):
            return None
        missing, pattern = _distinct(lacking[:, at])
        center, matrix = fill.dense()
        precision = matrix.T @ matrix
        np.subtract(block, center[:, None], out=out)
        np.copyto(out, 0.0, where=lacking)
        pulled = product(precision, out)
        np.copyto(out, block)
        factors = tuple(_factored(_sorted(missing, precision), len(block)))
        made = cls(out, at, pattern, missing, factors)
        made._fill(pulled, center)
        return made

    def _fill(self, pulled: np.ndarray, center: np.ndarray) -> None:
        """Write c_m - L^-T L^-1 (Lambda (x0 - c))_m into the missing cells."""
        for group, inverse in self._each_factor():
            places, which = _members(self.pattern, group.numbers, len(self.missing))
            cells, at = group.columns[which], self.at[places][:, None]
            force = pulled[cells, at]
            half = np.zeros(force.shape)
            for t in range(force.shape[1]):
                half += inverse[which, :, t] * force[:, t, None]
            filled = np.zeros(force.shape)
            for t in range(force.shape[1]):
                filled += inverse[which, t, :] * half[:, t, None]
            self.block[cells, at] = center[cells] - filled

    def _each_factor(self) -> Iterator[tuple[_Patterns, np.ndarray]]:
        for group, inverse in self.factors:
            yield group, group.inverse_factors() if inverse is None else inverse

    def directions(self, frame: Frame, factor: float) -> "Directions":
        """Return integer directions that the records leave uncertain, W_m L^-T times `factor`, with W of `frame`."""
        return Directions(self, frame.dense()[1], factor)


class Directions(Confined):
    """Integer vectors v_s of each pattern, one for each missing column, and a bound of |sum v_s v_s'|_F.

    Args:
        completion: the block.
        matrix: W (ell, d).
        factor: by which W_m L^-T is multiplied before it is rounded.
    """

    def __init__(self, completion: Completion, matrix: np.ndarray, factor: float) -> None:
        self._completion, self._matrix, self._factor = completion, matrix, factor
        keep = completion.block.shape[0] <= _KEPT_COLUMNS
        self._vectors = list(self._computed()) if keep else None
        self.bounds = np.full(len(completion.missing), np.nan)
        for numbers, vectors in self._each():
            self.bounds[numbers] = bounds_of(vectors)

    def _each(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._computed() if self._vectors is None else iter(self._vectors)

    def _computed(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield numbers (k,) of patterns, and their vectors (k, ell, q); zero where they exceed any room."""
        for group, inverse in self._completion._each_factor():
            columns = self._matrix.T[group.columns]  # (k, q, ell)
            vectors = np.zeros((len(columns), self._matrix.shape[0], columns.shape[1]))
            for t in range(columns.shape[1]):
                vectors += columns[:, t, :, None] * inverse[:, None, :, t]
            vectors *= self._factor
            yield group.numbers, np.rint(vectors, out=vectors)

    def weighed(self, counts: np.ndarray) -> np.ndarray:
        """Return the sum over patterns of counts (patterns,) times sum_s v_s v_s', (ell, ell).

        Counts of patterns whose bound exceeds R^2 must be 0. For the others all partial sums are integers of at most
        2^53, as in `images`, and so exact: |sum v_i v_j| <= B <= R^2 for each pattern, also of some of its vectors.
        """
        total = np.zeros((self._matrix.shape[0],) * 2)
        for numbers, vectors in self._each():
            held = counts[numbers]
            some = held > 0
            if some.any():
                flat = vectors[some].transpose(1, 0, 2).reshape(len(total), -1)
                total += (flat * np.repeat(held[some], vectors.shape[2])) @ flat.T
        return total


def bounds_of(vectors: np.ndarray) -> np.ndarray:
    """Return an integer B >= |V V'|_F for each matrix V of integers (k, ell, q), whenever that is at most R^2.

    |V V'|_F = |G|_F with G = V'V. If an entry of V exceeds R in size or is not finite, a diagonal entry of the float G
    exceeds R^2 or is NaN, as a float sum of squares never falls, and so does B: no record counts. Otherwise the entries
    of G are integers of at most ell 2^32 <= 2^42, exact in any order. The float sum of q^2 squares, their root and its
    product are below the true ones by a part of at most (q^2 / 2 + 3) 2^-53 < 2^-33 for q <= 2^10, which 1 + 2^-30
    outweighs; rounding up to an integer only raises it. Squares are added cell by cell: a sum by a library might round
    otherwise beside other matrices, and so decide whether a record counts.
    """
    gram = vectors.transpose(0, 2, 1) @ vectors
    by_column, total = np.zeros(gram.shape[:2]), np.zeros(len(gram))
    for row in range(gram.shape[1]):
        by_column += gram[:, row] * gram[:, row]
    for column in range(gram.shape[1]):
        total += by_column[:, column]
    return np.asarray(np.ceil(np.sqrt(total) * (1 + _MARGIN)))


def _distinct(lacking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct columns of `lacking` (d, k) as rows (patterns, d), and the number of each column's, (k,)."""
    _, first, pattern = np.unique(packed_columns(lacking), return_index=True, return_inverse=True)
    return lacking[:, first].T, pattern.reshape(-1)


def packed_columns(lacking: np.ndarray) -> np.ndarray:
    """Return the bits of each column of booleans (d, k) as one value, (k,)."""
    packed = np.ascontiguousarray(np.packbits(lacking, axis=0).T)
    return np.asarray(packed.view(np.dtype((np.void, packed.shape[1])))[:, 0])


def _sorted(missing: np.ndarray, precision: np.ndarray) -> Iterator[_Patterns]:
    """Yield the patterns by how many columns they lack, a limited number at once."""
    sizes = missing.sum(axis=1)
    for size in np.flatnonzero(np.bincount(sizes)).tolist():
        numbers = np.flatnonzero(sizes == size)
        columns = np.nonzero(missing[numbers])[1].reshape(len(numbers), size)
        together = max(1, _CELLS // (missing.shape[1] * size))
        for start in range(0, len(numbers), together):
            part = slice(start, start + together)
            yield _Patterns(numbers[part], columns[part], precision)


def _factored(groups: Iterator[_Patterns], columns: int) -> Iterator[tuple[_Patterns, np.ndarray | None]]:
    for group in groups:
        yield group, group.inverse_factors() if columns <= _KEPT_COLUMNS else None


def _members(pattern: np.ndarray, numbers: np.ndarray, patterns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which records (k,) have one of these patterns, and the place of each one's among them."""
    place = np.full(patterns, -1)
    place[numbers] = np.arange(len(numbers))
    which = place[pattern]
    inside = np.flatnonzero(which >= 0)
    return inside, which[inside]


def room_left(bounds: np.ndarray) -> np.ndarray:
    """Return what a squared norm may be at most for each bound, R^2 - B; NaN where B is."""
    return float(GRID * GRID) - bounds
