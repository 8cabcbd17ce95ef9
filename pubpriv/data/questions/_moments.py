"""Joint releases of count, sum and second moment per region: the workhorses of every estimator.

Both questions place phi(q) in the block of the record's region and are proven by one kernel argument. For
records with images q, q' in the same region the squared distance is K(q,q) + K(q',q') - 2 K(q,q'), where
K(q,q') = <phi(q), phi(q')>; in different regions, or where one of the two is nowhere, it is at most
K(q,q) + K(q',q'). K is a polynomial in inner products of vectors of norm at most R, so
K(q,q) <= f(R^2) with f(s) = wN^2 + wS^2 s + w2^2 s^2, and only a lower bound of K(q,q') is needed.

The last regions may have no frame. Only their records are counted: this is the answer for any frames there, without
some coordinates, which are neither summed nor released, so the same bounds hold.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import ClassVar, Self

import numpy as np

from pubpriv.data._checks import integer, kind
from pubpriv.data.codec import public_value
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import GRID, grid_scale
from pubpriv.data.images import Images, counts_of, inhabited
from pubpriv.data.questions.base import (
    COUNT_FACTOR,
    SUM_FACTOR,
    OverRegions,
    Part,
    Totals,
    Values,
    check_noise,
    noise_for,
    root_up,
    squared_weight,
)
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Partition, View
from pubpriv.data.score_frames import AnyFrame
from pubpriv.errors import InvalidInput

_Shares = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class _Joint(OverRegions):
    """Count, sum and a second part per region, of the same checked q; for regions without a frame only the count.

    Attributes:
        noise_scales: integer sds of the three.
    """

    counts_bare = True

    least: ClassVar[int]
    """Smallest noise scale of a count or a sum; 0 if it may be left out."""

    noise_scales: tuple[int, int, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_scales(type(self).__name__, self.noise_scales, self.least)
        object.__setattr__(self, "frames", _shared_frames(self.frames, self.partition))

    @classmethod
    def priced(
        cls,
        partition: Partition,
        frames: tuple[AnyFrame, ...],
        radii: tuple[float, ...],
        squared_distance: Fraction,
        shares: _Shares,
    ) -> Self:
        """The question whose price mu^2 is at most `squared_distance`, split over (count, sum, second part).

        The shares must satisfy 4 share_N share_2 >= share_S^2, so that nothing is lost to K's lower bound.
        """
        return cls(partition, frames, radii, _noise_of(cls.__name__, squared_distance, shares))

    def _bare_counts(self, labels: np.ndarray, view: View, grain: int) -> np.ndarray:
        """Counts of the regions that have no frame, in grains."""
        framed, regions = len(self.frames), self.partition.n_regions
        if framed == regions:
            return np.zeros(0, dtype=np.int64)
        return counts_of(labels, regions, view.weights)[framed:] * grain

    def _images(self, view: View, labels: np.ndarray, shares: np.ndarray | None) -> Iterator[Images | None]:
        """Yield the weighted images of each region that has a frame; None where no record adds any."""
        some = inhabited(labels, len(self.frames)) if shares is None else np.asarray(shares.any(axis=1))
        wanted: np.ndarray
        for region, (frame, radius) in enumerate(zip(self.frames, self.radii, strict=True)):
            if not some[region]:
                yield None
                continue
            wanted = labels == region if shares is None else shares[region] > 0
            weights = view.weights_of(wanted)
            if shares is not None:
                own = shares[region, wanted]
                weights = own if weights is None else own * weights
            yield Images.of(*view.picked(frame, wanted), radius, weights)

    def totals(self, view: View) -> Totals:
        """Return exact totals of the records of each region."""
        return self.weighed(view, self.partition.assign(view))

    @abstractmethod
    def weighed(self, view: View, labels: np.ndarray, shares: np.ndarray | None = None, grain: int = 1) -> Totals:
        """Return exact totals of records in given regions, or in shares of all of them, in units of 1 / `grain`.

        Args:
            view: a block.
            labels: region of each record, -1 for none.
            shares: integers (framed regions, length), by which each record adds to each region; None: 1 to its own.
            grain: weight of a whole record.
        """


@public_value
@dataclass(frozen=True)
class Moments(_Joint):
    """Count, sum of q and sum of |q|^2 per region, of the same checked q.

    Sensitivity (replace-one): phi(q) = (wN, wS q, wQ |q|^2), so K(q,q') = wN^2 + wS^2 u + wQ^2 s s' with
    u = <q,q'> >= -sqrt(s s'), s = |q|^2, s' = |q'|^2 in [0, R^2]. With t = sqrt(s s') in [0, R^2],
    K >= wN^2 - wS^2 t + wQ^2 t^2, whose minimum wN^2 - wS^4 / (4 wQ^2) is not negative iff
    2 wN wQ >= wS^2. Under that condition, checked in integers at construction, the squared distance is at most
    2 (wN^2 + wS^2 R^2 + wQ^2 R^4) in either case.

    Attributes:
        partition: regions; frames and radii are theirs, in order.
        noise_scales: integer sds of the count, sum and squared-norm parts.
    """

    least = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        n, s, q = (squared_weight(part) for part in self.parts.values())
        if 4 * n * q < s * s:
            raise InvalidInput("Moments need 2 wN wQ >= wS^2: give the sum a smaller share of the price")

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """A count for each region; for regions with frames also sums, concatenated, and squared norms."""
        size = sum(f.dimension for f in self.frames)
        count, total, square = self.noise_scales
        return {
            "count": Part(self.partition.n_regions, COUNT_FACTOR, count, 1),
            "sum": Part(size, SUM_FACTOR, total, GRID),
            "square": Part(len(self.frames), 1, square, GRID * GRID),
        }

    @property
    def squared_length(self) -> Fraction:
        """K(q,q) = wN^2 + wS^2 R^2 + wQ^2 R^4: squared length of what a record adds to its region, at most."""
        n, s, q = (squared_weight(part) for part in self.parts.values())
        return n + s * GRID**2 + q * GRID**4

    @property
    def squared_distance(self) -> Fraction:
        """2 (wN^2 + wS^2 R^2 + wQ^2 R^4)."""
        return 2 * self.squared_length

    def weighed(self, view: View, labels: np.ndarray, shares: np.ndarray | None = None, grain: int = 1) -> Totals:
        """{"count": (regions,), "sum": concatenated, "square": (k,)}, with k regions that have frames."""
        count, square = np.zeros(len(self.frames)), np.zeros(len(self.frames))
        sums = [np.zeros(frame.dimension) for frame in self.frames]
        for region, images in enumerate(self._images(view, labels, shares)):
            if images is not None:
                count[region], sums[region], square[region] = images.count(), images.sum(), images.square()
        return {
            "count": np.concatenate([count, self._bare_counts(labels, view, grain)]).astype(np.int64),
            "sum": np.concatenate(sums).astype(np.int64),
            "square": square.astype(np.int64),
        }

    def values(self, noisy: Totals) -> Values:
        """Counts (regions,), sums of z (concatenated over regions with frames), sums of |z|^2 (k,)."""
        steps, repeated = self._steps
        return {
            "count": noisy["count"] / COUNT_FACTOR,
            "sum": noisy["sum"] / (SUM_FACTOR * repeated),
            "square": noisy["square"] / steps**2,
        }

    def noise(self) -> Values:
        """sds of counts (1,), of each coordinate of the sums, and of squared norms (k,)."""
        steps, repeated = self._steps
        count, total, square = self.noise_scales
        return {
            "count": np.array([count / COUNT_FACTOR]),
            "sum": total / (SUM_FACTOR * repeated),
            "square": square / steps**2,
        }

    @property
    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Grid steps per unit of z, by region and by coordinate of the concatenated sums."""
        steps = np.array([grid_scale(f.dimension, r) for f, r in zip(self.frames, self.radii, strict=True)])
        return steps, np.repeat(steps, [f.dimension for f in self.frames])


@public_value
@dataclass(frozen=True)
class LiftedGram(_Joint):
    """Count, sum of q and sum of q q' per region: the Gram matrix of the lifted records (1, q).

    Noise on the second moment has the shape of a Gaussian orthogonal ensemble: sd sM on the diagonal, and
    sO >= sM / sqrt(2) (an integer, 2 sO^2 >= sM^2) once on each mirrored pair. Hence
    sum_i D_ii^2 / sM^2 + sum_{i<j} D_ij^2 / sO^2 <= |D|_F^2 / sM^2, and the moment part of phi is
    wM q q' in Frobenius geometry with wM = 1/sM.

    Sensitivity (replace-one): K(q,q') = wN^2 + wS^2 u + wM^2 u^2 with u = <q,q'> in [-R^2, R^2]. Its minimum
    over all u is wN^2 - wS^4 / (4 wM^2), so within a region the squared distance is at most
    2 (wN^2 + wS^2 R^2 + wM^2 R^4) + max(0, wS^4 / (2 wM^2) - 2 wN^2); the last term vanishes iff
    2 wN wM >= wS^2. Across regions, and in or out of all of them, the first term alone bounds it.
    Parts that are not asked (`sum` for a principal component analysis; `count` where the public n is the
    count) have weight 0.

    Attributes:
        partition: regions; frames and radii are theirs, in order. All frames have one dimension ell.
        noise_scales: integer sds of (count, sum, moment); 0 for a count or sum that is not asked.
    """

    least = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({frame.dimension for frame in self.frames}) != 1:
            raise InvalidInput("LiftedGram needs frames of one dimension")

    @classmethod
    def second_moment(
        cls,
        partition: Partition,
        frames: tuple[AnyFrame, ...],
        radii: tuple[float, ...],
        squared_distance: Fraction,
    ) -> "LiftedGram":
        """The sum of q q' alone, at price mu^2 at most `squared_distance`."""
        return cls(partition, frames, radii, (0, 0, noise_for(squared_distance / (2 * GRID**4), 1)))

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Parts that are asked: counts; sums, diagonals and upper triangles, concatenated over regions with frames."""
        k, ell = len(self.frames), self.frames[0].dimension
        count, total, moment = self.noise_scales
        off_diagonal = root_up(Fraction(moment * moment, 2))
        parts = {
            "count": Part(self.partition.n_regions, COUNT_FACTOR, count, 1),
            "sum": Part(k * ell, SUM_FACTOR, total, GRID),
            "diagonal": Part(k * ell, 1, moment, GRID * GRID),
            "upper": Part(k * ell * (ell - 1) // 2, 1, off_diagonal, GRID * GRID),
        }
        return {name: part for name, part in parts.items() if part.noise_scale and part.size}

    @property
    def squared_distance(self) -> Fraction:
        """2 (wN^2 + wS^2 R^2 + wM^2 R^4) + max(0, wS^4 / (2 wM^2) - 2 wN^2)."""
        n, s, m = self._squared_weights
        return 2 * self.squared_length + max(Fraction(0), s * s / (2 * m) - 2 * n)

    @property
    def squared_length(self) -> Fraction:
        """K(q,q) = wN^2 + wS^2 R^2 + wM^2 R^4: squared length of what a record adds to its region, at most."""
        n, s, m = self._squared_weights
        return n + s * GRID**2 + m * GRID**4

    @property
    def _squared_weights(self) -> tuple[Fraction, ...]:
        """wN^2, wS^2 and wM^2; 0 for a part that is not asked."""
        parts = self.parts
        return tuple(squared_weight(parts[p]) if p in parts else Fraction(0) for p in ("count", "sum", "diagonal"))

    def weighed(self, view: View, labels: np.ndarray, shares: np.ndarray | None = None, grain: int = 1) -> Totals:
        """Concatenated over regions; integers in float64 products are at most 2^53 and exact."""
        k, ell = len(self.frames), self.frames[0].dimension
        counts, sums, grams = np.zeros(k), np.zeros((k, ell)), np.zeros((k, ell, ell))
        for region, images in enumerate(self._images(view, labels, shares)):
            if images is not None:
                counts[region], sums[region], grams[region] = images.count(), images.sum(), images.gram()
        return self.joined(counts, sums, grams, self._bare_counts(labels, view, grain))

    def joined(self, counts: np.ndarray, sums: np.ndarray, grams: np.ndarray, bare: np.ndarray) -> Totals:
        """Return totals of counts (k,), sums (k, ell) and second moments (k, ell, ell), and counts without a frame."""
        k, ell = sums.shape
        pieces = {
            "count": np.concatenate([counts, bare]),
            "sum": sums,
            "diagonal": grams.diagonal(axis1=1, axis2=2),
            "upper": grams.reshape(k, -1)[:, _flat(ell)],
        }
        return {name: pieces[name].astype(np.int64).ravel() for name in self.parts}

    def values(self, noisy: Totals) -> Values:
        """Parts asked: counts (regions,), and for k regions with frames sums (k, ell), moments (k, ell, ell)."""
        k, ell, steps = len(self.frames), self.frames[0].dimension, self._steps
        moment = np.zeros((k, ell, ell))
        rows, columns = _above(ell)
        if "upper" in noisy:
            moment[:, rows, columns] = moment[:, columns, rows] = noisy["upper"].reshape(k, -1)
        moment[:, range(ell), range(ell)] = noisy["diagonal"].reshape(k, ell)
        values: Values = {"moment": moment / steps[:, None, None] ** 2}
        if "count" in noisy:
            values["count"] = noisy["count"] / COUNT_FACTOR
        if "sum" in noisy:
            values["sum"] = noisy["sum"].reshape(k, ell) / (SUM_FACTOR * steps[:, None])
        return values

    def noise(self) -> Values:
        """sds: counts (1,), a coordinate of each region's sum (k, 1), a diagonal entry of its moment (k, 1, 1).

        Off the diagonal of the moment the sd is smaller by sqrt(2).
        """
        count, total, moment = self.noise_scales
        steps = self._steps
        deviations = {
            "count": np.array([count / COUNT_FACTOR]),
            "sum": total / (SUM_FACTOR * steps[:, None]),
            "moment": moment / steps[:, None, None] ** 2,
        }
        return {name: sd for name, sd in deviations.items() if name == "moment" or name in self.parts}

    @property
    def _steps(self) -> np.ndarray:
        """Grid steps per unit of z, by region."""
        return np.array([grid_scale(self.frames[0].dimension, radius) for radius in self.radii])


def _noise_of(name: str, squared_distance: Fraction, shares: _Shares) -> tuple[int, int, int]:
    """Smallest integer sds of (count, sum, second part) within their shares of the price and 2 wN w2 >= wS^2.

    Rounding sds up to integers may break this condition if the shares barely meet it; then the sum's sd is raised.
    """
    _check_shares(name, shares)
    if 4 * shares[0] * shares[2] < shares[1] ** 2:
        raise InvalidInput(f"the shares of {name} need 4 N M >= S^2: give the sum a smaller share of the price")
    n, s, m = (share * squared_distance / 2 for share in shares)
    count, second = noise_for(n, COUNT_FACTOR), noise_for(m / GRID**4, 1)
    least = root_up(Fraction(SUM_FACTOR**2 * count * second, 2 * COUNT_FACTOR))
    return count, max(noise_for(s / GRID**2, SUM_FACTOR), least), second


def _check_scales(name: str, scales: tuple[int, int, int], least: int) -> None:
    """Check the noise scales of (count, sum, second part); the second part may not be left out.

    Raises:
        InvalidInput: not three integers, or one is too small.
    """
    kind(f"the noise scales of {name}", scales, tuple)
    if len(scales) != 3:
        raise InvalidInput(f"{name} needs three noise scales: of the count, of the sum, and of the second part")
    for scale in scales[:2]:
        integer(f"each noise scale of {name}", scale, least)
    check_noise(name, scales[2])


@cache
def _above(ell: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices above the diagonal of an (ell, ell) matrix."""
    return np.triu_indices(ell, 1)


@cache
def _flat(ell: int) -> np.ndarray:
    """The same indices into the flattened matrix."""
    return np.ravel_multi_index(_above(ell), (ell, ell))


def _check_shares(names: str, shares: tuple[Fraction, ...]) -> None:
    """Check that shares of a price are positive and sum to at most one."""
    if min(shares) <= 0 or sum(shares) > 1:
        raise InvalidInput(f"the shares of {names} must be positive and sum to at most 1")


def _shared_frames(frames: tuple[AnyFrame, ...], partition: Partition) -> tuple[AnyFrame, ...]:
    """Replace equal frames by one object, the partition's own if it has it, so that a block is mapped once."""
    cells = partition.cells if isinstance(partition, ComponentShells) else partition
    inner = cells.inner if isinstance(cells, Refined) else (cells,)
    own = [frame for cells in inner if isinstance(cells, Cells) for frame in cells.frames]
    if {id(frame) for frame in own}.issuperset(map(id, frames)):
        return frames  # comparing frames is slow
    known: dict[AnyFrame, AnyFrame] = {frame: frame for frame in own}
    return tuple(known.setdefault(frame, frame) for frame in frames)
