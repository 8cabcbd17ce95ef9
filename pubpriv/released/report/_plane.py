"""The two directions in which released components are drawn, computed from released numbers only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.released.law import Mixture

_FLOOR = 1e-12
"""Directions with less than this share of the largest eigenvalue are not rescaled."""


@dataclass(frozen=True)
class Plane:
    """A map of rows to two coordinates.

    Attributes:
        center: (d,), the origin.
        axes: (d, 2): coordinates are (x - center) @ axes.
        titles: titles of the two axes.
        plain: whether the coordinates are two columns in their own units.
    """

    center: np.ndarray
    axes: np.ndarray
    titles: tuple[str, str]
    plain: bool

    @classmethod
    def of(cls, mixture: Mixture, columns: Sequence[str]) -> "Plane":
        """Find the plane: two columns as they are; of more columns, the two directions that separate components best.

        With T the covariance of the whole mixture and B that of its means, these are the leading eigenvectors of
        T^(-1/2) B T^(-1/2) (Fisher's discriminants), filled up with the directions of the columns' largest correlation
        if there are too few components. Coordinates have unit variance over the whole mixture.

        Args:
            mixture: a mixture over d >= 2 columns.
            columns: names of the columns.
        """
        center, between, total = mixture.moments
        if len(columns) == 2:
            return cls(np.zeros(2), np.eye(2), (columns[0], columns[1]), plain=True)
        spread = np.sqrt(np.diag(total))
        root = _inverse_root(total / np.outer(spread, spread)) / spread
        values, vectors = np.linalg.eigh(root @ between @ root.T)
        found = vectors[:, ::-1][:, : int((values[::-1][:2] > 1e-9).sum())]
        # leading directions of the correlations that are not shown yet
        rest = np.eye(len(columns)) - found @ found.T
        loads = total @ root.T / spread[:, None]
        missing = np.linalg.eigh(rest @ loads.T @ loads @ rest)[1][:, ::-1]
        chosen = np.column_stack([found, missing])[:, :2]
        axes = root.T @ chosen
        correlations = (total @ axes) / spread[:, None]
        signs = np.sign(correlations[np.abs(correlations).argmax(axis=0), [0, 1]])
        axes, correlations = axes * signs, correlations * signs
        titles = _title(1, correlations[:, 0], columns), _title(2, correlations[:, 1], columns)
        return cls(center, axes, titles, plain=False)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return coordinates (m, 2) of rows (m, d)."""
        return np.asarray((rows - self.center) @ self.axes)

    def of_covariance(self, covariance: np.ndarray) -> np.ndarray:
        """Return the covariance (2, 2) of coordinates, from a covariance (d, d)."""
        return np.asarray(self.axes.T @ covariance @ self.axes)


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    floored = np.maximum(values, _FLOOR * values[-1])
    return np.asarray((vectors / np.sqrt(floored)) @ vectors.T)


def _title(number: int, correlations: np.ndarray, columns: Sequence[str]) -> str:
    """Title with the columns most correlated with a direction: `direction 1: more age and cost, less visits`."""
    order = np.argsort(-np.abs(correlations).round(9), kind="stable")[:3]
    kept = [i for i in order if abs(correlations[i]) >= 0.4] or [order[0]]
    more = [columns[i] for i in kept if correlations[i] > 0]
    less = [columns[i] for i in kept if correlations[i] <= 0]
    parts = [f"{word} {' and '.join(names)}" for word, names in (("more", more), ("less", less)) if names]
    return f"direction {number}: {', '.join(parts)}"
