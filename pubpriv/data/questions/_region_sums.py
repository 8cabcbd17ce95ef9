"""Base class of questions about one sum per region: fields, checks, noise and units. Each proves its own distance."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from pubpriv.data.frames import GRID, grid_scale
from pubpriv.data.images import Images, inhabited
from pubpriv.data.questions.base import (
    SUM_FACTOR,
    OverRegions,
    Part,
    Totals,
    Values,
    check_noise,
    noise_for,
    squared_weight,
)
from pubpriv.data.regions import Partition, View
from pubpriv.data.score_frames import AnyFrame


@dataclass(frozen=True)
class RegionSums(OverRegions):
    """Sum over each region of one grid vector q per record, |q| at most R.

    Attributes:
        noise_scale: integer sd of every coordinate.
    """

    part: ClassVar[str]
    """Name of the one part."""

    reach: ClassVar[int]
    """Squared distance of neighbours' sums, all regions together, in units of R^2: proven by each class."""

    noise_scale: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_noise(type(self).__name__, self.noise_scale)

    @classmethod
    def priced(
        cls,
        partition: Partition,
        frames: tuple[AnyFrame, ...],
        radii: tuple[float, ...],
        squared_distance: Fraction,
    ) -> Self:
        """Sums whose price mu^2 is at most `squared_distance`."""
        return cls(partition, frames, radii, noise_for(squared_distance / (cls.reach * GRID * GRID), SUM_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """One coordinate per region and direction."""
        return {self.part: Part(sum(f.dimension for f in self.frames), SUM_FACTOR, self.noise_scale, GRID)}

    @property
    def squared_length(self) -> Fraction:
        """R^2 w^2: squared length of what a record adds to its region, at most."""
        return GRID * GRID * squared_weight(self.parts[self.part])

    @property
    def squared_distance(self) -> Fraction:
        """`reach` R^2 w^2."""
        return self.reach * self.squared_length

    def totals(self, view: View) -> Totals:
        """Sums, concatenated over regions."""
        labels = self.partition.assign(view)
        sums, some = [], inhabited(labels, len(self.frames))
        for region, (frame, radius) in enumerate(zip(self.frames, self.radii, strict=True)):
            if not some[region]:
                sums.append(np.zeros(frame.dimension))
                continue
            wanted = labels == region
            vectors = self.vectors(*view.picked(frame, wanted))
            sums.append(Images.of(*vectors, self.length(radius), view.weights_of(wanted)).sum())
        return {self.part: np.concatenate(sums).astype(np.int64)}

    def vectors(self, z: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vectors to clip, of records z (ell, count) with squared norms, and their squared norms; may overwrite z."""
        return z, norms

    def length(self, radius: float) -> float:
        """Return the length to which vectors are clipped, in the units of the sum, for a radius in the units of z."""
        return radius

    def values(self, noisy: Totals) -> Values:
        """Sums in their own units, concatenated over regions."""
        return {self.part: noisy[self.part] / self._steps}

    def noise(self) -> Values:
        """sd of each coordinate."""
        return {self.part: self.noise_scale / self._steps}

    @property
    def _steps(self) -> np.ndarray:
        """Grid steps per unit, by coordinate."""
        scales = [grid_scale(f.dimension, self.length(r)) for f, r in zip(self.frames, self.radii, strict=True)]
        return np.repeat([SUM_FACTOR * scale for scale in scales], [f.dimension for f in self.frames])
