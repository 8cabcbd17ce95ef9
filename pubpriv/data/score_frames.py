"""Score rows of a regression: the map whose sum is a Newton step, and whose second moment is the meat of a sandwich."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data._checks import kind
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame


@public_value
@dataclass(frozen=True)
class ScoreFrame:
    """z = (r, r w_1, ..., r w_(ell-1)), where (r, w) are the ell directions of `inner`.

    With r the residual of a row under public coefficients and w its regressors in standard coordinates, z is the row's
    score: the gradient of half its squared residual, but for the sign.

    Sensitivity: a question uses no more of a frame than that a record's image is a function of the record, its place in
    a block and public values. Here it is that of `inner`, one matrix product, and then one correctly rounded product of
    two of the record's own numbers for each direction. Whatever these are, `quantise` keeps an integer vector in the
    ball or drops the record: a residual of 1e200 beside a regressor of 1e200 has an infinite length and is dropped. So
    each proof in `questions` holds word for word.

    Attributes:
        inner: the map to residual and regressors, with a matrix.

    Raises:
        InvalidInput: no frame.
    """

    inner: Frame

    def __post_init__(self) -> None:
        kind("the inner frame of a ScoreFrame", self.inner, Frame)

    @cached_property
    def _hash(self) -> int:
        return hash(("ScoreFrame", self.inner))

    def __hash__(self) -> int:
        """Hash the numbers once; see `Frame`."""
        return self._hash

    def check(self, columns: int) -> None:
        """Check that the inner frame fits the columns.

        Raises:
            InvalidInput: it does not.
        """
        self.inner.check(columns)

    @property
    def center(self) -> tuple[float, ...]:
        """c of the inner frame, d numbers: a record whose score is 0."""
        return self.inner.center

    @property
    def dimension(self) -> int:
        """ell, the length of z: one for the intercept, whose regressor is 1, and one for each w."""
        return self.inner.dimension

    def map(self, block: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Return z for a block (d, length), written to `out` (ell, length)."""
        self.inner.map(block, out)
        out[1:] *= out[0]
        return out

    def slopes(self, records: np.ndarray) -> np.ndarray:
        """Return the derivatives (ell, d, count) of z at `records` (d, count), for trials with public records."""
        center, matrix = self.inner.dense()
        r, *w = matrix @ (records - center[:, None])
        beside = [matrix[0][:, None] * own + r * along[:, None] for own, along in zip(w, matrix[1:], strict=True)]
        return np.stack([np.broadcast_to(matrix[0][:, None], records.shape), *beside])


AnyFrame = Frame | ScoreFrame
"""What maps a record to a vector, in the sums of regions and in the lengths of shells."""

FRAMES = (Frame, ScoreFrame)
"""The closed list of these maps."""
