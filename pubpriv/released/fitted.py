"""A fitted regression: coefficients of one column on others, with errors that hold where scatter is uneven."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pubpriv.released.estimate import Estimate, finite
from pubpriv.released.findings import doubts, states_of_columns
from pubpriv.released.numbers import Number, State, counted, of_all
from pubpriv.released.regression.fields import SOURCES
from pubpriv.released.regression.figures import Figure, standard_errors
from pubpriv.released.regression.model import INTERCEPT, Regression

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

_MEASURES = {"r2": "share", "residual_sd": "log"}
"""Parts beside the coefficients, with the scale on which their errors are even."""

_ROBUST = "standard errors hold where scatter depends on the regressors (a sandwich), and include the privacy noise"


@dataclass(frozen=True, kw_only=True, repr=False)
class RegressionEstimate(Estimate):
    """A fitted linear regression.

    Attributes:
        outcome, on: names of columns.
        values: k = 1 + d coefficients, intercept first, in units of the outcome per unit of each column.
        covariances: of their errors (k, k), by source: sampling, privacy and clipping.
        freedom: degrees of freedom of their standard errors, for Student's t.
        rows: number of rows behind them, or of persons.
        measures: R^2 and the standard deviation about the line, by part.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> x = np.random.default_rng(1).standard_normal((5000, 2))
        >>> rows = np.column_stack([x, x @ [1.0, -2.0] + np.random.default_rng(2).standard_normal(5000)])
        >>> curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=3, columns=("a", "b", "y"))
        >>> found = pp.estimate_regression(rows[:60], curator, outcome="y")
        >>> found.on, bool(abs(found.coefficients[1] + 2) < 0.1)
        (('a', 'b'), True)
    """

    kind: ClassVar[str] = "regression"
    quantities: ClassVar[Mapping[str, str]] = {
        "intercept": "intercept",
        "coefficients": "coefficient",
        "r2": "R2",
        "residual_sd": "residual_sd",
    }

    outcome: str
    on: tuple[str, ...]
    values: tuple[float, ...]
    covariances: Mapping[str, tuple[tuple[float, ...], ...]]
    freedom: float
    rows: float
    measures: Mapping[str, float]

    @property
    def estimand(self) -> str:
        """What was estimated, in words."""
        return f"coefficients of a linear regression of {self.outcome} on {', '.join(self.on)}"

    @property
    def subject(self) -> str:
        """What was released, in a few words."""
        return f"a regression of {self.outcome} on {counted(len(self.on), 'column')}"

    @property
    def intercept(self) -> float:
        """The expected outcome where all of `on` are zero."""
        return self.values[0]

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients (d,) of `on`."""
        return np.array(self.values[1:])

    @property
    def r2(self) -> float:
        """Share of the variance of the outcome that the line explains."""
        return self.measures["r2"]

    @property
    def residual_sd(self) -> float:
        """Standard deviation about the line."""
        return self.measures["residual_sd"]

    @property
    def regression(self) -> Regression:
        """The table of a journal, with contrasts and predictions, as of a regression that follows from a release."""
        numbers = {number.name: number for number in self.numbers()}
        states = {number.column or INTERCEPT: number.state for number in numbers.values() if number.quantity in _TABLE}
        measures = [self._measure(part).judged(None) for part in _MEASURES]
        figures = tuple(_with_state(figure, states[figure.name]) for figure in self._figures())
        return Regression(
            outcome=self.outcome,
            on=self.on,
            coefficients=figures,
            r2=measures[0],
            residual_sd=measures[1],
            correlations=(),
            partial_correlations=(),
            covariances={name: self._covariance(name) for name in SOURCES},
            n=self.rows,
            edge=0.0,
            title=f"{self.outcome} on {', '.join(self.on)}, of {self.of_whom}",
            guarantee=str(self.privacy["guarantee"]["text"]),
            reasons=tuple(finding.sentence() for finding in doubts(self.findings or ())),
            notes=(_ROBUST,),
            free=False,
        )

    def predict(self, rows: "ArrayLike", level: float = 0.95) -> "pd.DataFrame":
        """Return the expected outcome of rows (m, d) of `on`, with its error and the interval of a level.

        Raises:
            InvalidInput: rows of other columns.
        """
        return self.regression.predict(rows, level)

    def contrast(self, of: str | Mapping[str, float]) -> Figure:
        """Return a sum of coefficients with its error: `a - b`.

        Raises:
            InvalidInput: a column that the regression has not, or a text that is no sum.
        """
        return self.regression.contrast(of)

    def to_latex(self, level: float = 0.95) -> str:
        """Write the table as journals print it, for LaTeX with booktabs."""
        return self.regression.to_latex(level)

    def _covariance(self, source: str) -> np.ndarray:
        k = len(self.values)
        return np.array(self.covariances.get(source, np.zeros((k, k))), dtype=float)

    def _figures(self) -> list[Figure]:
        """Coefficients as figures, intercept first."""
        errors = {name: standard_errors(self._covariance(name)) for name in SOURCES}
        return [
            Figure.of(name, value, {each: float(own[i]) for each, own in errors.items()}, self.freedom)
            for i, (name, value) in enumerate(zip((INTERCEPT, *self.on), self.values, strict=True))
        ]

    def _measure(self, part: str) -> Figure:
        known = self.errors_of(part)
        errors = {name: float(known.get(name, 0.0)) for name in SOURCES}
        return Figure.of(self.quantities[part], self.measures[part], errors, scale=_MEASURES[part])

    def _rows(self) -> Iterator[Number]:
        for figure in self._figures():
            column = None if figure.name == INTERCEPT else figure.name
            yield _number("intercept" if column is None else "coefficient", column, figure)
        for part in _MEASURES:
            yield _number(self.quantities[part], None, self._measure(part))

    @property
    def states(self) -> dict[str, State] | None:
        """The state of each regressor's coefficient; None if the file does not say."""
        return None if self.findings is None else states_of_columns(self.on, of_all(self.numbers()))

    def parts(self) -> dict[str, np.ndarray]:
        """Return the numbers as arrays, by their names in a model file."""
        return {name: np.asarray(getattr(self, name), dtype=float) for name in self.quantities}

    def shape_of(self, part: str) -> tuple[int, ...]:
        """Return the shape of a part and of its standard errors."""
        return (len(self.on),) if part == "coefficients" else ()

    def _lacking(self) -> Iterator[str]:
        yield from super()._lacking()
        k = len(self.on) + 1
        if {self.outcome, *self.on} != {*self.columns} or len(self.on) + 1 != len(self.columns):
            yield "its outcome and regressors should be its columns"
        if not all(finite(self.covariances.get(name), (k, k)) for name in ("sampling", "privacy", "clipping")):
            yield "the covariances of its errors are not whole"
        if not (self.freedom >= 1 and self.rows > 0):
            yield "its degrees of freedom and its number of rows should be positive"

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | {
            "outcome": self.outcome,
            "on": list(self.on),
            "covariances": {name: np.array(matrix).tolist() for name, matrix in self.covariances.items()},
            "freedom": self.freedom,
            "rows": self.rows,
        }

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read coefficients, measures and the covariances of errors."""
        return {
            "outcome": str(data["outcome"]),
            "on": tuple(map(str, data["on"])),
            "values": (float(data["intercept"]), *map(float, data["coefficients"])),
            "covariances": {
                str(name): tuple(tuple(map(float, row)) for row in matrix)
                for name, matrix in data["covariances"].items()
            },
            "freedom": float(data["freedom"]),
            "rows": float(data["rows"]),
            "measures": {part: float(data[part]) for part in _MEASURES},
        }


_TABLE = ("intercept", "coefficient")
"""Quantities of the table of coefficients."""


def _with_state(figure: Figure, state: State | None) -> Figure:
    return replace(figure, state=state)


def _number(quantity: str, column: str | None, figure: Figure) -> Number:
    low, high = figure.interval()
    parts = figure.sampling, figure.privacy, figure.clipping
    return Number(quantity, None, column, None, figure.value, *parts, low=low, high=high)
