"""Partition of the places without public rows, which shows what the public rows lack.

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
    """Regions of records far from all of some public points, and in a ball if one is given.

    Region j has the records whose nearest point is beyond distance j and not beyond the next one. It depends on that
    record alone, so a record is in at most one region. A record is in no region if a point is nearer than the smallest
    distance, if it lies outside of the ball, or if its squared norm or distance is not finite.

    Attributes:
        frame: public map into the space in which distances are measured.
        points: (count, ell), in that space.
        distances: in that space, rising.
        ball: ball in which records count; None: all of the space.

    Raises:
        InvalidInput: points that do not fit the frame, or distances that are not positive or do not rise.
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
        """Return the region of each record, -1 for none."""
        points, half_norms = self._arrays
        z, norms = view.mapped(self.frame)
        # |z - p|^2 = |z|^2 + 2 (|p|^2 / 2 - p.z)
        halves = view.products(points, z)
        np.subtract(half_norms, halves, out=halves)
        gaps = norms + 2 * halves.min(axis=0)
        # number of distances that are exceeded, minus one: -1 near a point
        shell = np.searchsorted(np.array(self.distances) ** 2, np.where(np.isfinite(gaps), gaps, 0.0)) - 1
        if self.ball is None:
            return shell
        return np.where(view.norms(self.ball.frame) <= self.ball.radius**2, shell, -1)
