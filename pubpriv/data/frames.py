"""From a record to a short vector of integers: map, clip, scale, round, check.

A frame is the public affine map z = W (x - c). `quantise` clips z to a radius, scales it to the grid,
rounds, and keeps the record iff the *integers* satisfy |q|^2 <= R^2. Whatever floating point did before,
a kept record is an integer vector in the ball of radius R and any other record is nothing at all: that is
the whole of what the sensitivity proofs in `questions` use.

Blocks are columns first, shape (d, length), so that every step runs along contiguous memory. The map is one
matrix product over a block of fixed shape; a record's image depends on that record and its place in the
block, never on its neighbours.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data.codec import public_value

GRID = 1 << 16
"""R: the radius of the ball of integers, per record."""


@public_value
@dataclass(frozen=True)
class Frame:
    """z = matrix @ (x - center), or scale * (x - center) where matrix is None.

    Attributes:
        center: c, d numbers in the table's own units.
        matrix: W, ell rows of d numbers, or None for an isotropic map.
        scale: factor of the isotropic map; 1.0 beside a matrix.
    """

    center: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...] | None = None
    scale: float = 1.0

    @classmethod
    def of(cls, center: np.ndarray, matrix: np.ndarray | None = None, scale: float = 1.0) -> "Frame":
        """The frame of arrays `center` (d,) and `matrix` (ell, d)."""
        rows = None if matrix is None else tuple(tuple(row) for row in np.asarray(matrix, float).tolist())
        return cls(tuple(np.asarray(center, float).tolist()), rows, float(scale))

    @property
    def dimension(self) -> int:
        """ell, the length of z."""
        return len(self.center) if self.matrix is None else len(self.matrix)

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray | None]:
        """(c as a column (d, 1), W (ell, d) or None), built once."""
        matrix = None if self.matrix is None else np.array(self.matrix, dtype=np.float64)
        return np.array(self.center, dtype=np.float64)[:, None], matrix

    def map(self, block: np.ndarray) -> np.ndarray:
        """z for a block (d, length): (ell, length). Odd cells give odd columns, silently."""
        center, matrix = self.arrays
        moved = block - center
        if matrix is not None:
            return matrix @ moved
        if self.scale != 1.0:
            moved *= self.scale
        return moved


def squared_norms(z: np.ndarray) -> np.ndarray:
    """|z|^2 of each column of z (ell, length)."""
    return np.einsum("ij,ij->j", z, z)


def grid_scale(dimension: int, radius: float) -> float:
    """Grid steps per unit of z: rounding adds at most sqrt(ell)/2 to a norm, and the scale pays for it."""
    return (GRID - math.sqrt(dimension) / 2 - 1.0) / radius


def quantise(z: np.ndarray, norms: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Integer vectors (as float64) of the columns of z, clipped to `radius`, and which of them count.

    Args:
        z: (ell, length); overwritten.
        norms: squared norms of its columns.
        radius: public clip radius, in the units of z.

    Returns:
        q (ell, length), and keep (length,) bool. Where keep holds, q is a vector of integers with |q| <= GRID.

    Exactness of the check: if every |q_j| <= GRID the sum of squares is an integer below ell * 2^32 < 2^53,
    hence exact; if some |q_j| is larger, or not finite, the float sum is larger than GRID^2, or NaN, since
    adding squares never makes a float sum smaller. So `keep` is the positive condition in exact arithmetic.
    A squared norm that overflowed is not finite, and its record is odd.
    """
    scale = grid_scale(z.shape[0], radius)
    factor = scale * np.minimum(1.0, radius / np.sqrt(norms))
    z *= factor
    q = np.rint(z, out=z)
    keep = (squared_norms(q) <= float(GRID * GRID)) & np.isfinite(norms)
    return q, keep
