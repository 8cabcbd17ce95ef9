"""Fourth moments of columns per region: how far a second moment itself may be off, for rows of any law."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import GRID, Frame, grid_scale, quantise, squared_norms
from pubpriv.data.questions.base import (
    SUM_FACTOR,
    Additive,
    Part,
    Totals,
    Values,
    check_columns,
    check_noise,
    check_regions,
    noise_for,
    squared_weight,
)
from pubpriv.data.regions import Partition, View
from pubpriv.errors import InvalidInput

_SMALLEST, _LARGEST = 1e-30, 1e30
"""Radii whose eighth power is a float."""


@public_value
@dataclass(frozen=True)
class FourthMoments(Additive):
    """Sum over each region of q, the grid vector of (z_1^4, ..., z_ell^4) clipped to the length radius^4.

    Clipping is in proportion, as everywhere: u = (z_j^4) becomes u min(1, radius^4 / |u|). |u| <= |z|^4, so a record
    within the radius is never clipped.

    Sensitivity (replace-one), all regions together: write q for the old vector in region i and q' for the new one in
    region j, both of norm at most R and without a negative entry, since squares of floats have none and clipping,
    scaling and rounding keep the sign. If i = j one block changes by |q - q'|^2 = |q|^2 + |q'|^2 - 2 <q, q'> <= 2 R^2,
    because <q, q'> >= 0; if not, two blocks change, by |q|^2 + |q'|^2 <= 2 R^2. So 2 R^2. A record whose fourth
    powers, or their length, are not finite adds nothing.
    """

    partition: Partition
    frames: tuple[Frame, ...]
    radii: tuple[float, ...]
    noise_scale: int

    def __post_init__(self) -> None:
        check_regions("FourthMoments", self.partition, self.frames, self.radii)
        if not all(_SMALLEST <= radius <= _LARGEST for radius in self.radii):
            raise InvalidInput(f"each radius of FourthMoments must lie between {_SMALLEST:g} and {_LARGEST:g}")
        check_noise("FourthMoments", self.noise_scale)

    def check(self, columns: int) -> None:
        """Partition and frames fit the columns."""
        check_columns(columns, self.partition, self.frames)

    @classmethod
    def priced(
        cls,
        partition: Partition,
        frames: tuple[Frame, ...],
        radii: tuple[float, ...],
        squared_distance: Fraction,
    ) -> "FourthMoments":
        """Fourth moments whose price mu^2 is at most `squared_distance`."""
        return cls(partition, frames, radii, noise_for(squared_distance / (2 * GRID * GRID), SUM_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """One coordinate per region and direction."""
        return {"fourth": Part(sum(f.dimension for f in self.frames), SUM_FACTOR, self.noise_scale, GRID)}

    @property
    def squared_length(self) -> Fraction:
        """R^2 w^2: of what a record adds to its region, at most."""
        return GRID * GRID * squared_weight(self.parts["fourth"])

    @property
    def squared_distance(self) -> Fraction:
        """2 R^2 w^2."""
        return 2 * self.squared_length

    def totals(self, view: View) -> Totals:
        """{"fourth": concatenated sums}."""
        labels = self.partition.assign(view)
        sums = []
        for region, (frame, radius) in enumerate(zip(self.frames, self.radii, strict=True)):
            z, _ = view.picked(frame, labels == region)
            fourth = np.square(np.square(z, out=z), out=z)
            q, _ = quantise(fourth, squared_norms(fourth), radius**4)
            sums.append(q.sum(axis=1))
        return {"fourth": np.concatenate(sums).astype(np.int64)}

    def values(self, noisy: Totals) -> Values:
        """Sums of z_j^4, concatenated over regions."""
        return {"fourth": noisy["fourth"] / self._steps}

    def noise(self) -> Values:
        """sd of each coordinate."""
        return {"fourth": self.noise_scale / self._steps}

    @property
    def _steps(self) -> np.ndarray:
        steps = [SUM_FACTOR * grid_scale(f.dimension, r**4) for f, r in zip(self.frames, self.radii, strict=True)]
        return np.repeat(steps, [f.dimension for f in self.frames])
