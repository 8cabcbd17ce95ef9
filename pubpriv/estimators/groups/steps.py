"""Ask about all groups at once, and compute their means and covariances from the answer."""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Answer, Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.groups._shrinkage import Drawn, drawn_together
from pubpriv.estimators.groups.plan import group_question
from pubpriv.estimators.matrices import entry_variances, floored
from pubpriv.estimators.steps import step

_LEAST_ROWS = 2.0
"""A group is taken to have at least this many rows, or this many noise sds of its count."""

_LEAST_VARIANCE = 0.02
"""Least variance of a group in any direction, as a share of the groups' average there."""


@public_value
@dataclass(frozen=True)
class _GroupSums:
    """The answer about groups, in coordinates w = F (x - c) of all rows together.

    Attributes:
        frame: the map to w.
        counts: noisy number of rows of each group.
        sums: sums of clipped w, (K, d).
        seconds: second moments of clipped w, (d, d) each; or sums of |w|^2, (1, 1) each.
        sds: sds of the noise in a count, in a coordinate of a sum, and in a diagonal entry of a second moment.
    """

    frame: Frame
    counts: tuple[float, ...]
    sums: Matrix
    seconds: tuple[Matrix, ...]
    sds: tuple[float, ...]


@public_value
@dataclass(frozen=True)
class ShrunkGroups:
    """Estimates of each group, in the table's units; (K, d), or (K, d, d).

    Attributes:
        rows: approximate number of rows of each group.
        rows_sd: sd of the noise in that number.
        means: means of groups.
        mean_errors: their errors by sampling, privacy and shrinkage.
        mean_own: weight of the group's own mean, by column; the mean of all groups has the rest.
        covariances, covariance_errors, covariance_own: the same for covariances; empty if they are not estimated.
        clipped: share of the rows' second moment that is beyond the clip radius, over all groups.
    """

    rows: tuple[float, ...]
    rows_sd: float
    means: Matrix
    mean_errors: tuple[Matrix, ...]
    mean_own: Matrix
    covariances: tuple[Matrix, ...]
    covariance_errors: tuple[tuple[Matrix, ...], ...]
    covariance_own: tuple[float, ...]
    clipped: float


@step(title="standard coordinates of all rows")
def group_frame(mean: tuple[float, ...], covariance: Matrix) -> Frame:
    """Return the map to coordinates in which all rows together are standard."""
    values, vectors = np.linalg.eigh(np.array(covariance))
    values = np.maximum(values, values.max() * 1e-12)
    return Frame.of(np.array(mean), (vectors / np.sqrt(values)) @ vectors.T)


@step(title="ask all groups at once", private=True)
def measure_groups(curator: Curator, by: ByCategory, frame: Frame, spreads: bool, ask: Ask) -> _GroupSums:
    """Release count, sum and second moment of each group.

    Args:
        curator: the run.
        by: the groups.
        frame: the map to w.
        spreads: whether to ask for second moments, or only for squared lengths.
        ask: label and price.

    Privacy: one `LiftedGram` or `Moments` over disjoint regions, mu^2, or epsilon^2 in a pure run, at most ask.price.
    """
    return sums_of(curator.release(group_question(by, frame, ask, spreads), ask.label), spreads)


def sums_of(answer: Answer, spreads: bool) -> _GroupSums:
    """Read the answer to the question about groups."""
    values, noise, frame = answer.values, answer.question.noise(), answer.question.frames[0]
    last = "moment" if spreads else "square"
    return _GroupSums(
        frame,
        tuple(values["count"].tolist()),
        row_tuples(values["sum"].reshape(-1, frame.dimension)),
        tuple(map(row_tuples, values[last] if spreads else values[last][:, None, None])),
        tuple(float(noise[part].max()) for part in ("count", "sum", last)),
    )


@step(title="draw groups together")
def tell_groups(found: _GroupSums, rows: float, widening: float, spreads: bool, doubt: float) -> ShrunkGroups:
    """Compute means and covariances of groups, each shrunk towards all groups by its own errors; free.

    Args:
        found: the answer.
        rows: number of rows of the table, including those in no group.
        widening: factor on sampling errors if rows are dependent (`unit.Size`).
        spreads: whether to estimate covariances.
        doubt: error variance of an entry of the covariance of all rows, in w.
    """
    groups = _Groups.of(found, widening, spreads)
    means, parts = groups.means()
    doubt += max(0.0, 1 - float(groups.n.sum()) / rows) ** 2  # rows in no group make it less certain
    none = np.empty((0, 0, 0)), list[np.ndarray](), np.empty(0)
    values, errors, own = groups.covariances(means, doubt) if spreads else none
    return ShrunkGroups(
        rows=tuple(np.maximum(groups.counts, 0.0).tolist()),
        rows_sd=found.sds[0],
        means=row_tuples(groups.center + means.values * groups.deviations),
        mean_errors=tuple(row_tuples(part * groups.deviations) for part in (*parts, means.error)),
        mean_own=row_tuples(means.own),
        covariances=tuple(map(row_tuples, values)),
        covariance_errors=tuple(tuple(map(row_tuples, part)) for part in errors),
        covariance_own=tuple(own.tolist()),
        clipped=groups.clipped,
    )


