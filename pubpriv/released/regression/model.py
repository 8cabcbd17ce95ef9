"""A regression of a released column on others: what a table in a journal shows, and what follows from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.exports import csv_of
from pubpriv.released.regression.fields import SOURCES
from pubpriv.released.regression.figures import Figure, frame_of
from pubpriv.released.regression.printing import Printed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

INTERCEPT = "(intercept)"
"""Name of the constant among coefficients."""


@dataclass(frozen=True, repr=False)
class Regression(Printed):
    """Least squares of a released column on others, which costs no privacy.

    Attributes:
        outcome, on: names of the columns.
        coefficients: intercept first, then one for each of `on`, in the units of the outcome per unit of the column.
        r2: share of the variance of the outcome that the line explains, adjusted for the number of columns and for the
            noise.
        residual_sd: standard deviation about the line.
        correlations, partial_correlations: of the outcome with each of `on`; partial ones hold the others fixed.
        covariances: of the errors of the coefficients, by source.
        n: number of rows, or of persons, as released.
        edge: largest eigenvalue of the noise where the covariance is white; 0: there is none.
        title: what was regressed, of which release.
        guarantee: of the release, in words.
        reasons: why it is doubtful; empty if it is not.
        notes: what a reader should know.
        free: whether it follows from a release for other ends; else it was fitted for itself.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> x = np.random.default_rng(1).standard_normal((5000, 2))
        >>> rows = np.column_stack([x, x @ [1.0, -2.0] + np.random.default_rng(2).standard_normal(5000)])
        >>> curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=3, columns=("a", "b", "y"))
        >>> found = pp.estimate_gaussian(rows[:60], curator).regress("y", on=["a", "b"])
        >>> [figure.name for figure in found.coefficients], abs(found["b"].value + 2) < 0.1
        (['(intercept)', 'a', 'b'], True)
    """

    outcome: str
    on: tuple[str, ...]
    coefficients: tuple[Figure, ...]
    r2: Figure
    residual_sd: Figure
    correlations: tuple[Figure, ...]
    partial_correlations: tuple[Figure, ...]
    covariances: Mapping[str, np.ndarray]
    n: float
    edge: float
    title: str
    guarantee: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    free: bool = True

    def __repr__(self) -> str:
        return f"Regression({self.title}{'; DOUBTFUL' if self.reasons else ''})"

    def __getitem__(self, name: str) -> Figure:
        return self.coefficients[self._place(name)]

    @property
    def intercept(self) -> Figure:
        """The expected outcome where all of `on` are zero."""
        return self.coefficients[0]

    @property
    def coef(self) -> np.ndarray:
        """Coefficients (d,) of `on`, without the intercept."""
        return np.array([figure.value for figure in self.coefficients[1:]])

    def cov(self, source: str | None = None) -> np.ndarray:
        """Return the covariance (1 + d, 1 + d) of the errors of the coefficients, intercept first.

        Args:
            source: `sampling`, `privacy`, `clipping` or `shrinkage`; None: of all together.

        Raises:
            InvalidInput: there is no such source.
        """
        if source is None:
            return np.asarray(sum(self.covariances[each] for each in SOURCES))
        if source not in self.covariances:
            raise InvalidInput(f"sources of errors are {', '.join(SOURCES)}, not {source!r}")
        return self.covariances[source]

    def contrast(self, of: str | Mapping[str, float]) -> Figure:
        """Return a sum of coefficients with its error, which is not that of independent ones.

        Args:
            of: weights by column, such as `{"a": 1, "b": -1}`, or a text: `a - b`, `2 a + 0.5 b`. Names with blanks or
                signs in them stand in backticks.

        Raises:
            InvalidInput: a column that the regression has not, or a text that is no sum.
        """
        weights = _parsed(of) if isinstance(of, str) else dict(of)
        name = of if isinstance(of, str) else " + ".join(f"{weight:g} {column}" for column, weight in weights.items())
        row = np.zeros(len(self.coefficients))
        for column, weight in weights.items():
            row[self._place(column)] += float(weight)
        if not row.any() or not np.isfinite(row).all():
            raise InvalidInput(f"the contrast {name!r} has no weights: write for example `a - b`")
        return self._sum(name, row)

    def predict(self, rows: "ArrayLike", level: float = 0.95) -> "pd.DataFrame":
        """Return the expected outcome of rows (m, d) of `on`, with its error and the interval of a level.

        `low` and `high` are for the expected outcome; one row's own lies `residual_sd` about it.

        Raises:
            InvalidInput: rows of other columns.
        """
        table = np.asarray(rows, dtype=float)
        if table.ndim != 2 or table.shape[1] != len(self.on):
            raise InvalidInput(f"rows are an array of numbers (m, {len(self.on)}): {', '.join(self.on)}")
        return frame_of([self._sum(str(i), np.append(1.0, row)) for i, row in enumerate(table)], level)

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """Return a frame with a row for each coefficient: value, error, errors by source, interval, state."""
        return frame_of(self.coefficients, level)

    def to_csv(self, level: float = 0.95) -> str:
        """Write the coefficients as CSV; a name that a spreadsheet would run as a formula gets an apostrophe."""
        return csv_of(self.to_frame(level))

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain data."""
        return {
            "title": self.title,
            "outcome": self.outcome,
            "on": list(self.on),
            "n": self.n,
            "level": level,
            "coefficients": [figure.to_json(level) | {"t": figure.statistic} for figure in self.coefficients],
            "r2": self.r2.to_json(level),
            "residual_sd": self.residual_sd.to_json(level),
            "correlations": [figure.to_json(level) for figure in self.correlations],
            "partial_correlations": [figure.to_json(level) for figure in self.partial_correlations],
            "covariances": {source: matrix.tolist() for source, matrix in self.covariances.items()},
            "noise_edge": self.edge,
            "guarantee": self.guarantee,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
        }

    def _sum(self, name: str, row: np.ndarray) -> Figure:
        """Return a sum of coefficients; it is worth as much as they are, and has their fewest degrees of freedom."""
        errors = {each: float(np.sqrt(max(row @ self.covariances[each] @ row, 0.0))) for each in SOURCES}
        value = float(row @ [figure.value for figure in self.coefficients])
        figure = Figure.of(name, value, errors, freedom=min(each.freedom for each in self.coefficients))
        return figure.judged(None if self.coefficients[0].state is None else bool(self.reasons))

    def _place(self, name: str) -> int:
        names = [figure.name for figure in self.coefficients]
        if name not in names:
            raise InvalidInput(f"the regression has no coefficient {name!r}: it has {', '.join(names)}")
        return names.index(name)


_TERM = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)?\s*\*?\s*(`[^`]+`|\(intercept\)|[^\s+*-]+)\s*")
"""A term of a contrast: sign, weight, column."""


def _parsed(text: str) -> dict[str, float]:
    """Read a contrast: `a - b`, `2 a + 0.5 b`."""
    weights: dict[str, float] = {}
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at and not term[1]):
            raise InvalidInput(f"{text!r} is no sum of coefficients: write for example `a - b` or `2 a + 0.5 b`")
        name = term[3].strip("`")
        weights[name] = weights.get(name, 0.0) + (-1 if term[1] == "-" else 1) * float(term[2] or 1)
        at = term.end()
    return weights
