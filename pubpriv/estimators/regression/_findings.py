"""What a reader should know of a released regression: coefficients that a few rows carry, and lines that are no answer.

Two estimates of each coefficient are known. The start's follows from a covariance, and weighs far rows in full; the
fitted one clips scores. Where they differ beyond what noise, clipping and a part of the sampling explain, a few far
rows carry the coefficient, and least squares of the table is another number than the fitted one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.estimators.regression._newton import FittedLine
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding
from pubpriv.released.regression.figures import standard_errors

_APART = 3.3
"""Standard errors between both estimates from which on they differ."""

_SHARED = 0.4
"""Part of the sampling variance by which both may differ: they are of the same rows, with other weights."""

_LEANS = 1.25
"""Clipping error over the others together from which on all coefficients are doubtful."""

_UNSETTLED = 1.0
"""Square of the last step over the stated errors above which the line has not settled."""

_FAR = 1.5
"""Mean square of scores, or of residuals, over that of the clipped ones, from which on least squares is of far rows."""

_FLAT = -3.0
"""Least eigenvalue of the slope, in noise edges, below which the slope is none."""

_OF = ("coefficient",)


@public_value
@dataclass(frozen=True)
class FreeLine:
    """Coefficients that follow from the start alone, and their errors, intercept first; empty: it tells none."""

    values: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()


def findings_on(
    on: Sequence[str], fitted: FittedLine, free: FreeLine, fewer: float, sure: float
) -> tuple[Finding, ...]:
    """Return what was found of a regression.

    Args:
        on: names of the regressors.
        fitted: the line and its errors.
        free: coefficients of the start.
        fewer: number of rows that are left out, because a cell is missing.
        sure: sd of that number.
    """
    return tuple(_found(on, fitted, free, fewer, sure))


def _found(on: Sequence[str], fitted: FittedLine, free: FreeLine, fewer: float, sure: float) -> Iterator[Finding]:
    sampling, privacy, clipping = (
        standard_errors(np.array(part)) for part in (fitted.sampling, fitted.privacy, fitted.clipping)
    )
    if fitted.unsettled > _UNSETTLED:
        text = f"the last step was so long that the line may be {fitted.unsettled:.2g} of its errors off"
        remedy = "a larger budget, more rows, fewer columns, or public rows that are more like the private ones"
        yield Finding("unsettled", (), DOUBTFUL, text, {"errors": fitted.unsettled}, _OF, remedy)
    if fitted.weakest < _FLAT:
        text = "the slope of the scores is not positive in some direction, so that the steps lead nowhere"
        yield Finding("no-slope", (), DOUBTFUL, text, remedy="a larger budget, more rows or fewer columns")
    lean = float(np.max(clipping[1:] / np.maximum(np.hypot(sampling, privacy)[1:], 1e-300)))
    if lean > _LEANS:
        text = f"rows far from the line were clipped, which may move coefficients by {lean:.2g} of their other errors"
        remedy = "map long tails, log1p(y) say, or bound a column, clip(x, low, high)"
        yield Finding("long-tailed-scores", (), DOUBTFUL, text, {"errors": lean}, _OF, remedy)
    if fitted.far > _FAR:
        text = (
            "a few far rows carry the coefficients of least squares, whose squared errors they make "
            f"{fitted.far:.2g} times as large; here they are clipped, so that these are another line's"
        )
        remedy = "map long tails, log1p(y) say, or bound a column, clip(x, low, high)"
        yield Finding("far-scores", (), DOUBTFUL, text, {"times": fitted.far}, _OF, remedy)
    if not free.values:
        text = "noise in the start is too loud to tell whether a few far rows carry a coefficient"
        yield Finding("far-rows-unchecked", (), NOTE, text, remedy="a larger budget, more rows or fewer columns")
    else:
        apart = np.array(free.values) - np.array(fitted.coefficients)
        known = np.sqrt(np.array(free.errors) ** 2 + privacy**2 + clipping**2 + _SHARED * sampling**2)
        off = np.abs(apart / np.maximum(known, 1e-300))[1:]
        carried = tuple(name for name, each in zip(on, off, strict=True) if each > _APART)
        if carried:
            text = (
                "a few far rows carry it: the covariance, in which they count in full, gives a coefficient "
                f"{float(off.max()):.2g} standard errors off"
            )
            remedy = "map long tails, log1p(y) say, or bound a column; or read both with `pubpriv fit gaussian`"
            yield Finding("few-rows-carry", carried, DOUBTFUL, text, {"errors": float(off.max())}, _OF, remedy)
    if fewer > sure > 0:
        text = f"about {fewer:,.0f} rows with a missing or infinite cell are left out"
        yield Finding("whole-rows", (), NOTE, text, {"rows": float(fewer)})
