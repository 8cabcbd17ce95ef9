"""Rows that a round counted for other components than their own, and what they did to the totals of both.

A round gives each row to its likeliest component under the last estimate, or divides it among components by how likely
it is of each. Either way, where components overlap, its totals are not those of a component's own rows, whatever the
number of rows. A model predicts the difference, and is corrected until the same sorting of its own rows would give the
released totals. If shares are those of the model itself, that is the score equation of the likelihood, and its solution
the maximum likelihood estimate: as in EM, but from one release, and with steps that are scaled by the information which
rows have about components that share them, so that few are needed. Rows are drawn from the model with a fixed seed, so
all of this is post-processing of released answers: free, and public.
"""

import math
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import solve_triangular

from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.regions import Cells, divided
from pubpriv.released.law import Mixture, joint_log_density

_DRAWN, _CELLS = (20_000, 50_000), 2_000_000
"""Least and largest number of rows drawn from a model; between them, as many as have so many cells in all frames."""

_REMEMBERED = 6
"""Passes that a step is combined of."""

_TINY = 1e-12
"""Least chance of a coordinate of a drawn row."""

_FAR = 5.7
"""Two components have no strays if their means are this many sds of the difference of two rows apart: 8 of either."""


@dataclass(frozen=True)
class Strays:
    """What a sorting adds to the totals of components, per row of the table.

    Attributes:
        counts: (k,) change of the counts.
        sums: (k, d) change of the sums of rows, mapped and clipped as in a round.
        moments: (k, d, d) change of their second moments.
        outside: rows in no component, by region (regions - k,).
    """

    counts: np.ndarray
    sums: np.ndarray
    moments: np.ndarray
    outside: np.ndarray

    @classmethod
    def none(cls, k: int, d: int) -> "Strays":
        """Make those of components that share no rows."""
        return cls(np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), np.zeros(0))

    @classmethod
    def sum_of(cls, several: "list[Strays]", weights: np.ndarray) -> "Strays":
        """Add several up with weights (len(several),)."""
        parts = (np.stack([getattr(each, each_field.name) for each in several]) for each_field in fields(cls))
        return cls(*(np.tensordot(weights, part, axes=1) for part in parts))


@dataclass(frozen=True)
class Sorting:
    """How a round assigns, maps and clips rows.

    Attributes:
        partition: a region for each component, and perhaps regions outside.
        frames: (center, matrix) that map each component's rows, in standard coordinates.
        radius: clip radius of mapped rows.
        grain: into how many shares a row is divided among components (`InShares`); 0: it goes to the likeliest one.
    """

    partition: Cells | ComponentShells
    frames: list[tuple[np.ndarray, np.ndarray]]
    radius: float
    grain: int = 0

    def shares(self, squares: np.ndarray) -> np.ndarray:
        """Compute the share (regions, m) of a row that each region gets, from squared lengths (k, m) in the frames."""
        k, regions = len(squares), self.partition.n_regions
        cells = self.partition if isinstance(self.partition, Cells) else self.partition.cells
        scores = np.array(cells.offsets)[:, None] - squares / 2
        takers = np.argmax(scores, axis=0)
        if isinstance(self.partition, ComponentShells):
            lengths = np.sqrt(squares[takers, np.arange(len(takers))])
            shell = np.searchsorted(np.array(self.partition.edges), lengths)
            takers = np.where(shell > 0, k - 1 + shell, takers)
        found = whole_to(takers, regions)
        if self.grain:
            found[:k] = np.where(takers < k, divided(scores, self.grain) / self.grain, 0.0)
        return found


