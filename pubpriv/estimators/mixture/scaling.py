"""Precondition: public location and scale of every column, so that nothing later depends on units.

Source: the idea of Bie, Kamath and Singhal 2022, algorithm 1, in its weakest and most robust form: a diagonal map from
public rows, and a full one only if public clusters are narrow (`_narrow`). It costs nothing, and defines the covariance
floor.
"""

from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._lattice import count_steps, typical_step
from pubpriv.estimators.mixture._linear import definite
from pubpriv.estimators.mixture._narrow import narrow_shape
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

FLOOR = 0.0025
"""Every covariance has at least this many public variances of each column."""


@public_value
@dataclass(frozen=True)
class Scaling:
    """The map u = (x - location) / scale, column by column; or S^-1 of that.

    Attributes:
        location: public means.
        scale: public standard deviations; for a column that is constant in the public rows, the step of the others, or
            1.
        notes: notes for the reader about columns that are constant or computed from others.
        shape: (d, d) S, if components are narrow along directions across the columns; (): the identity.
    """

    location: tuple[float, ...]
    scale: tuple[float, ...]
    notes: tuple[str, ...] = ()
    shape: tuple[tuple[float, ...], ...] = ()

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Convert rows (m, d) to standard coordinates."""
        rows = (rows - np.array(self.location)) / np.array(self.scale)
        return np.asarray(rows @ np.linalg.inv(self.shape).T if self.shape else rows)

    def restore(self, rows: np.ndarray) -> np.ndarray:
        """Convert rows (m, d) from standard coordinates to the table's own units: the inverse of `apply`."""
        rows = rows @ np.array(self.shape).T if self.shape else rows
        return np.asarray(np.array(self.location) + np.array(self.scale) * rows)

    def straight(self, mixture: Mixture) -> Mixture:
        """Convert a mixture from standard coordinates to those of columns, each (x - location) / scale."""
        if not self.shape:
            return mixture
        weights, means, covariances = mixture.arrays
        shape = np.array(self.shape)
        return Mixture.of(weights, means @ shape.T, definite(shape @ covariances @ shape.T))

    def undo(self, mixture: Mixture) -> Mixture:
        """Convert a mixture from standard coordinates to the table's own units."""
        weights, means, covariances = self.straight(mixture).arrays
        scale = np.array(self.scale)
        return Mixture.of(weights, np.array(self.location) + scale * means, np.outer(scale, scale) * covariances)

    def with_one_scale(self) -> "Scaling":
        """Give a scaling with the public means and one scale for all columns, so that balls stay balls."""
        scale = np.array(self.scale)
        return replace(self, scale=(float(np.sqrt((scale**2).mean())),) * len(scale))

    def frame(self, center: np.ndarray, matrix: np.ndarray) -> Frame:
        """Give the frame z = matrix (u - center) as a map of the table's own units."""
        matrix = matrix @ np.linalg.inv(self.shape) if self.shape else matrix
        return Frame.of(self.restore(center), matrix / np.array(self.scale))

    def standard(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """Give (center, matrix) of `frame` in standard coordinates: the inverse of `frame`."""
        center, matrix = frame.dense()
        matrix = matrix * np.array(self.scale)
        return self.apply(center), matrix @ np.array(self.shape) if self.shape else matrix

    def cells(self, mixture: Mixture) -> Cells:
        """Make the cells of the likeliest component: frames that whiten, offsets log w - log det(Sigma)/2.

        Frames are triangular: they make a scan faster than symmetric ones, and need half the bytes in a ledger.
        """
        weights, means, covariances = mixture.arrays
        frames = tuple(self.frame(m, _inverse_root(c)) for m, c in zip(means, covariances, strict=True))
        offsets = np.log(weights) - np.linalg.slogdet(covariances)[1] / 2
        return Cells(frames, tuple(offsets.tolist()))


@step(title="precondition")
def precondition(public: PublicTable, clusters: int = 0) -> Scaling:
    """Compute the scaling from public rows (m, d), with a note on every constant or collinear column.

    It has a `shape` if the rows form narrow clusters, at most `clusters` of them; 0: column by column only.
    """
    rows = public.rows
    with np.errstate(over="ignore", invalid="ignore"):
        location, scale = rows.mean(axis=0), rows.std(axis=0)
        wild = ~np.isfinite(location + scale**2)
    if wild.any():
        named = ", ".join(name for name, far in zip(public.columns, wild, strict=True) if far)
        raise InvalidInput(f"the public values of {named} are too large for a covariance: use other units")
    tiny = scale <= 1e-12 * np.maximum(np.abs(location), 1e-300)
    steps = count_steps(rows) if tiny.any() else np.zeros(len(scale))
    scale = np.where(tiny, np.where(steps > 0, steps, 1.0), scale)
    notes = [
        f"column {name} is constant in the public rows: its scale is taken to be "
        + (f"{step:.6g}, the step of the other columns" if step else "1 in its own units")
        for name, step, constant in zip(public.columns, steps, tiny, strict=True)
        if constant
    ]
    standard = (rows - location) / scale
    collinear = _collinear(standard, tiny)
    notes += [
        f"column {public.columns[j]} is a linear combination of other columns in the public rows: "
        "the covariance floor keeps its variance positive"
        for j in collinear
    ]
    if public.dropped:
        notes.append(f"{public.dropped} public rows with a missing or infinite value were left out")
    tiny[collinear] = True
    shape = _shape(standard, tiny, clusters) if clusters else ()
    return Scaling(tuple(location.tolist()), tuple(scale.tolist()), tuple(notes), shape)


def _shape(rows: np.ndarray, singular: np.ndarray, clusters: int) -> tuple[tuple[float, ...], ...]:
    """Find the shape of clusters in the columns that take many values and are not `singular`; see `Scaling`."""
    distinct = np.unique(rows, axis=0)
    smooth = np.flatnonzero(
        [not bad and not typical_step(column) for column, bad in zip(distinct.T, singular, strict=True)]
    )
    found = narrow_shape(distinct[:, smooth], clusters)
    if found is None:
        return ()
    shape = np.eye(rows.shape[1])
    shape[np.ix_(smooth, smooth)] = found
    return row_tuples(shape)


def _collinear(rows: np.ndarray, constant: np.ndarray) -> list[int]:
    """List columns that the columns before them determine; none if there are fewer rows than columns."""
    if len(rows) <= rows.shape[1]:
        return []
    varying, least = np.flatnonzero(~constant), 1e-8 * np.sqrt(len(rows))
    residuals = np.abs(np.diag(np.linalg.qr(rows[:, varying], mode="r")))
    if (residuals > 2 * least).all():
        return []  # the usual case, found quickly
    found: list[int] = []
    kept: list[int] = []
    for j in varying:
        residual = rows[:, j]
        if kept:
            basis = rows[:, kept]
            residual = residual - basis @ np.linalg.lstsq(basis, residual, rcond=None)[0]
        if np.linalg.norm(residual) <= least:
            found.append(int(j))
        else:
            kept.append(int(j))
    return found


def _inverse_root(covariance: np.ndarray) -> np.ndarray:
    """Compute the lower triangular L^-1 of a positive definite C = L L'."""
    from scipy.linalg import solve_triangular

    root = np.linalg.cholesky(covariance)
    return np.asarray(solve_triangular(root, np.eye(len(root)), lower=True))
