"""Where no public row is: a partition that shows what the public rows lack.

Like every partition it is fixed by public values and released answers, so a replaced record leaves at most one region
and enters at most one other.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pubpriv.data._checks import kind, numbers, size
from pubpriv.data.balls import Cylinder
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View, check_points
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class Uncovered:
    """Records that lie in a ball, if one is given, and beyond the least of `distances` from all of some public points.

    Region j holds those whose nearest point is beyond distance j and not beyond the next one. It is a function of the
    one record, to one region, so a record is in one of them at most. One that is near a point, outside of the ball, or
    whose squared norm or distance is not finite, is in none.

    Attributes:
        frame: public map into the space where distances are meant.
        points: (count, ell), in that space.
        distances: in that space, rising.
        ball: None: all of the space.

    Raises:
        InvalidInput: points that do not fit the frame, or distances that are no lengths or do not rise.
    """

    frame: Frame
    points: tuple[tuple[float, ...], ...]
    distances: tuple[float, ...]
    ball: Cylinder | None = None

    def __post_init__(self) -> None:
        check_points("the points of Uncovered", self.frame, self.points)
        numbers("the distances of Uncovered", self.distances)
        for distance in self.distances:
            size("each of the distances of Uncovered", distance)
        if any(low >= high for low, high in pairwise(self.distances)):
            raise InvalidInput("the distances of Uncovered must rise")
        kind("the ball of Uncovered", self.ball, Cylinder, type(None))

    def check(self, columns: int) -> None:
        """Check that both maps fit the columns."""
        self.frame.check(columns)
        if self.ball is not None:
            self.ball.frame.check(columns)

    @property
    def n_regions(self) -> int:
        """Count one region for each distance."""
        return len(self.distances)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        points = np.array(self.points, dtype=np.float64)
        return points, np.einsum("ij,ij->i", points, points)[:, None] / 2

    def assign(self, view: View) -> np.ndarray:
        """Return region of each record; none where a point is near."""
        points, half_norms = self._arrays
        z, norms = view.mapped(self.frame)
        # |z - p|^2 = |z|^2 + 2 (|p|^2 / 2 - p.z)
        halves = view.products(points, z)
        np.subtract(half_norms, halves, out=halves)
        gaps = norms + 2 * halves.min(axis=0)
        # how many distances it is beyond, less one: -1 near a point
        shell = np.searchsorted(np.array(self.distances) ** 2, np.where(np.isfinite(gaps), gaps, 0.0)) - 1
        if self.ball is None:
            return shell
        return np.where(view.norms(self.ball.frame) <= self.ball.radius**2, shell, -1)
