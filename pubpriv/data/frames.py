"""Turn a record into a short vector of integers: map, clip, scale, round, check.

A frame is the public affine map z = W (x - c). `quantise` clips z to a radius, scales it to the grid,
rounds, and keeps the record iff the *integers* satisfy |q|^2 <= R^2. Whatever floating point did before,
a kept record is an integer vector in the ball of radius R and any other record adds nothing: the sensitivity
proofs in `questions` use only this.

Blocks are columns first, shape (d, length), so that every step runs along contiguous memory. The map is one
matrix product over a block of fixed shape; a record's image depends on that record and its place in the
block, never on other records.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data._checks import kind, numbers
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.errors import InvalidInput

GRID = 1 << 16
"""R: radius of the ball of integers in which each record's vector lies."""

_MOST_DIRECTIONS = 1 << 20
"""Most directions of a frame: sums of so many squares of grid integers are exact in a float."""

_WHOLE = 64
"""A number of columns that fills whole vectors on any processor, even in unrolled loops."""


@public_value
@dataclass(frozen=True)
class Frame:
    """z = matrix @ (x - center), or diagonal * (x - center) if matrix is None.

    Attributes:
        center: c, d numbers in the table's own units.
        matrix: W, ell rows of d numbers, or None.
        diagonal: d factors if matrix is None; None if they are all 1.

    Raises:
        InvalidInput: lengths that do not match, or numbers that are not finite.
    """

    center: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...] | None = None
    diagonal: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        numbers("the center of a frame", self.center)
        if self.matrix is not None and self.diagonal is not None:
            raise InvalidInput("a frame has a matrix or a diagonal, not both")
        if self.diagonal is not None:
            numbers("the diagonal of a frame", self.diagonal, len(self.center))
        if self.matrix is not None:
            kind("the matrix of a frame", self.matrix, tuple)
            for row in self.matrix:
                numbers("each row of the matrix of a frame", row, len(self.center))
        if not 0 < self.dimension <= _MOST_DIRECTIONS:
            raise InvalidInput(f"a frame has 1 to {_MOST_DIRECTIONS} directions")

    @cached_property
    def _hash(self) -> int:
        return hash((self.center, self.matrix or (), self.diagonal or ()))  # equal in all processes, unlike hash(None)

    def __hash__(self) -> int:
        """Hash the numbers once: there are thousands, and each block is looked up by its frame."""
        return self._hash

    def check(self, columns: int) -> None:
        """Check that the frame can map records with this number of columns.

        Raises:
            InvalidInput: it maps records of another length, or to more directions than there are columns. The images
                of some records are copied, so with a wide frame those records would decide whether memory suffices.
        """
        if len(self.center) != columns:
            raise InvalidInput(f"a frame maps {len(self.center)} columns, but the table has {columns}")
        if self.dimension > columns:
            raise InvalidInput(f"a frame has {self.dimension} directions, but the table has {columns} columns")

    @classmethod
    def of(cls, center: np.ndarray, matrix: np.ndarray | None = None) -> "Frame":
        """Return the frame of arrays `center` (d,) and `matrix` (ell, d); a diagonal matrix is kept as its diagonal."""
        origin = tuple(np.asarray(center, float).tolist())
        if matrix is None:
            return cls(origin)
        table = np.asarray(matrix, float)
        if table.shape[0] == table.shape[1] and not (table - np.diag(np.diag(table))).any():
            return cls(origin, None, tuple(np.diag(table).tolist()))
        return cls(origin, row_tuples(table))

    @property
    def dimension(self) -> int:
        """ell, the length of z."""
        return len(self.center) if self.matrix is None else len(self.matrix)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        matrix = None if self.matrix is None else np.array(self.matrix, dtype=np.float64)
        diagonal = None if self.diagonal is None else np.array(self.diagonal, dtype=np.float64)[:, None]
        return np.array(self.center, dtype=np.float64)[:, None], matrix, diagonal

    @cached_property
    def _moved(self) -> np.ndarray:
        """W c, (ell, 1)."""
        center, matrix, _ = self._arrays
        return np.asarray(matrix @ center)

    def slopes(self, records: np.ndarray) -> np.ndarray:
        """Return the derivatives (ell, d, count) of z at `records` (d, count), for trials with public records."""
        return np.broadcast_to(self.dense()[1][:, :, None], (self.dimension, *records.shape))

    def dense(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (c (d,), W (ell, d)) as arrays."""
        center, matrix, diagonal = self._arrays
        if matrix is None:
            matrix = np.eye(len(center)) if diagonal is None else np.diag(diagonal[:, 0])
        return center[:, 0], matrix

    def map(self, block: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Return z for a block (d, length), written to `out` (ell, length). Cells that are not finite raise no warning.

        W x - W c loses no more to rounding than the cells of x have lost already, and saves a pass over them. Most
        zeros of a triangular matrix are skipped.
        """
        matrix = self._arrays[1]
        if matrix is None:
            return self.map_cells(block, out)
        half = self._halved
        np.matmul(matrix[half:], block, out=out[half:])
        if half:
            np.matmul(matrix[:half, :half], block[:half], out=out[:half])
            odd = ~np.isfinite(out[-1])  # only the last row depends on all cells of a record
            if odd.any():
                out[:half, odd] = np.nan
        out -= self._moved
        return out

    @cached_property
    def _halved(self) -> int:
        """Number h of upper rows that are zero after the first h columns, in a triangular matrix; 0 for others."""
        matrix = self._arrays[1]
        triangular = matrix is not None and matrix.shape[0] == matrix.shape[1] and not np.triu(matrix, 1).any()
        return self.dimension // 2 if triangular else 0

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """Shapes (rows, columns) of the matrices by which blocks are multiplied."""
        if self.matrix is None:
            return ()
        half = self._halved
        upper = ((half, half),) if half else ()
        return (*upper, (self.dimension - half, len(self.center)))

    def map_cells(self, cells: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Return z for `cells` (d, any number), for a frame without a matrix: one cell at a time."""
        center, _, diagonal = self._arrays
        np.subtract(cells, center, out=out)
        if diagonal is not None:
            out *= diagonal
        return out


def squared_norms(z: np.ndarray) -> np.ndarray:
    """Sum the squares of each column of z (ell, length), with bits that do not depend on other columns or their number.

    NumPy sums whole vectors of columns in one way, and the rest of a row, or a single column, perhaps in another: with
    a fused product and sum on some processors, or in another order. So columns that do not fill a whole vector are
    padded with zeros, and each column is part of a whole vector wherever it is.
    """
    ell, length = z.shape
    norms = np.empty(length)
    whole = length - length % _WHOLE
    if whole:
        norms[:whole] = np.einsum("ij,ij->j", z[:, :whole], z[:, :whole])
    if whole < length:
        rest = np.zeros((ell, _WHOLE))
        rest[:, : length - whole] = z[:, whole:]
        norms[whole:] = np.einsum("ij,ij->j", rest, rest)[: length - whole]
    return norms


def grid_scale(dimension: int, radius: float) -> float:
    """Return grid steps per unit of z. Rounding adds at most sqrt(ell)/2 to a norm; the scale leaves room for that."""
    return (GRID - math.sqrt(dimension) / 2 - 1.0) / radius


def quantise(
    z: np.ndarray,
    norms: np.ndarray,
    radius: float,
    parts: np.ndarray | float = 1.0,
    room: np.ndarray | float = float(GRID * GRID),
) -> tuple[np.ndarray, np.ndarray]:
    """Return integer vectors (as float64) of the columns of z, clipped to `radius`; zero if a column does not count.

    Args:
        z: (ell, count); overwritten.
        norms: squared norms of its columns.
        radius: public clip radius, in the units of z.
        parts: (count,) part of the radius to which a column is clipped; or one for all.
        room: (count,) integers of at most GRID^2 as floats, or NaN: what a squared norm may be; or one for all.

    Returns:
        q (ell, count) of integers with |q|^2 <= room <= GRID^2 in every column, and which columns count (count,).

    Every operation on z is a single rounding of one cell, so a column's result does not depend on the others.

    Exactness of the check: if every |q_j| <= GRID the sum of squares is an integer of at most ell * 2^32 <= 2^52,
    hence exact in any order, fused or not; if some |q_j| is larger, or not finite, the float sum is larger than
    GRID^2, or NaN, since adding squares never makes a float sum smaller. So `keep` is the positive condition in
    exact arithmetic, with any room up to GRID^2. A squared norm that overflowed is not finite, and its record does not
    count.
    """
    z *= grid_scale(z.shape[0], radius)
    radii = np.multiply(radius, parts)
    beyond = norms > radii * radii
    if beyond.any():  # factors of 1 change no bit, and multiplying every column is faster than picking some
        z *= np.where(beyond, radii / np.sqrt(norms), 1.0)
    q = np.rint(z, out=z)
    keep = (np.einsum("ij,ij->j", q, q) <= room) & np.isfinite(norms)
    if not keep.all():
        np.copyto(q, 0.0, where=~keep)
    return q, keep
