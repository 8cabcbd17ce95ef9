"""Precondition: location and shape of the columns from public rows, so that nothing later depends on units.

Source: Bie, Kamath and Singhal 2022, algorithm 1, with the singular value decomposition of the centred public rows
instead of their covariance: squaring would lose half of the digits. Every estimator works in y = whitening (x -
center), where the public rows have mean 0 and covariance I exactly. So neither a column's unit, nor a mean of a million
standard deviations, nor a condition number of 1e8 changes its results.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.steps import step

ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""A public spread must exceed this share of the cells: 64 times what rounding could make of a spread of zero."""

DEGENERATE = 1e-12
"""Least singular value of standardised public rows, relative to the largest one."""

_FEWEST = 2
"""Public rows that show a spread."""

_FEW = "{0} public rows show no correlations of {1} columns, only where each lies and how wide it is"

_SAME = 0.95
"""A column is nearly constant if this share of the public rows has the same value in it."""


@public_value
@dataclass(frozen=True)
class Preconditioner:
    """The map y = whitening (x - center); x = center + colour y.

    Attributes:
        center: public mean, in the table's units.
        whitening: (d, d).
        colour: its inverse, (d, d).
        m: number of public rows.
        notes: notes for the reader about the public rows.
    """

    center: tuple[float, ...]
    whitening: tuple[tuple[float, ...], ...]
    colour: tuple[tuple[float, ...], ...]
    m: int
    notes: tuple[str, ...] = ()

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """center (d,), whitening (d, d) and colour (d, d) as arrays."""
        return np.array(self.center), np.array(self.whitening), np.array(self.colour)

    @property
    def dimension(self) -> int:
        """d, the number of columns."""
        return len(self.center)

    @property
    def typical_radius(self) -> float:
        """Median of |y| for a new row of the same law, exact: Hotelling's T^2, marginal over the public rows."""
        from scipy.special import chdtri, fdtri

        d, m = self.dimension, self.m
        if m <= d:  # columns by themselves: a t's squares in each, taken at their median
            return math.sqrt((1 + 1 / m) * float(chdtri(d, 0.5)) * (m - 1) / float(chdtri(m - 1, 0.5)))
        return math.sqrt((1 + 1 / m) * d * (m - 1) / (m - d) * float(fdtri(d, m - d, 0.5)))


def check_rows(m: int, d: int) -> None:
    """Refuse fewer public rows than show a covariance, where one is assumed of a Gaussian or bounded.

    Raises:
        InvalidInput: m < d + 1.
    """
    if m < d + 1:
        raise InvalidInput(
            f"a Gaussian of {d} columns needs at least {d + 1} public rows, not {m}: give more public rows, ask for "
            "fewer columns, or for the target moments, for which one is enough"
        )


@step(title="precondition")
def precondition(public: PublicTable) -> Preconditioner:
    """Compute center and whitening of public rows (m, d); with no more rows than columns, of each column by itself.

    Columns are standardised before the decomposition, so that a small column keeps its digits next to a large one.

    Raises:
        InvalidInput: a single row; a column that is constant, nearly constant, a linear combination of others,
            or too large for a covariance.
    """
    rows = public.rows
    m, d = rows.shape
    if m < _FEWEST:
        raise InvalidInput(f"{m} public row shows no spread: give {_FEWEST} at least")
    center, scale = _spread(public)
    if m <= d:  # they show no correlations of so many columns: the private rounds do
        own = row_tuples(np.diag(1 / scale)), row_tuples(np.diag(scale))
        return Preconditioner(tuple(center.tolist()), *own, m, (*_dropped(public), _FEW.format(m, d)))
    centred = (rows - center) / scale
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    rounding = ROUNDING * float(np.max(np.abs(rows).max(axis=0) / scale)) * math.sqrt(m)
    if singular[-1] <= max(DEGENERATE * singular[0], rounding):
        raise InvalidInput(
            f"the public rows do not span all {d} columns: {_named(public, directions[-1])} can be computed from the "
            "other columns there. Leave one of them out, or give public rows in which they vary on their own"
        )
    root = singular[:, None] / math.sqrt(m - 1)
    whitening = directions / root / scale
    colour = scale[:, None] * (directions * root).T
    return Preconditioner(tuple(center.tolist()), row_tuples(whitening), row_tuples(colour), m, _dropped(public))


def _dropped(public: PublicTable) -> tuple[str, ...]:
    """Say how many public rows lack a value."""
    text = f"{public.dropped} public rows with a missing or infinite value were left out"
    return (text,) if public.dropped else ()


def _spread(public: PublicTable) -> tuple[np.ndarray, np.ndarray]:
    """Compute (mean, standard deviation) of each column, or refuse by name those that have almost none."""
    rows = public.rows
    with np.errstate(over="ignore", invalid="ignore"):
        center = rows.mean(axis=0)
        center = center + (rows - center).mean(axis=0)  # the mean of large values is itself rounded
        widest = np.abs(rows - center).max(axis=0)
        unit = np.where(widest > 0, widest, 1.0)
        scale = unit * np.sqrt((((rows - center) / unit) ** 2).sum(axis=0) / (len(rows) - 1))
        wild = ~np.isfinite(scale**2 * len(rows)) | ((scale > 0) & (scale**2 < np.finfo(np.float64).tiny))
    if wild.any():
        raise InvalidInput(
            f"the public values of {_list(public, wild)} are too large or too small for a covariance: use other units"
        )
    constant = scale <= ROUNDING * np.abs(rows).max(axis=0)
    if constant.any():
        raise InvalidInput(
            f"{_list(public, constant)} has the same value in every public row, so its scale is not known: "
            "leave it out, or give public rows in which it varies"
        )
    nearly = np.array([np.unique(column, return_counts=True)[1].max() for column in rows.T]) >= _SAME * len(rows)
    if nearly.any():
        raise InvalidInput(
            f"{_list(public, nearly)} has one and the same value in at least {_SAME:.0%} of the public rows, so its "
            "scale is not known from them: leave it out, or give public rows in which it varies"
        )
    return center, scale


def _list(public: PublicTable, wanted: np.ndarray) -> str:
    """Write `column a` or `each of the columns a, b`."""
    names = [name for name, chosen in zip(public.columns, wanted, strict=True) if chosen]
    return f"column {names[0]}" if len(names) == 1 else f"each of the columns {', '.join(names)}"


def _named(public: PublicTable, direction: np.ndarray) -> str:
    """Name the columns that contribute to the direction in which there is no spread."""
    part = np.abs(direction) >= 0.05 * np.abs(direction).max()
    return " and ".join(name for name, chosen in zip(public.columns, part, strict=True) if chosen)
