"""Ask about all groups at once, and compute their means and covariances from the answer."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.curator import Answer, Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.groups._reading import LEAST_VARIANCE, Reading, Whole, within
from pubpriv.estimators.groups._shrinkage import Drawn, drawn_together
from pubpriv.estimators.groups.plan import group_question
from pubpriv.estimators.matrices import floored
from pubpriv.estimators.steps import step

_GAUSSIAN, _FLATTEST = 3.0, 1.2
"""Fourth moment over squared variance of a Gaussian column, and the least that a column is taken to have: that of one
whose values are two, seldom as even as here."""

_ANYWHERE = 1e6
"""Radius of the core of runs of older versions, which kept none."""


@public_value
@dataclass(frozen=True)
class _GroupSums:
    """The answer about groups, in coordinates w = F (x - c) of all rows together; K groups of S shells each.

    Attributes:
        frame: the map to w.
        counts: noisy number of rows of each shell of each group, (K S,).
        sums: sums of w, (K S, d).
        seconds: second moments of w, (d, d) each; or sums of |w|^2, (1, 1) each.
        sds: sds of the noise in a count, and in the core in a coordinate of a sum and in a diagonal entry of a second
            moment: in proportion to radii, and to their squares.
        ends: outer radii of the shells; empty in runs of older versions, which had only a core.
    """

    frame: Frame
    counts: tuple[float, ...]
    sums: Matrix
    seconds: tuple[Matrix, ...]
    sds: tuple[float, ...]
    ends: tuple[float, ...] = ()


@public_value
@dataclass(frozen=True)
class ShrunkGroups:
    """Estimates of each group, in the table's units; (K, d), or (K, d, d).

    Attributes:
        rows: approximate number of rows of each group.
        rows_sd: sd of the noise in that number.
        means: means of groups.
        mean_errors: their errors by sampling, privacy, shrinkage and clipping; without the last in older versions.
        mean_own: weight of the group's own mean, by column; the mean of all groups has the rest.
        clipped: share of the rows' second moment that lies beyond all shells, over all groups.
        covariances, covariance_errors, covariance_own: the same for covariances; empty if they are not estimated.
        alone: what sampling alone would leave of errors of means, without privacy and shrinkage; empty: not known.
        covariances_alone: the same of covariances.
    """

    rows: tuple[float, ...]
    rows_sd: float
    means: Matrix
    mean_errors: tuple[Matrix, ...]
    mean_own: Matrix
    clipped: float
    covariances: tuple[Matrix, ...] = ()
    covariance_errors: tuple[tuple[Matrix, ...], ...] = ()
    covariance_own: tuple[float, ...] = ()
    alone: Matrix = ()
    covariances_alone: tuple[Matrix, ...] = ()


@public_value
@dataclass(frozen=True)
class AllRows:
    """What a run knows of all rows together before it reads the answer about groups, in the table's units.

    Attributes:
        covariance: (d, d).
        noise, errors: sds (d, d) of what noise and clipping did to it, and of all its errors.
        mean_noise: sds (d,) of what they did to the mean.
        fourth: (d,) fourth moment of each column about its mean, as measured.
        rows: number of rows of the table, including those in no group.
        widening: factor on sampling errors if rows are dependent (`unit.Size`).
    """

    covariance: Matrix
    noise: Matrix
    errors: Matrix
    mean_noise: tuple[float, ...]
    fourth: tuple[float, ...]
    rows: float
    widening: float


@step(title="standard coordinates of all rows")
def group_frame(mean: tuple[float, ...], covariance: Matrix) -> Frame:
    """Return the map to coordinates in which all rows together are standard."""
    values, vectors = np.linalg.eigh(np.array(covariance))
    values = np.maximum(values, values.max() * 1e-12)
    return Frame.of(np.array(mean), (vectors / np.sqrt(values)) @ vectors.T)


@step(title="ask all groups at once", private=True)
def measure_groups(curator: Curator, by: ByCategory, frame: Frame, spreads: bool, ask: Ask) -> _GroupSums:
    """Release count, sum and second moment of each shell of each group.

    Args:
        curator: the run.
        by: the groups.
        frame: the map to w.
        spreads: whether to ask for second moments, or only for squared lengths.
        ask: label and price.

    Privacy: one `LiftedGram` or `Moments` over disjoint regions, mu^2, or epsilon^2 in a pure run, at most ask.price.
    """
    return sums_of(curator.release(group_question(by, frame, ask, spreads), ask.label), by, spreads)


def sums_of(answer: Answer, by: ByCategory, spreads: bool) -> _GroupSums:
    """Read the answer to the question about groups."""
    values, noise, frame = answer.values, answer.question.noise(), answer.question.frames[0]
    last = "moment" if spreads else "square"
    return _GroupSums(
        frame,
        tuple(values["count"].tolist()),
        row_tuples(values["sum"].reshape(-1, frame.dimension)),
        tuple(map(row_tuples, values[last] if spreads else values[last][:, None, None])),
        tuple(float(noise[part].flat[0]) for part in ("count", "sum", last)),
        answer.question.radii[: len(values["count"]) // by.n_regions],
    )


@step(title="draw groups together")
def tell_groups(found: _GroupSums, all_rows: AllRows, spreads: bool) -> ShrunkGroups:
    """Compute means and covariances of groups, each shrunk towards all groups by its own errors; free."""
    groups = _Groups.of(found, all_rows)
    means, rows, told = groups.means(), groups.reading.rows, dict[str, Any]()
    if spreads:
        covariances, scales = groups.covariances(means), np.outer(groups.scales, groups.scales)
        means = groups.with_own_spreads(means, covariances.values)
        told = {
            "covariances": tuple(map(row_tuples, covariances.values * scales)),
            "covariance_errors": tuple(tuple(map(row_tuples, part * scales)) for part in covariances.parts),
            "covariance_own": tuple(covariances.drawn.own.mean(axis=1).tolist()),
            "covariances_alone": tuple(map(row_tuples, covariances.alone * scales)),
        }
    return ShrunkGroups(
        rows=tuple(np.maximum(rows.values, 0.0).tolist()),
        rows_sd=float(np.hypot(rows.noise, rows.lost).max()),
        means=row_tuples(groups.center + means.values * groups.scales),
        mean_errors=tuple(row_tuples(part * groups.scales) for part in means.parts),
        mean_own=row_tuples(means.drawn.own),
        clipped=groups.reading.clipped,
        alone=row_tuples(means.alone * groups.scales),
        **told,
    )


@dataclass(frozen=True)
class _Shrunk:
    """Numbers of all groups after shrinkage.

    Attributes:
        values: the numbers, as they are released.
        drawn: as they were drawn together, with weights.
        alone: (K, ...) their errors from sampling by itself.
        parts: their errors by sampling, privacy, shrinkage and clipping.
    """

    values: np.ndarray
    drawn: Drawn
    alone: np.ndarray
    parts: list[np.ndarray]


@dataclass(frozen=True)
class _Groups:
    """Released sums of groups as arrays, in z: columns in standard deviations of all rows.

    Attributes:
        reading: the answer.
        inside: (d, d) average covariance inside groups.
        heavy: (d,) fourth moment of columns inside groups, over their squared variances.
        center, scales: (d,) middle and standard deviations of all rows, in the table's units.
        widening: factor on sampling errors.
    """

    reading: Reading
    inside: np.ndarray
    heavy: np.ndarray
    center: np.ndarray
    scales: np.ndarray
    widening: float

    @classmethod
    def of(cls, found: _GroupSums, all_rows: AllRows) -> "_Groups":
        """Compute the arrays from an answer."""
        center, matrix = found.frame.dense()
        colour = np.linalg.inv(matrix)
        scales = np.sqrt((colour**2).sum(axis=1))
        colour, units = colour / scales[:, None], np.outer(scales, scales)
        ends = np.array(found.ends or (_ANYWHERE,))
        wider, shape = ends / ends[0], (-1, len(ends))
        counts, sums, seconds = np.array(found.counts), np.array(found.sums) @ colour.T, np.array(found.seconds)
        if seconds.shape[1] == len(center):
            seconds = colour @ seconds @ colour.T
        missing = 1 - (counts.sum() + 2 * found.sds[0] * np.sqrt(len(counts))) / all_rows.rows
        whole = Whole(
            np.array(all_rows.covariance) / units,
            np.array(all_rows.noise) / units,
            np.array(all_rows.errors) / units,
            np.array(all_rows.mean_noise) / scales,
            max(0.0, float(missing)),
        )
        reading = Reading(
            counts.reshape(shape),
            sums.reshape(*shape, len(center)),
            seconds.reshape(*shape, *seconds.shape[1:]),
            found.sds[0],
            found.sds[1] * wider,
            found.sds[2] * wider**2,
            colour @ colour.T,
            ends,
            whole,
        )
        means = reading.means()
        inside = within(reading.second, means.values, means.noise, reading.share)
        apart = means.values**2 / (1 + means.noise**2)
        heavy = _heavy(np.minimum(np.array(all_rows.fourth) / scales**4, reading.fourth), apart, inside, reading.share)
        return cls(reading, inside, heavy, center, scales, all_rows.widening)

    @property
    def _unsure(self) -> np.ndarray:
        """Relative sds (K,) of numbers of rows."""
        rows = self.reading.rows
        return np.asarray(np.hypot(rows.noise, rows.lost) / self.reading.n)

    def means(self) -> _Shrunk:
        """Shrink means of columns."""
        own = self.reading.means()
        n = self.reading.n[:, None]
        sampling = self.widening * np.sqrt(np.diag(self.inside) / n)
        privacy = np.hypot(own.noise, own.values * self._unsure[:, None])
        common = np.square(own.common).mean(axis=0)
        drawn = drawn_together(own.values, sampling**2 + privacy**2 + own.lost**2, privacy**2, common)
        parts = [drawn.own * sampling, drawn.own * privacy, drawn.error, drawn.own * own.lost]
        return _Shrunk(drawn.values, drawn, sampling, parts)

    def with_own_spreads(self, means: _Shrunk, covariances: np.ndarray) -> _Shrunk:
        """Give means the sampling errors of their own groups' variances, and not of the average."""
        own = np.diagonal(covariances, axis1=1, axis2=2)
        sampling = self.widening * np.sqrt(own / self.reading.n[:, None])
        return replace(means, alone=sampling, parts=[means.drawn.own * sampling, *means.parts[1:]])

    def covariances(self, means: _Shrunk) -> _Shrunk:
        """Shrink covariances (K, d, d), entry by entry."""
        seen, n = self.reading.second_moments(), self.reading.n[:, None, None]
        # E[m m'] of a mean that is known with an error
        weights, noise = np.sqrt(means.drawn.own), np.square(self.reading.means().noise).mean(axis=1)[:, None, None]
        unsure = self.widening**2 * self.inside / n + noise * self.reading.gram
        unsure = np.einsum("gi,gij,gj->gij", weights, unsure, weights)
        squares = np.einsum("gi,gj->gij", means.values, means.values) + unsure
        values, share = seen.values - squares, self.reading.share
        known = self.reading.whole.covariance - np.einsum("g,gij->ij", share, squares)
        diagonal = np.diagonal(unsure, axis1=1, axis2=2)
        lengths = means.values**2
        doubt = np.square(self.reading.whole.errors) + self.reading.whole.missing**2
        doubt = doubt + np.einsum("g,gi,gj->ij", share**2, lengths + diagonal, diagonal)
        sampling = self._sampling(np.broadcast_to(self.inside, values.shape))
        privacy = np.hypot(seen.noise, self.inside * self._unsure[:, None, None])
        errors = sampling**2 + privacy**2 + seen.lost**2
        common = np.square(seen.common).mean(axis=0)[None]
        parts = _flat(errors), _flat(privacy**2), _flat(common)[0], (_flat(known[None])[0], _flat(doubt[None])[0])
        drawn = drawn_together(_flat(values), *parts, alike=True)
        d = len(self.inside)
        weight, apart = _unflat(drawn.own, d), _unflat(drawn.error, d)
        least = LEAST_VARIANCE * float(np.linalg.eigvalsh(self.inside)[0])
        found = np.array([floored(matrix, least) for matrix in _unflat(drawn.values, d)])
        alone = self._sampling(found)
        return _Shrunk(found, drawn, alone, [weight * alone, weight * privacy, apart, weight * seen.lost])

    def _sampling(self, covariances: np.ndarray) -> np.ndarray:
        """Compute sampling errors (K, d, d) of covariances of groups, from fourth moments as all rows have them.

        A column whose variance is larger in a group has longer rows there, or more long ones: of both, the one that
        makes the fourth moment larger.
        """
        own = np.diagonal(covariances, axis1=1, axis2=2)
        heavy = self.heavy * np.maximum(np.diag(self.inside) / own, 1.0)
        ratio = np.sqrt((heavy - 1) / 2)
        squares = np.einsum("gi,gj->gij", own, own)
        factor = np.einsum("gi,gj->gij", ratio, ratio)
        # short tails reduce the error of a product of two columns only as far as the columns are the same
        shared = covariances**2 / squares
        factor = np.where(factor < 1, 1 + shared * (factor - 1), factor)
        found = np.sqrt((squares + covariances**2) * factor / self.reading.n[:, None, None])
        return np.asarray(self.widening * found)


def _heavy(fourth: np.ndarray, apart: np.ndarray, inside: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Compute the fourth moments of columns inside groups, over their squared variances, (d,), from those of all rows.

    For z = m + e, with m the mean of the group: E z^4 = E e^4 + 6 E m^2 e^2 + E m^4, but for the skewness of e.

    Args:
        fourth: of all rows, about their middle.
        apart: (K, d) squared means of groups.
        inside: (d, d) average covariance inside groups.
        share: (K,) shares of the groups in the rows.
    """
    own = np.diag(inside)
    least = np.clip(fourth / (own + share @ apart) ** 2, _FLATTEST, _GAUSSIAN)
    return np.asarray(np.maximum((fourth - 6 * (share @ apart) * own - share @ apart**2) / own**2, least))


def _flat(matrices: np.ndarray) -> np.ndarray:
    """List the entries on and above the diagonal of symmetric matrices."""
    rows, columns = np.triu_indices(matrices.shape[1])
    return np.asarray(matrices[:, rows, columns])


def _unflat(entries: np.ndarray, d: int) -> np.ndarray:
    rows, columns = np.triu_indices(d)
    found = np.zeros((len(entries), d, d))
    found[:, rows, columns] = found[:, columns, rows] = entries
    return found
