"""Regions that are cut out by balls: what groups of algorithms 6 and 9 are, for public and private rows alike."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View

Path = tuple[tuple[int, bool], ...]
"""Balls by number, and whether a record of the region lies inside: all of them must hold."""


@public_value
@dataclass(frozen=True)
class Cylinder:
    """{x: |frame(x)| <= radius}: a ball of R^d, or a cylinder over a ball in a subspace."""

    frame: Frame
    radius: float


@public_value
@dataclass(frozen=True)
class Balls:
    """One region for each path: the records that lie inside and outside of balls as the path says.

    Two paths must disagree about a ball, or the object cannot be built: a record lies inside it or outside, so it
    is in one region at most, which is what questions about partitions are priced for. A record with a cell, or a
    squared distance, that is not finite is in none.

    Raises:
        ValueError: two regions could hold the same record.
    """

    balls: tuple[Cylinder, ...]
    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        for number, path in enumerate(self.paths):
            for other in self.paths[:number]:
                if not any((ball, not inside) in path for ball, inside in other):
                    raise ValueError("two regions of balls could hold the same record")

    @property
    def n_regions(self) -> int:
        """How many regions there are."""
        return len(self.paths)

    def assign(self, view: View) -> np.ndarray:
        """The region of each record, -1 for none."""
        labels = np.full(view.block.shape[1], -1)
        sound = np.isfinite(np.ones(len(view.block)) @ view.block)
        holds: dict[tuple[int, bool], np.ndarray] = {}
        for number in sorted({ball for path in self.paths for ball, _ in path}):
            norms = view.mapped(self.balls[number].frame)[1]
            limit = self.balls[number].radius ** 2
            holds[number, True] = norms <= limit
            holds[number, False] = (norms > limit) & np.isfinite(norms)
        for region, path in enumerate(self.paths):
            labels[np.logical_and.reduce([sound, *(holds[side] for side in path)])] = region
        return labels

    def members(self, rows: np.ndarray) -> list[np.ndarray]:
        """Indices of the public `rows` (m, d), in their own units, in each region."""
        labels = self.assign(View(np.ascontiguousarray(rows.T)))
        return [np.flatnonzero(labels == region) for region in range(self.n_regions)]
