"""Test whether enough blocks agree, and weight the blocks.

Source: replaces lines 3 to 8 of algorithm 1 of Arbas, Ashtiani and Liaw 2023, which takes the first block that agrees
with most others (`_as_printed`).

The tested number is the h-index of the blocks' degrees: the largest h for which h blocks agree with at least h blocks
each, themselves included.

*Its sensitivity is 1.* Change one block. Every other block's degree moves by at most 1. From h blocks with degree h,
remove the changed one, or any one: the h - 1 others keep a degree of at least h - 1.

*Average.* A block of degree g has the weight clip((g - low) / ramp, 0, 1), low = floor(t / 2) + 2. Two blocks with
positive weight, in a table or in its neighbour, each agree with more than low blocks, so they share one that did not
change. If the h-index is at least `least` = low + ramp + 1, that many blocks have weight 1. Let W >= W' be the sums of
weights in two neighbouring tables, so W >= `least`. The normalised weight w_i / W of an unchanged block exceeds w_i' /
W' by at most (w_i - w_i')+ / W, and |w_i - w_i'| is at most 1 / ramp; the changed block's is at most 1 / W. So the two
averages differ by moving at most kappa = ((t - 1) / ramp + 1) / `least` of all weight.
"""

from dataclasses import dataclass

import numpy as np


def h_index(degrees: np.ndarray) -> int:
    """Find the largest h for which h of the degrees are at least h; one changed block moves it by 1 at most."""
    return int((np.sort(degrees)[::-1] >= np.arange(1, len(degrees) + 1)).sum())


@dataclass(frozen=True)
class Weighting:
    """Weights of blocks.

    Attributes:
        blocks: t.
        ramp: number of degrees from weight 0 to weight 1.
    """

    blocks: int
    ramp: int

    @property
    def low(self) -> int:
        """Largest degree with weight 0."""
        return self.blocks // 2 + 2

    @property
    def least(self) -> int:
        """h-index from which on the average is stable."""
        return self.low + self.ramp + 1

    @property
    def moved(self) -> float:
        """kappa: total variation between the weights of neighbours whose h-index is at least `least`."""
        return ((self.blocks - 1) / self.ramp + 1) / self.least

    def weights(self, degrees: np.ndarray) -> np.ndarray:
        """Compute the weights (t,) in [0, 1]."""
        return np.asarray(np.clip((degrees - self.low) / self.ramp, 0.0, 1.0))
