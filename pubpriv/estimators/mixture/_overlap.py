"""Errors of components that share rows: larger than if it were known whose each row is.

A round measures T, the totals of rows in shares (`_strays`). Write O for what the totals of each component's own rows
would be. If a model is right, E[T] is a function of O, whose derivative J is E[g h'] E[y y']^-1: g is what a row adds
to the totals, y what it would add if its component were known, and h = E[y | row] (the score of the likelihood is h
less its mean; Louis 1982). J is the identity where components lie apart, and small along what the rows do not show. An
error in T, of sampling or of the noise, becomes one of J^-1 times as much in O. All of it is computed from rows drawn
from the released model, and is free.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.estimators.mixture._strays import SortedDraw, Strays

_MOST_NUMBERS = 400
"""Most numbers of a model for which this is computed: with more, it takes seconds, and drawn rows determine J badly."""


_NOTHING = 0.005
"""Least singular value of J: what rows say of a combination of numbers is taken for so much if it is less, which drawn
rows do not tell from nothing. Then intervals are so wide that they hold whatever it is. Of two components in three
columns it is .05 at 3 sds apart, and .003 at 2."""


@dataclass(frozen=True)
class Totals:
    """Which totals of a component a model has: its count, its sums, and those of its second moments.

    Attributes:
        kind: of the covariances: `full`, `diag` or `spherical`.
        d: number of columns.
    """

    kind: str
    d: int

    @property
    def size(self) -> int:
        """Number of totals of a component."""
        return 1 + self.d + {"full": self.d * (self.d + 1) // 2, "diag": self.d, "spherical": 1}[self.kind]

    def of_rows(self, z: np.ndarray) -> np.ndarray:
        """What rows (m, d) add to them, (m, size)."""
        seconds = z * z
        if self.kind == "full":
            rows, columns = np.triu_indices(self.d)
            seconds = z[:, rows] * z[:, columns]
        elif self.kind == "spherical":
            seconds = seconds.sum(axis=1, keepdims=True)
        return np.concatenate([np.ones((len(z), 1)), z, seconds], axis=1)

    def moved(self, strays: Strays, step: np.ndarray) -> Strays:
        """Add a step (k size,) of these totals to strays."""
        counts, sums, seconds = np.split(step.reshape(-1, self.size), [1, 1 + self.d], axis=1)
        moments = np.zeros_like(strays.moments)
        if self.kind == "full":
            rows, columns = np.triu_indices(self.d)
            moments[:, rows, columns] = moments[:, columns, rows] = seconds
        else:
            each = seconds / self.d if self.kind == "spherical" else seconds
            moments[:, range(self.d), range(self.d)] = each
        return Strays(strays.counts + counts[:, 0], strays.sums + sums, strays.moments + moments, strays.outside)


@dataclass(frozen=True)
class Information:
    """What rows say of the totals of components.

    Attributes:
        totals: of each component.
        slopes: J, (k size, k size).
        known: covariance of what a row adds if its component is known.
        sorted: the same of what it adds in shares.
        drawn: squared error of E[T], since only so many rows were drawn.
    """

    totals: Totals
    slopes: np.ndarray
    known: np.ndarray
    sorted: np.ndarray
    drawn: np.ndarray

    @classmethod
    def of(cls, draw: SortedDraw, kind: str) -> "Information | None":
        """Compute it by rows of the model; None for more numbers than it is computed for."""
        k, d = len(draw.members), draw.rows.shape[1]
        totals = Totals(kind, d)
        size = totals.size
        if k * size > _MOST_NUMBERS:
            return None
        clipped = [totals.of_rows(z * clip[:, None]) for z, clip in zip(draw.mapped, draw.clips, strict=True)]
        whole = [totals.of_rows(z) for z in draw.mapped]
        given = np.concatenate([each * share[:, None] for each, share in zip(clipped, draw.shares, strict=False)], 1)
        expected = np.concatenate([each * own[:, None] for each, own in zip(whole, draw.members, strict=True)], 1)
        slopes, known = (draw.weights[:, None] * given).T @ expected, np.zeros((k * size, k * size))
        for j in range(k):
            own, weights = slice(j * size, (j + 1) * size), (draw.weights * draw.members[j])[:, None]
            slopes[:, own] = np.linalg.lstsq(((weights * clipped[j]).T @ whole[j]).T, slopes[:, own].T)[0].T
            known[own, own] = (weights * clipped[j]).T @ clipped[j]
        means = draw.weights @ given
        own_means = np.concatenate(
            [(draw.weights * own) @ each for own, each in zip(draw.members, clipped, strict=True)]
        )
        known -= np.outer(own_means, own_means)
        spread = (draw.weights[:, None] * given).T @ given - np.outer(means, means)
        apart = np.concatenate([each * own[:, None] for each, own in zip(clipped, draw.members, strict=True)], 1)
        off = draw.weights[:, None] * (given - apart)
        return cls(totals, slopes, known, spread, off.T @ off)

    @property
    def back(self) -> np.ndarray:
        """J^-1, which leads back from totals of rows in shares to those of known components; see `_NOTHING`."""
        left, values, right = np.linalg.svd(self.slopes)
        return np.asarray((right.T / np.maximum(values, _NOTHING)) @ left.T)


@public_value
@dataclass(frozen=True)
class Overlap:
    """By what factors components that share rows make errors larger than they were if each had its own.

    Attributes:
        weights: sampling and privacy errors of weights, (2, k).
        means: sampling errors of means (k, d), then their privacy errors.
        covariances: the same of covariances, (2 k, d d).
    """

    weights: Matrix
    means: Matrix
    covariances: Matrix

    @property
    def factors(self) -> dict[str, dict[str, np.ndarray]]:
        """By quantity and part of the error."""
        k, d = len(self.weights[0]), len(self.means[0])
        shapes = {"weights": (2, k), "means": (2, k, d), "covariances": (2, k, d, d)}
        return {
            name: dict(zip(("sampling", "privacy"), np.array(getattr(self, name)).reshape(shape), strict=True))
            for name, shape in shapes.items()
        }

    @classmethod
    def of(
        cls,
        information: Information,
        counts: np.ndarray,
        places: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
        noise: tuple[float, float, float],
    ) -> "Overlap":
        """Compare errors by the information with those of known components.

        Args:
            information: of the released model.
            counts: of components, (k,).
            places: mean (d,) and covariance (d, d) of each in its frame, and what maps the frame's coordinates back.
            noise: sds of a count, of a sum, and of a diagonal second moment (spherical: of a squared length).
        """
        totals, k, n = information.totals, len(counts), float(counts.sum())
        back = information.back
        own = np.concatenate([np.full(size, sd) for size, sd in zip((1, totals.d), noise[:2], strict=True)])
        seconds = np.full(totals.size - 1 - totals.d, noise[2])
        if totals.kind == "full":
            rows, columns = np.triu_indices(totals.d)
            seconds = np.where(rows == columns, noise[2], noise[2] / math.sqrt(2))
        loud = np.diag(np.tile(np.concatenate([own, seconds]) ** 2, k))
        maps = _maps(totals, counts, places)
        found: dict[str, list[np.ndarray]] = {name: [] for name in maps}
        sampled = n * information.sorted + n**2 * information.drawn
        for known, now in ((n * information.known, sampled), (loud, loud)):
            for name, linear in maps.items():
                both = (linear, known), (linear @ back, now)
                before, after = (np.einsum("ij,jk,ik->i", each, part, each) for each, part in both)
                found[name].append(np.sqrt(np.maximum(after / np.maximum(before, 1e-300), 1.0)))
        shapes = {"weights": k, "means": totals.d, "covariances": totals.d**2}
        return cls(*(row_tuples(np.stack(found[name]).reshape(-1, size)) for name, size in shapes.items()))


def _maps(
    totals: Totals, counts: np.ndarray, places: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Derivatives of weights, means and covariances by the totals of all components: (numbers, k size)."""
    k, d, size, n = len(counts), totals.d, totals.size, float(counts.sum())
    weights, means, spreads = np.zeros((k, k * size)), np.zeros((k, d, k * size)), np.zeros((k, d, d, k * size))
    for j, (mean, covariance, back) in enumerate(places):
        first, count = j * size, float(counts[j])
        weights[:, first] = -counts / n**2
        weights[j, first] += 1 / n
        each = totals.moved(Strays.none(size, d), np.eye(size).ravel())  # as if each total were a component
        off = (each.sums - each.counts[:, None] * mean) / count
        bent = each.moments - each.sums[:, :, None] * mean - mean[:, None] * each.sums[:, None, :]
        bent = (bent + each.counts[:, None, None] * (np.outer(mean, mean) - covariance)) / count
        means[j, :, first : first + size] = back @ off.T
        spreads[j, :, :, first : first + size] = np.moveaxis(back @ bent @ back.T, 0, -1)
    return {"weights": weights, "means": means.reshape(k * d, -1), "covariances": spreads.reshape(k * d * d, -1)}
