"""Partition by the two public centers nearest to a record, and its place between them: shows whether two are one.

Like every partition it is fixed by public values and released answers, so a replaced record leaves at most one region
and enters at most one other.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View, check_points
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class PairBins:
    """Regions by a record's two nearest centers i < j and its place t along the line from i (t = -1) to j (t = 1).

    t = (|z - c_i|^2 - |z - c_j|^2) / |c_i - c_j|^2, cut into `bins` bins. The records of one pair fill a convex set
    (each condition on them is a half-space), and t is linear in z: if the density is log-concave, as a Gaussian's is,
    so is the density of t over these records (Prekopa), which therefore has no dip.

    Attributes:
        frame: public map into the space in which distances are measured.
        centers: (count, ell), in that space; at least two.
    """

    width: ClassVar[float] = 0.25
    """Length of a bin, in units of half the distance between the two centers."""

    inner: ClassVar[int] = 10
    """Bins between -1.25 and 1.25; the centers lie at -1 and 1, and one bin at either end takes what is beyond."""

    bins: ClassVar[int] = inner + 2

    frame: Frame
    centers: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_points("the centers of PairBins", self.frame, self.centers)
        if len(self.centers) < 2:
            raise InvalidInput("PairBins need two centers")

    def check(self, columns: int) -> None:
        """Check that the frame fits the columns."""
        self.frame.check(columns)

    @property
    def n_regions(self) -> int:
        """Count `bins` for each pair, in the order (0, 1), (0, 2), ..., (1, 2), ..."""
        count = len(self.centers)
        return count * (count - 1) // 2 * PairBins.bins

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Centers, half their squared norms, half the squared gap and first region of each ordered pair."""
        centers = np.array(self.centers, dtype=np.float64)
        gaps = ((centers[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2) / 2
        first = np.zeros(gaps.shape, dtype=np.int64)
        first[np.triu_indices(len(centers), 1)] = np.arange(self.n_regions // PairBins.bins) * PairBins.bins
        return centers, (centers**2).sum(axis=1)[:, None] / 2, np.where(gaps > 0, gaps, np.inf), first + first.T

    def assign(self, view: View) -> np.ndarray:
        """Return the region of each record, -1 if its norm or its place is not finite."""
        centers, half_norms, gaps, first = self._arrays
        z, norms = view.mapped(self.frame)
        # |z - c|^2 / 2 - |z|^2 / 2: the subtracted term does not change which center is nearer
        far = view.products(centers, z)
        np.subtract(half_norms, far, out=far)
        records = np.arange(far.shape[1])
        nearest = np.argmin(far, axis=0)
        away = far[nearest, records]
        far[nearest, records] = np.inf
        second = np.argmin(far, axis=0)
        t = (away - far[second, records]) / gaps[nearest, second] * np.where(nearest < second, 1.0, -1.0)
        place = np.floor((t / PairBins.width) + PairBins.inner / 2 + 1)
        counts = np.isfinite(norms) & np.isfinite(place)
        inner = np.clip(np.where(counts, place, 0.0), 0, PairBins.bins - 1).astype(np.int64)
        return np.where(counts, first[nearest, second] + inner, -1)
