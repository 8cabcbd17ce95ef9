"""Regions cut out by balls: the groups of `mixture.bks`, for public and private rows alike."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data._checks import LARGEST, flag, integer, kind, kinds, number
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

Path = tuple[tuple[int, bool], ...]
"""Conditions (number of a ball, whether the record lies inside), all of which a record of the region meets."""


@public_value
@dataclass(frozen=True)
class Cylinder:
    """{x: |frame(x)| <= radius}: a ball of R^d, or a cylinder over a ball in a subspace."""

    frame: Frame
    radius: float

    def __post_init__(self) -> None:
        kind("the frame of a ball", self.frame, Frame)
        number("the radius of a ball", self.radius)
        if not 0 <= self.radius <= LARGEST:
            raise InvalidInput(f"the radius of a ball must be between 0 and {LARGEST:g}")


@public_value
@dataclass(frozen=True)
class Balls:
    """One region for each path: the records that lie inside and outside of the balls as the path says.

    Any two paths must disagree about some ball, or the object cannot be built. A record lies either inside or outside
    that ball, so it is in one region at most, as prices of questions about partitions require. A record with a cell or
    squared distance that is not finite is in no region.

    Raises:
        InvalidInput: two regions could hold the same record, or a path names a ball that is not there.
    """

    balls: tuple[Cylinder, ...]
    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        kind("the balls of Balls", self.balls, tuple)
        for ball in self.balls:
            kind("each of the balls of Balls", ball, Cylinder)
        kinds("the paths of Balls", self.paths, tuple)
        for position, path in enumerate(self.paths):
            _check_path(path, len(self.balls))
            for other in self.paths[:position]:
                if not any((ball, not inside) in path for ball, inside in other):
                    raise InvalidInput("two regions of balls could hold the same record")

    @property
    def n_regions(self) -> int:
        """How many regions there are."""
        return len(self.paths)

    def check(self, columns: int) -> None:
        """Check that every ball's frame fits the columns."""
        for ball in self.balls:
            ball.frame.check(columns)

    def assign(self, view: View) -> np.ndarray:
        """Return the region of each record, -1 for none."""
        labels = np.full(view.block.shape[1], -1)
        sound = np.isfinite(np.ones(len(view.block)) @ view.block)
        holds: dict[tuple[int, bool], np.ndarray] = {}
        for ball in sorted({ball for path in self.paths for ball, _ in path}):
            norms = view.norms(self.balls[ball].frame)
            limit = self.balls[ball].radius ** 2
            holds[ball, True] = norms <= limit
            holds[ball, False] = (norms > limit) & np.isfinite(norms)
        for region, path in enumerate(self.paths):
            labels[np.logical_and.reduce([sound, *(holds[side] for side in path)])] = region
        return labels

    def members(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return for each region the indices of the public `rows` (m, d) in it; rows are in their own units."""
        labels = self.assign(View(np.ascontiguousarray(rows.T)))
        return [np.flatnonzero(labels == region) for region in range(self.n_regions)]


def _check_path(path: Path, balls: int) -> None:
    """Check that each step of a path is the number of an existing ball, and a flag."""
    for side in path:
        kind("each side of a path of Balls", side, tuple)
        if len(side) != 2:
            raise InvalidInput("each side of a path of Balls is the number of a ball, and whether inside")
        integer("the number of a ball in a path", side[0], 0)
        flag("the side of a ball in a path", side[1])
        if side[0] >= balls:
            raise InvalidInput(f"a path of Balls names ball {side[0]}, but there are {balls}")