@dataclass(frozen=True)
class _Groups:
    """Released sums of groups as arrays, with lower bounds where noise could make values too small.

    Attributes:
        counts: counts as released.
        n: number of rows to divide by, with a lower bound.
        y, seconds: mean and second moment of w, (K, d), (K, d, d) or (K, 1, 1).
        within: average covariance of w inside groups.
        center, colour, deviations: mean, root of the covariance and sds of columns of all rows, in the table's units.
        sds: sds of the noise, as in `_GroupSums`.
    """

    counts: np.ndarray
    n: np.ndarray
    y: np.ndarray
    seconds: np.ndarray
    within: np.ndarray
    center: np.ndarray
    colour: np.ndarray
    deviations: np.ndarray
    sds: tuple[float, ...]
    widening: float
    clipped: float

    @classmethod
    def of(cls, found: _GroupSums, widening: float, spreads: bool) -> "_Groups":
        """Compute the arrays from an answer."""
        center, matrix = found.frame.dense()
        d, colour = len(center), np.linalg.inv(matrix)
        counts = np.array(found.counts)
        n = np.maximum(counts, max(_LEAST_ROWS, _LEAST_ROWS * found.sds[0]))
        y, seconds = np.array(found.sums) / n[:, None], np.array(found.seconds) / n[:, None, None]
        whole = float(n.sum())
        noise = found.sds[1] / n
        # the square of a mean that is mostly noise is noise too, so it gets little weight
        squares = np.einsum("gi,gj->gij", y, y) if spreads else (y**2).sum(axis=1)[:, None, None]
        sure = 1 / (1 + noise**2)[:, None, None]
        inside = ((seconds - sure * squares) * n[:, None, None]).sum(axis=0) / whole
        within = (
            floored(inside, _LEAST_VARIANCE) if spreads else np.eye(d) * max(float(inside[0, 0]) / d, _LEAST_VARIANCE)
        )
        trace = float(np.trace(seconds, axis1=1, axis2=2) @ n) / whole
        doubt = 3 * found.sds[2] * np.sqrt(len(n) * (d if spreads else 1)) / whole
        clipped = max(0.0, 1 - (trace + doubt) / d)
        deviations = np.sqrt((colour**2).sum(axis=1))
        return cls(counts, n, y, seconds, within, center, colour, deviations, found.sds, widening, clipped)

    def means(self) -> tuple[Drawn, tuple[np.ndarray, np.ndarray]]:
        """Return shrunk means of columns, in sds of all rows, and the sampling and privacy parts of their errors."""
        values = self.y @ self.colour.T / self.deviations
        own = np.diag(self.colour @ self.within @ self.colour.T) / self.deviations**2
        sampling = self.widening * np.sqrt(own / self.n[:, None])
        privacy = np.hypot(self.sds[1] / self.n[:, None], values * (self.sds[0] / self.n)[:, None])
        drawn = drawn_together(values, sampling**2 + privacy**2)
        return drawn, (drawn.own * sampling, drawn.own * privacy)

    def covariances(self, means: Drawn, doubt: float) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Return covariances (K, d, d) in the table's units, errors by sampling, privacy and shrinkage, own weights."""
        d = len(self.center)
        moved = means.values * self.deviations @ np.linalg.inv(self.colour).T
        own = np.square(self.sds[1] / self.n) + self.widening**2 * np.trace(self.within) / d / self.n
        unsure = means.own.mean(axis=1) * own
        # E[w w'] minus the square of the mean, with the variance of its error
        squares = np.einsum("gi,gj->gij", moved, moved) + unsure[:, None, None] * np.eye(d)
        spreads = self.seconds - squares
        share = self.n / self.n.sum()
        inside = np.eye(d) - np.einsum("g,gij->ij", share, squares)  # all rows have the covariance I
        doubt = doubt + float(share**2 @ (2 * unsure * (moved**2).mean(axis=1) + 2 * unsure**2))
        average, entries = self.within, d * (d + 1) / 2
        squared = float((average**2).sum())
        variances = self.widening**2 * (float(np.trace(average)) ** 2 + squared) / self.n
        variances = (
            variances + entries * (self.sds[2] / self.n) ** 2 + squared * (self.sds[0] / self.n) ** 2
        ) / entries
        drawn = drawn_together(_flat(spreads), variances[:, None], True, (_flat(inside[None])[0], doubt))
        least = _LEAST_VARIANCE * float(np.linalg.eigvalsh(average)[0])
        values = np.array([floored(matrix, least) for matrix in _unflat(drawn.values, d)])
        covariances = np.array([self.colour @ matrix @ self.colour.T for matrix in values])
        return covariances, self._covariance_errors(spreads, drawn.own[:, :1]), drawn.own[:, 0]

    def _covariance_errors(self, spreads: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        """Compute errors of entries in the table's units, with a between-group variance for each entry."""
        entries = np.einsum("ai,gij,bj->gab", self.colour, spreads, self.colour)
        typical = self.colour @ self.within @ self.colour.T
        variances = np.outer(np.diag(typical), np.diag(typical)) + typical**2
        n = self.n[:, None, None]
        sampling = self.widening * np.sqrt(variances / n)
        noise = np.sqrt(entry_variances(self.colour @ self.colour.T, self.sds[2] ** 2, self.sds[2] ** 2))
        privacy = np.hypot(noise / n, typical * self.sds[0] / n)
        shape, weight = entries.shape, own[:, :, None]
        flat = entries.reshape(len(n), -1), (sampling**2 + privacy**2).reshape(len(n), -1)
        drawn = drawn_together(*flat)
        apart = (drawn.error / np.maximum(1 - drawn.own, 1e-12)).reshape(shape)
        return [weight * sampling, weight * privacy, (1 - weight) * apart]


def _flat(matrices: np.ndarray) -> np.ndarray:
    """List the entries on and above the diagonal of symmetric matrices, scaled to keep the Frobenius norm."""
    rows, columns = np.triu_indices(matrices.shape[1])
    return np.asarray(matrices[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2)))


def _unflat(entries: np.ndarray, d: int) -> np.ndarray:
    rows, columns = np.triu_indices(d)
    found = np.zeros((len(entries), d, d))
    found[:, rows, columns] = found[:, columns, rows] = entries / np.where(rows == columns, 1.0, np.sqrt(2))
    return found
