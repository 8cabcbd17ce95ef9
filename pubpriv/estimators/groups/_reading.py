"""What the answer about groups says of each: counts, means and second moments of all its rows, shell by shell.

A shell far out has much noise and few rows. So each number of a group is its own as far as the shell from which on the
noise would do more harm than the group can differ from the others, and beyond that what all groups have there: the
average of all is kept, and what is clipped or drowned in one column is no matter of the others. How far groups may
differ in a shell is measured, by the variance between them beyond their noise.

Coordinates are z_j = (x_j - c_j) / s_j: the columns in standard deviations of all rows together, so |z_j| <= |w|.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.estimators.groups._shrinkage import between_groups
from pubpriv.estimators.matrices import entry_variances, floored

_LEAST_ROWS = 2.0
"""A group is taken to have at least this many rows, or this many noise sds of its count."""

_SEEN = 3.0
"""A shell has rows if their number, or their squared lengths, is this many sds of the noise. With more, rows far out
are left to what all rows together have beyond; with less, noise is taken for long rows."""

_UNSURE, _CLEAR = 0.05, 0.95
"""Quantiles of chi-square for bounds of the variance between groups in what they have in a shell."""

_MOST_BEYOND = 0.9
"""The largest share of rows that may lie beyond the core: what is divided by the rest stays finite."""

_FOURTH = 0.6
"""Assumed place of a shell's fourth moment in its possible range: on the safe side."""

LEAST_VARIANCE = 0.02
"""Least variance of a group in any direction, as a share of the groups' average there."""


@dataclass(frozen=True)
class Whole:
    """What is known of all rows together, in z: variance errors and noise of its own release.

    Attributes:
        covariance: (d, d).
        noise, errors: sds (d, d) of what noise and clipping did to it, and of all its errors.
        mean_noise: sds (d,) of what they did to the mean.
        missing: share of the table's rows that are clearly in no group.
    """

    covariance: np.ndarray
    noise: np.ndarray
    errors: np.ndarray
    mean_noise: np.ndarray
    missing: float


@dataclass(frozen=True)
class Own:
    """A number of every group, and what is not known of it.

    Attributes:
        values: (K, ...), per row.
        noise: sds of their noise.
        lost: sds of how far the group may differ from all beyond the shells that are its own.
        common: sds of what all groups have there.
    """

    values: np.ndarray
    noise: np.ndarray
    lost: np.ndarray
    common: np.ndarray


