"""Fourth moments of columns per region, from which the error of a second moment follows for rows of any law."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import squared_norms
from pubpriv.data.questions._region_sums import RegionSums
from pubpriv.errors import InvalidInput

_SMALLEST, _LARGEST = 1e-30, 1e30
"""Range of radii whose eighth power neither overflows nor underflows."""


@public_value
@dataclass(frozen=True)
class FourthMoments(RegionSums):
    """Sum over each region of q, the grid vector of (z_1^4, ..., z_ell^4) clipped to the length radius^4.

    Clipping is in proportion, as everywhere: u = (z_j^4) becomes u min(1, radius^4 / |u|). |u| <= |z|^4, so a record
    within the radius is never clipped.

    Sensitivity (replace-one), all regions together: write q for the old vector in region i and q' for the new one in
    region j, both of norm at most R and without a negative entry, since squares of floats have none and clipping,
    scaling and rounding keep the sign. If i = j one block changes by |q - q'|^2 = |q|^2 + |q'|^2 - 2 <q, q'> <= 2 R^2,
    because <q, q'> >= 0; if not, two blocks change, by |q|^2 + |q'|^2 <= 2 R^2. So 2 R^2. A record whose fourth
    powers, or their length, are not finite adds nothing.
    """

    part = "fourth"
    reach = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(_SMALLEST <= radius <= _LARGEST for radius in self.radii):
            raise InvalidInput(f"each radius of FourthMoments must lie between {_SMALLEST:g} and {_LARGEST:g}")

    def vectors(self, z: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002 - of z, not z^4
        """Take the fourth powers of z."""
        fourth = np.square(np.square(z, out=z), out=z)
        return fourth, squared_norms(fourth)

    def length(self, radius: float) -> float:
        """The fourth power of the radius: |u| <= |z|^4."""
        return radius**4
