"""What rows could do to a number that are too few to be seen: shown beside it, as an interval of its own.

Noise hides a few rows of any table, however far out they lie. Nothing shows that there are such rows, so they are in no
interval; but a reader who knows what a column holds may know better. Everything follows from the model file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt

from pubpriv.data.columns import parse_columns
from pubpriv.released.estimate import Estimate
from pubpriv.released.numbers import Number


@dataclass(frozen=True)
class CouldHide:
    """What rows could do that are too few to be seen, if there are any: an interval of its own.

    Attributes:
        rows: that noise hides where nothing is measured.
        beyond: how far out, in standard deviations of the column.
        low, high: how far they could move the number, down and up, in its own units.
    """

    rows: float
    beyond: float
    low: float
    high: float


def could_hide(estimate: Estimate, number: Number) -> CouldHide | None:
    """Compute how far rows too few to be seen could move a mean or a variance, if all lay on one side of one column.

    None for other numbers, and where the file does not say how many rows could hide, or that they move no number.
    """
    hidden = estimate.diagnostics.get("could_hide")
    if not isinstance(hidden, Mapping) or estimate.n_components is not None or number.group is not None:
        return None
    if number.column is None or not (number.is_variance or number.quantity == "mean"):
        return None
    rows, beyond = (_finite(hidden.get(part)) for part in ("rows", "beyond"))
    whole = _finite(estimate.diagnostics.get("whole_rows")) or _finite(estimate.provenance.get("n_private"))
    spread = _spread_of(estimate, number)
    if rows is None or beyond is None or spread is None or not whole:
        return None
    down, up = _bounded(estimate, number.column, beyond * spread)
    share = rows / whole
    if number.is_variance:
        return CouldHide(rows, beyond, 0.0, share * max(-down, up) ** 2)
    return CouldHide(rows, beyond, share * down, share * up)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and isfinite(value) else None


def _spread_of(estimate: Estimate, number: Number) -> float | None:
    """Find the sd of a number's column; of a release of means alone, from the sampling error of the mean."""
    at, covariance = estimate.columns.index(str(number.column)), estimate.parts().get("covariance")
    if covariance is not None:
        return sqrt(float(covariance[at, at]))
    rows = estimate.provenance.get("n_private")
    return number.sampling * sqrt(rows) if isinstance(rows, int) else None


def _bounded(estimate: Estimate, name: str, distance: float) -> tuple[float, float]:
    """Give how far down and up a row may lie from the mean of a column: `distance`, and not beyond declared bounds."""
    between = parse_columns((name,))[0].between
    if between is None:
        return -distance, distance
    mean = float(estimate.parts()["mean"][estimate.columns.index(name)])
    return max(-distance, min(between[0] - mean, 0.0)), min(distance, max(between[1] - mean, 0.0))