@dataclass(frozen=True)
class Reading:
    """The answer about K groups in S shells.

    Attributes:
        counts, sums, seconds: as released, in z: (K, S), (K, S, d), and (K, S, d, d); or (K, S, 1, 1), sums of |w|^2.
        count_sd: noise sd of each count.
        sum_sds, second_sds: noise sds of a coordinate of a sum, and of a diagonal entry of a second moment, (S,).
        gram: (d, d) correlations of the noise in coordinates of a sum.
        ends: (S,) outer radii of the shells.
        whole: what is known of all rows.
    """

    counts: np.ndarray
    sums: np.ndarray
    seconds: np.ndarray
    count_sd: float
    sum_sds: np.ndarray
    second_sds: np.ndarray
    gram: np.ndarray
    ends: np.ndarray
    whole: Whole

    @cached_property
    def total(self) -> float:
        """Number of rows of all groups together."""
        return float(max(self.counts.sum(), _LEAST_ROWS * self.count_sd))

    @cached_property
    def n(self) -> np.ndarray:
        """Number of rows of each group, to divide by: with a lower bound."""
        return np.asarray(np.maximum(self.rows.values, _LEAST_ROWS * max(1.0, self.count_sd)))

    @cached_property
    def share(self) -> np.ndarray:
        """Shares (K,) of the groups in all their rows."""
        return np.asarray(self.n / self.n.sum())

    @cached_property
    def rows(self) -> Own:
        """Number of rows of each group, (K,): beyond some shell, as large a part as of all groups."""
        n = np.maximum(self.counts.sum(axis=1), _LEAST_ROWS * max(1.0, self.count_sd))
        beyond = np.clip(_after(self.counts.sum(axis=0)) / self.total, 0.0, self._rows_beyond)
        sds = self.count_sd * np.sqrt(np.arange(1, len(self.ends) + 1)) / n[:, None]
        values = (np.cumsum(self.counts, axis=1) / (1 - beyond) / n[:, None])[:, :, None]
        lost = self._lost(
            (self.counts / n[:, None])[:, :, None], self.count_sd / n[:, None], self._rows_beyond[:, None]
        )
        none = np.zeros((len(self.ends), 1))
        found = _chosen(values, sds[:, :, None], Beyond(none, none), lost)
        return Own(n * found.values[:, 0], n * found.noise[:, 0], n * found.lost[:, 0], n * found.common[:, 0])

    @property
    def clipped(self) -> float:
        """Share of the second moment that lies beyond all shells, where rows are clipped."""
        if self.last + 1 < len(self.ends):
            return 0.0
        beyond = float(np.trace(self._seconds_beyond.values[-1]))
        return max(0.0, beyond / float(np.trace(self.whole.covariance)))

    def means(self) -> Own:
        """Means of groups, (K, d)."""
        pooled, noise = self._pooled(self.sums, self.sum_sds[:, None], self.ends)
        middle = np.zeros(len(self.gram))
        beyond = _beyond(pooled, noise, self.last, middle, self.whole.mean_noise, self.whole.missing)
        # by Cauchy and Schwarz, rows in a shell and their squares bound their sum
        most = np.sqrt(self._rows_beyond[:, None] * self._squares_beyond)
        n = self.n[:, None]
        sds = np.sqrt(np.cumsum(self.sum_sds**2)) / n
        lost = self._lost(self.sums / n[:, :, None], self.sum_sds / n, most)
        return _chosen(np.cumsum(self.sums, axis=1) / n[:, :, None], sds[:, :, None], beyond, lost)

    def second_moments(self) -> Own:
        """Second moments of groups, (K, d, d), about the middle of all rows."""
        n, squares = self.n[:, None], np.diagonal(self.seconds, axis1=2, axis2=3)
        lost = self._lost(squares / n[:, :, None], self.second_sds / n, self._squares_beyond)
        # of two columns: by Cauchy and Schwarz
        pairs = np.sqrt(lost[:, :, None] * lost[:, None, :])
        sds = (np.sqrt(np.cumsum(self.second_sds**2)) / n)[:, :, None, None] * self._unit
        return _chosen(np.cumsum(self.seconds, axis=1) / n[:, :, None, None], sds, self._seconds_beyond, pairs)

    @cached_property
    def last(self) -> int:
        """The last shell in which all groups together clearly have rows; the core is shell 0."""
        groups, entries = len(self.counts), self.seconds.shape[-1]
        rows = self.counts.sum(axis=0) > _SEEN * self.count_sd * np.sqrt(groups)
        traces = np.trace(self.seconds, axis1=2, axis2=3).sum(axis=0)
        long = traces > _SEEN * self.second_sds * np.sqrt(groups * entries)
        return int(np.flatnonzero(rows | long).max(initial=0))

    @cached_property
    def _unit(self) -> np.ndarray:
        """Noise sds of entries of a second moment, over that of a diagonal entry in w: (d, d), or (1, 1)."""
        if self.seconds.shape[-1] < len(self.gram):
            return np.ones((1, 1))
        return np.asarray(np.sqrt(entry_variances(self.gram, 1.0, 1.0)))

    def _pooled(self, sums: np.ndarray, sds: np.ndarray, wider: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum numbers of all groups, per row; and the noise sds, with that of one shell more: as much may hide there.

        Args:
            sums: (K, S, ...).
            sds: (S, ...) of their noise.
            wider: (S,) what the noise of a shell is in proportion to.
        """
        further = sds[-1:] * (wider[-1] / wider[-2] if len(wider) > 1 else 1.0)
        return sums.sum(axis=0) / self.total, np.sqrt(len(sums)) * np.concatenate([sds, further]) / self.total

    @cached_property
    def _seconds_beyond(self) -> "Beyond":
        """What all groups together have beyond each shell, (S, d, d); (S, 1, 1) if only squared lengths are known."""
        pooled, noise = self._pooled(self.seconds, self.second_sds[:, None, None] * self._unit, self.ends**2)
        known, sds = self.whole.covariance, self.whole.noise
        if len(self._unit) < len(known):
            known, sds = np.array([[np.trace(known)]]), np.array([[np.linalg.norm(np.diag(sds))]])
        return _beyond(pooled, noise, self.last, known, sds, self.whole.missing)

    @cached_property
    def _squares_beyond(self) -> np.ndarray:
        """Second moments of columns that all groups have beyond each shell, (S, d)."""
        found, d = np.maximum(np.diagonal(self._seconds_beyond.values, axis1=1, axis2=2), 0.0), len(self.gram)
        # of squared lengths alone: halfway, by factors, between all columns alike and all in one
        return np.asarray(found if found.shape[1] == d else np.repeat(found, d, axis=1) / np.sqrt(d))

    @cached_property
    def _rows_beyond(self) -> np.ndarray:
        """Share of the rows that all groups have beyond each shell, (S,), at most: they are as long as its end."""
        lengths = np.trace(self._seconds_beyond.values, axis1=1, axis2=2)
        return np.asarray(np.clip(lengths / self.ends**2, 0.0, _MOST_BEYOND))

    def _lost(self, values: np.ndarray, sds: np.ndarray, most: np.ndarray) -> np.ndarray:
        """Tell how far groups may differ in what they have beyond each shell, (S, ...) sds per row.

        As far as they may by what is seen of them, but not by more than all have, unless more is clearly seen.

        Args:
            values: (K, S, ...) what groups have in each shell, per row.
            sds: (K, S) or (K, 1), of the noise in these.
            most: (S, ...) what all have beyond each shell.
        """
        if len(values) == 1:
            return most
        noise = np.broadcast_to(sds[:, :, None] ** 2, values.shape)
        bounds = [
            _after(np.sqrt([between_groups(values[:, s], noise[:, s], chance) for s in range(values.shape[1])]))
            for chance in (_UNSURE, _CLEAR)
        ]
        return np.asarray(np.maximum(np.minimum(bounds[0], most), bounds[1]))

    @cached_property
    def second(self) -> np.ndarray:
        """Second moment of all rows in groups, (d, d), by this answer and by the release of all rows.

        An answer that has only squared lengths does not tell; columns are then as wide as they may be.
        """
        if len(self._unit) < len(self.gram):
            return np.asarray(self.whole.covariance + np.diag(np.diag(self.whole.noise)))
        return np.asarray(self.seconds[:, 0].sum(axis=0) / self.total + self._seconds_beyond.values[0])

    @cached_property
    def fourth(self) -> np.ndarray:
        """Fourth moments of columns, (d,), by what shells leave possible, as far out as they clearly have rows.

        In a shell, near <= |w| <= far, E z^4 is at most far^2 E z^2, since |z| <= |w|; and at least
        near^2 (E z^2)^2 / E |w|^2, by Cauchy and Schwarz. In the core a column is taken as Gaussian.
        """
        squares = np.maximum(np.diagonal(self.seconds.sum(axis=0), axis1=1, axis2=2) / self.total, 0.0)
        squares[self.last + 1 :] = 0.0
        most = self.ends[:, None] ** 2 * squares
        lengths = np.maximum(squares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        near = np.concatenate([[0.0], self.ends[:-1]])[:, None]
        least = np.minimum(near**2 * squares**2 / lengths, most)
        guess = least + _FOURTH * (most - least)
        guess[0] = np.minimum(3 * squares[0] ** 2, most[0])
        return np.asarray(guess.sum(axis=0))


def _chosen(values: np.ndarray, sds: np.ndarray, beyond: "Beyond", lost: np.ndarray) -> Own:
    """Take each number from as many shells as make its error least, and the average of all groups beyond.

    Args:
        values: (K, S, ...) of rows as far as each shell, per row.
        sds: their noise.
        beyond: what all groups have beyond each shell.
        lost: (S, ...) how far groups may differ there.
    """
    each = [values + beyond.values, *(np.broadcast_to(part, values.shape) for part in (sds, lost, beyond.sds))]
    best = np.argmin(sum(np.square(part) for part in each[1:]), axis=1)[:, None]
    return Own(*(np.take_along_axis(part, best, axis=1)[:, 0] for part in each))


def _after(parts: np.ndarray) -> np.ndarray:
    """Sum what comes after each shell; zero after the last."""
    return np.asarray(np.cumsum(parts[::-1], axis=0)[::-1] - parts)


@dataclass(frozen=True)
class Beyond:
    """What all groups together have beyond each shell, (shells, ...) per row, and its sds."""

    values: np.ndarray
    sds: np.ndarray


def _beyond(
    pooled: np.ndarray, noise: np.ndarray, last: int, whole: np.ndarray, sds: np.ndarray, missing: float
) -> Beyond:
    """Tell what all groups have beyond each shell: the sum of the shells there, or what all rows have but the others.

    Both are weighted by their errors. Beyond the last shell that clearly has rows is nothing, but for as much as noise
    hides in one shell more.

    Args:
        pooled: (S, ...) numbers of all groups together, shell by shell.
        noise: (S + 1, ...) their noise sds, and that of one shell more.
        last: the last shell that clearly has rows.
        whole: the number of all rows together.
        sds: its errors by noise and clipping.
        missing: share of all rows that are in no group: they make the second way less certain.
    """
    shells, upto = np.arange(len(pooled)), np.cumsum(noise**2, axis=0)
    own = _after(np.where((shells <= last).reshape(-1, *[1] * (pooled.ndim - 1)), pooled, 0.0))
    own_variances = np.maximum(upto[np.maximum(shells, last) + 1] - upto[:-1], np.finfo(float).tiny)
    others, variances = whole - np.cumsum(pooled, axis=0), upto[:-1] + sds**2 + missing**2
    weight = 1 / (1 + variances / own_variances)  # of the others
    return Beyond(own + weight * (others - own), np.sqrt(weight * variances))


def within(second: np.ndarray, means: np.ndarray, noise: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Compute the average covariance inside groups, (d, d), from the second moment of all rows and means of groups.

    The square of a mean that is mostly noise is noise too, so it gets little weight.
    """
    sure = 1 / np.sqrt(1 + noise**2)
    squares = np.einsum("g,gi,gj->ij", share, sure * means, sure * means)
    return floored(second - squares, LEAST_VARIANCE)