@dataclass(frozen=True)
class SortedDraw:
    """Rows of a model, sorted as a round sorts private ones.

    Attributes:
        sorting: of the round.
        rows: (m, d), in standard coordinates.
        members: how much of each row is of each component of the model, (k, m).
        weights: of the rows, (m,), which sum to one.
        taken: share (regions, m) of each row that each region gets; None: as the round sorts them.
    """

    sorting: Sorting
    rows: np.ndarray
    members: np.ndarray
    weights: np.ndarray
    taken: np.ndarray | None = None

    @classmethod
    def of(cls, sorting: Sorting, model: Mixture) -> "SortedDraw":
        """Draw rows of a model; each is of a component with the probability that the model gives it."""
        k = len(model.weights)
        some = float(np.clip(_CELLS / (k * len(model.means[0])), *_DRAWN))
        each = int(some) // k
        rows = drawn(model, each)
        return cls(sorting, rows, responsibilities(model, rows), np.repeat(model.arrays[0], each) / each)

    @classmethod
    def of_known(cls, sorting: Sorting, weights: np.ndarray, rows: np.ndarray, takers: np.ndarray) -> "SortedDraw":
        """Take rows (k, count, d) that represent each component, and the component that each is sorted to."""
        k, count, d = rows.shape
        members = whole_to(np.repeat(np.arange(k), count), k)
        taken = whole_to(takers, sorting.partition.n_regions)
        return cls(sorting, rows.reshape(-1, d), members, np.repeat(weights, count) / count, taken)

    @cached_property
    def mapped(self) -> np.ndarray:
        """Rows mapped by the frame of each component, (k, m, d)."""
        return np.stack([(self.rows - center) @ matrix.T for center, matrix in self.sorting.frames])

    @cached_property
    def squares(self) -> np.ndarray:
        """Their squared lengths, (k, m)."""
        return np.asarray(np.einsum("kij,kij->ki", self.mapped, self.mapped))

    @cached_property
    def clips(self) -> np.ndarray:
        """Factors by which they are shortened, (k, m)."""
        return np.asarray(np.minimum(1.0, self.sorting.radius / np.sqrt(np.maximum(self.squares, 1e-300))))

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each row that each region gets, (regions, m)."""
        return self.sorting.shares(self.squares) if self.taken is None else self.taken

    @property
    def strays(self) -> Strays:
        """What rows add where they are sorted to, less what they would add to their own components."""
        k, d = len(self.members), self.rows.shape[1]
        counts, sums, moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        for j in range(k):
            signed = self.weights * (self.shares[j] - self.members[j])
            away = np.flatnonzero(signed)
            signed, own = signed[away], self.mapped[j][away] * self.clips[j, away, None]
            counts[j], sums[j], moments[j] = signed.sum(), signed @ own, (own * signed[:, None]).T @ own
        return Strays(counts, sums, moments, self.shares[k:] @ self.weights)


@dataclass
class Mixing:
    """Steps to a fixed point: strays of the model that is made by taking out the same strays (Anderson 1965).

    A step combines the last few so that what is left of them cancels as far as it is linear.

    Attributes:
        used: what was taken out, pass by pass.
        found: the strays of the models made from these.
    """

    used: list[np.ndarray] = field(default_factory=list)
    found: list[np.ndarray] = field(default_factory=list)

    def step(self, strays: Strays) -> Strays:
        """Return what to take out next, after the model made from the last step has these strays."""
        parts = strays.counts, strays.sums, strays.moments
        found = np.concatenate([part.ravel() for part in parts])
        self.used = self.used or [np.zeros(len(found))]
        self.found.append(found)
        recent = slice(-_REMEMBERED, None)
        left = np.array(self.found[recent]) - np.array(self.used[recent])
        taken = found
        if len(left) > 1:
            shifts = np.diff(left, axis=0)
            gains = np.linalg.lstsq(shifts.T, left[-1], rcond=1e-6)[0]
            taken = found - gains @ np.diff(self.found[recent], axis=0)
        self.used.append(taken)
        ends = np.cumsum([part.size for part in parts])[:-1]
        counts, sums, moments = np.split(taken, ends)
        k, d = strays.sums.shape
        return Strays(counts, sums.reshape(k, d), moments.reshape(k, d, d), strays.outside)


def whole_to(takers: np.ndarray, regions: int) -> np.ndarray:
    """Give shares (regions, m) of whole rows that these regions (m,) take."""
    return np.asarray((np.arange(regions)[:, None] == takers).astype(float))


def overlapping(mixture: Mixture) -> bool:
    """Decide whether two components are so close that rows of one may be assigned to the other."""
    weights, means, covariances = mixture.arrays
    return any(
        float(gap @ np.linalg.solve(covariances[i] + covariances[j], gap)) < _FAR**2
        for i in range(len(weights))
        for j in range(i)
        for gap in [means[i] - means[j]]
    )


def responsibilities(model: Mixture, rows: np.ndarray) -> np.ndarray:
    """Compute the probability of each component of a model given each row (m, d): (k, m)."""
    joint = joint_log_density(*model.arrays, rows)
    parts = np.exp(joint - joint.max(axis=0))
    return np.asarray(parts / parts.sum(axis=0))


def drawn(model: Mixture, each: int, wider: float = 1.0) -> np.ndarray:
    """Draw `each` rows around each component, `wider` times as wide: (k each, d); the seed is fixed."""
    _, means, covariances = model.arrays
    parts = zip(means, _standard(len(means), each, means.shape[1]), covariances, strict=True)
    return np.concatenate([m + wider * z @ np.linalg.cholesky(c).T for m, z, c in parts])


@lru_cache(maxsize=2)  # a round needs the same rows about ten times
def _standard(k: int, each: int, d: int) -> np.ndarray:
    """Draw `each` standard Gaussian rows for each of k components: (k, each, d).

    They are evenly spread (Sobol), and have the law's mean and covariance exactly: so they stand for many more.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    rows, doublings = np.empty((k, each, d)), math.ceil(math.log2(each))
    for j in range(k):
        found = ndtri(np.clip(qmc.Sobol(d, seed=j).random_base2(doublings)[:each], _TINY, 1 - _TINY))
        found -= found.mean(axis=0)
        rows[j] = solve_triangular(np.linalg.cholesky(found.T @ found / each), found.T, lower=True).T
    rows.flags.writeable = False
    return rows
