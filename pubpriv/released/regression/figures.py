"""Numbers that follow from a release, with their errors by source and their intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import atanh, exp, hypot, isinf, tanh
from typing import TYPE_CHECKING, Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.numbers import WIDE, State
from pubpriv.released.regression.fields import ALONE, SOURCES, Functions, Source

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that follows from a release.

    Attributes:
        name: of a coefficient its column, `(intercept)`, or what it is.
        value: the estimate, in the data's own units.
        sampling, privacy, clipping, shrinkage: its standard errors by source.
        freedom: degrees of freedom of its standard error, for Student's t; infinite: a normal law.
        scale: where its error is even: `plain`, `share` (the same, cut at 0 and 1), `atanh` (a correlation) or `log` (a
            standard deviation).
        alone: standard error that sampling would leave of a group's number by itself; 0 elsewhere.
        state: what it is worth; None where the file of an older version does not say.
    """

    name: str
    value: float
    sampling: float
    privacy: float
    clipping: float = 0.0
    shrinkage: float = 0.0
    freedom: float = float("inf")
    scale: str = "plain"
    alone: float = 0.0
    state: State | None = None

    @classmethod
    def of(
        cls, name: str, value: float, errors: Mapping[str, float], freedom: float = float("inf"), scale: str = "plain"
    ) -> "Figure":
        """Make a figure from its standard errors by source, and by `ALONE` if it is a group's."""
        sampling, privacy, clipping, shrinkage = (errors[source] for source in SOURCES)
        return cls(name, value, sampling, privacy, clipping, shrinkage, freedom, scale, errors.get(ALONE, 0.0))

    @property
    def error(self) -> float:
        """The standard error from all sources together, which are independent."""
        return hypot(self.sampling, self.privacy, self.clipping, self.shrinkage)

    @property
    def statistic(self) -> float:
        """The estimate over its standard error."""
        return self.value / self.error if self.error else float("inf")

    @property
    def p_value(self) -> float:
        """Probability of an estimate at least so far from zero, if the truth is zero and the errors are as stated."""
        from scipy.special import ndtr, stdtr

        far = -abs(self.statistic)
        return float(2 * (ndtr(far) if isinf(self.freedom) else stdtr(self.freedom, far)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of an interval.

        Raises:
            InvalidInput: the level is not between 0 and 1.
        """
        from scipy.special import ndtri, stdtrit

        if not isinstance(level, int | float) or not 0 < level < 1:
            raise InvalidInput(f"a level lies between 0 and 1, for example 0.95, not {level!r}")
        rank = 0.5 + level / 2
        reach = float(ndtri(rank) if isinf(self.freedom) else stdtrit(self.freedom, rank)) * self.error
        if self.scale == "log" and self.value > 0:
            reach /= self.value
            return self.value * exp(-reach), self.value * exp(reach)
        if self.scale == "atanh" and abs(self.value) < 1:
            middle, reach = atanh(self.value), reach / (1 - self.value**2)
            return tanh(middle - reach), tanh(middle + reach)
        low, high = self.value - reach, self.value + reach
        return (max(low, 0.0), min(high, 1.0)) if self.scale == "share" else (low, high)

    def judged(self, doubtful: bool | None) -> "Figure":
        """Give it its state; None: the file does not say what is doubtful."""
        if doubtful is None:
            return self
        wide = State.WIDE if self.error > WIDE * max(self.sampling, self.alone) else State.GOOD
        return replace(self, state=State.DOUBTFUL if doubtful else wide)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain data, with the interval of a level."""
        low, high = self.interval(level)
        return {
            "name": self.name,
            "value": self.value,
            "error": self.error,
            **{source: getattr(self, source) for source in SOURCES},
            "low": low,
            "high": high,
            "state": None if self.state is None else str(self.state),
        }


def figures_of(
    names: Sequence[str], values: Sequence[float], source: Source, functions: Functions, scale: str = "plain"
) -> tuple[Figure, ...]:
    """Make figures from functions of a mean and covariance."""
    errors = {name: standard_errors(source.errors(name, functions)) for name in (*SOURCES, ALONE)}
    return tuple(
        Figure.of(name, float(value), {each: float(own[i]) for each, own in errors.items()}, scale=scale)
        for i, (name, value) in enumerate(zip(names, values, strict=True))
    )


def standard_errors(covariance: np.ndarray) -> np.ndarray:
    """Return the roots (m,) of the diagonal of a covariance (m, m), whose rounding errors may be below zero."""
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def frame_of(figures: Iterable[Figure], level: float = 0.95) -> "pd.DataFrame":
    """Return a frame with a row for each figure: value, error, errors by source, interval, state."""
    import pandas as pd

    return pd.DataFrame([figure.to_json(level) for figure in figures])
