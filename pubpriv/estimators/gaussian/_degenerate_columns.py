"""Columns whose scale the public rows do not show: find them in the public rows, and give each a scale of its own.

Examples: a rare indicator, a column of zeros with a huge tail, a constant, a combination of other columns in all or
most rows. In some sixty public rows their spread is zero, or accidental, and rounds that look at the middle of the
records would stretch them without limit. So they are not whitened. Each gets one coordinate, z = weights . (x - center)
/ scale, with a scale that the user gives or that private counts of |z| show, and is measured with all others in the
last release.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.columns import meant
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Shells
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._agreements import agreement
from pubpriv.estimators.gaussian._preconditioner import (
    DEGENERATE,
    ROUNDING,
    Preconditioner,
    precondition,
)
from pubpriv.estimators.public_rows import check_unit
from pubpriv.estimators.steps import step

_MOSTLY = 0.75
"""A column is degenerate if this share of the public rows has the same value in it."""

_HALF = 0.5
"""A single column is degenerate from this share on if the value lies in its middle: the rounds would look only at the
rows that have it, and shrink to nothing around them."""

_TOGETHER, _REPEATED = 0.3, 2
"""If this share of the public rows, and at least this number, have the same values in some columns, these could shrink
to nothing in the rounds, which look at the median row. That is harmless without other columns, but others would drown
in noise."""

_CLEARLY = 100.0
"""A column is not a combination of others if the rest is this many times what the whitening treats as zero."""

_OWN_SCALE = "what is left is measured at its own scale"

_SIZES = 10.0 ** np.linspace(-6.0, 6.0, 121)
"""Edges of the bins of sizes, in units of a column, each a quarter larger than the one before."""


@public_value
@dataclass(frozen=True)
class _DegenerateColumn:
    """One degenerate column: z = weights . (x - center), before it is divided by its scale.

    Attributes:
        index: index of the column.
        weights: (d,); 1 for the column itself, minus the combination of other columns that it equals in the public
            rows.
        unit: a size around which the scale is searched for, in the table's units.
        spread: whether `unit` is a spread that the public rows have.
        scale: the user's scale, or None: to be learnt.
        reason: the reason, for the user.
    """

    stored_as: ClassVar[str] = "Awkward"  # in ledgers

    index: int
    weights: tuple[float, ...]
    unit: float
    spread: bool
    scale: float | None
    reason: str


@public_value
@dataclass(frozen=True)
class Layout:
    """Which columns the learner whitens, and which have a scale of their own.

    Attributes:
        columns: names of all columns.
        center: (d,) origin of all coordinates: public means, or the commonest value of a column that is mostly one
            value.
        regular: indices of whitened columns.
        degenerate: the other columns.
    """

    columns: tuple[str, ...]
    center: tuple[float, ...]
    regular: tuple[int, ...]
    degenerate: tuple[_DegenerateColumn, ...] = field(metadata={"stored_as": "awkward"})  # in ledgers

    @property
    def dimension(self) -> int:
        """d, the number of all columns."""
        return len(self.columns)

    @property
    def learnt(self) -> tuple[_DegenerateColumn, ...]:
        """Degenerate columns whose scale needs a question."""
        return tuple(column for column in self.degenerate if column.scale is None)

    def frame(self, preconditioner: Preconditioner) -> Frame:
        """Give the public whitening of the regular columns, as a map from all d columns.

        Args:
            preconditioner: preconditioner of the regular columns, in order.
        """
        center, whitening, _ = preconditioner.arrays
        if not self.degenerate:
            return Frame.of(center, whitening)
        matrix = np.zeros((len(self.regular), self.dimension))
        matrix[:, list(self.regular)] = whitening
        return Frame.of(np.array(self.center), matrix)

    def whitened(self, public: PublicTable) -> PublicTable:
        """Select the regular columns of the public rows."""
        return public.select([public.columns[index] for index in self.regular]) if self.degenerate else public

    @property
    def given(self) -> dict[str, float]:
        """Scales from the user, by column."""
        return {self.columns[own.index]: own.scale for own in self.degenerate if own.scale is not None}

    def notes(self) -> list[str]:
        """List the reasons why columns are degenerate, for the reader."""
        return [f"column {self.columns[column.index]} {column.reason}" for column in self.degenerate]


_Scales = Mapping[str, Any] | tuple[tuple[str, Any], ...]
"""Scales by column: a mapping, or pairs, which can be passed to a task."""


@step(title="look for degenerate columns")
def examine(public: PublicTable, scale: _Scales | None = None) -> Layout:
    """Find the degenerate columns, by the public rows only.

    Args:
        public: public rows (m, d).
        scale: typical deviations that the user knows, by column, in the table's units; those columns use them.

    Raises:
        InvalidInput: a scale for an unknown column or of an impossible size.
    """
    given = _checked_scale(public.columns, scale)
    rows = public.rows
    m, d = rows.shape
    with np.errstate(all="ignore"):
        center, found = rows.mean(axis=0), dict[int, _DegenerateColumn]()
        squares = np.square(rows - center).sum(axis=0)
        if not (squares * m < np.finfo(np.float64).max).all():
            raise InvalidInput("the public values are too large for a covariance: use other units")
        most = _most(rows)
        for index, name in enumerate(public.columns):
            own = _alone(index, rows[:, index], d, given.get(name), most)
            if own is not None:
                found[index], center[index] = own
        if m > d:  # fewer are combinations of each other by their number
            for column in _combined(rows, [index for index in range(d) if index not in found]):
                found[column.index] = column
            for column in _agreeing(rows, [index for index in range(d) if index not in found]):
                found[column.index] = column
        for index in _heaped(rows, [index for index in range(d) if index not in found]) if found else ():
            own = _alone(index, rows[:, index], d, None, _TOGETHER)
            assert own is not None
            found[index], center[index] = own
        values = [
            np.median(rows @ np.array(column.weights)) if _combines(column) else center[index]
            for index, column in found.items()
        ]
        center = centered(center, list(found.values()), np.array(values))
    regular = tuple(index for index in range(d) if index not in found)
    degenerate = tuple(found[index] for index in sorted(found))
    layout = Layout(public.columns, tuple(center.tolist()), regular, degenerate)
    if regular:
        precondition(layout.whitened(public))  # so that what it refuses is refused before a run begins
    return layout


def centered(center: np.ndarray, degenerate: Sequence[_DegenerateColumn], values: np.ndarray) -> np.ndarray:
    """Move the center (d,) of degenerate columns so that the weights of each give its value there.

    Otherwise, if the columns that they combine are centred elsewhere, most rows of the combination would not be at
    zero.
    """
    if not any(map(_combines, degenerate)):
        return center
    own, weights = [column.index for column in degenerate], np.array([column.weights for column in degenerate])
    moved = center.copy()
    moved[own] = 0.0
    moved[own] = np.linalg.solve(weights[:, own], values - weights @ moved)
    return moved


def _combines(column: _DegenerateColumn) -> bool:
    return sum(weight != 0 for weight in column.weights) > 1


def _checked_scale(columns: tuple[str, ...], scale: _Scales | None) -> dict[str, float]:
    """Convert the user's scales to numbers.

    Raises:
        InvalidInput: an unknown column, or a value that is not positive and finite.
    """
    if not isinstance(scale, Mapping | tuple | None):
        raise InvalidInput(f"scale gives numbers by column, for example {{{columns[0]!r}: 10.0}}, not {scale!r}")
    given = dict(scale or {})
    unknown = [str(name) for name in given if name not in columns]
    if unknown:
        raise InvalidInput(
            f"scale names {', '.join(unknown)}, but the columns are {', '.join(columns)}{meant(unknown[0], columns)}"
        )
    try:
        numbers = {name: float(value) for name, value in given.items()}
    except (TypeError, ValueError):
        numbers = {"": math.nan}
    if not all(0 < value < math.inf for value in numbers.values()):
        raise InvalidInput("a scale must be a positive number: about one standard deviation of its column")
    for name, value in numbers.items():
        check_unit(value, f"the scale of {name}")
    return numbers


def scale_question(layout: Layout, column: _DegenerateColumn, ask: Ask) -> Counts:
    """Ask how many rows have |z| in each bin of sizes."""
    frame = Frame.of(np.array(layout.center), np.array([column.weights]))
    return Counts.priced(Shells(frame, tuple((column.unit * _SIZES).tolist())), ask.price)


def _heaped(rows: np.ndarray, candidates: list[int]) -> list[int]:
    """List the `candidates` with many equal values, most of them first, if rows share their values in all of them."""
    shares = {index: float(np.unique(rows[:, index], return_counts=True)[1].max()) / len(rows) for index in candidates}
    left, taken = sorted(candidates, key=shares.__getitem__), list[int]()
    least = max(_TOGETHER * len(rows), _REPEATED)
    while left and np.unique(rows[:, left], axis=0, return_counts=True)[1].max() >= least:
        taken.append(left.pop())
    return taken


def _most(rows: np.ndarray) -> float:
    """Give the share of equal values in the public rows (m, d) from which on a column is degenerate."""
    if rows.shape[1] > 1:
        return _MOSTLY
    values, counts = np.unique(rows, return_counts=True)
    return _HALF if 0 < int(np.argmax(counts)) < len(values) - 1 else _MOSTLY


def _alone(
    index: int, cells: np.ndarray, d: int, scale: float | None, most: float = _MOSTLY
) -> tuple[_DegenerateColumn, float] | None:
    """Give (column, its center) if a share `most` of the rows has one value in it, or if the user gave a scale."""
    values, counts = np.unique(cells, return_counts=True)
    common, share = float(values[np.argmax(counts)]), float(counts.max() / len(cells))
    deviation = float(np.sqrt(np.mean((cells - common) ** 2)))
    constant = deviation <= ROUNDING * float(np.abs(cells).max())
    if constant:
        reason, unit = "has the same value in every public row", max(abs(common), 1.0)
    elif share >= most:
        reason, unit = f"has the value {common:g} in {share:.0%} of the public rows", deviation
    elif scale is not None:
        reason, unit, common = "has a scale from the user", scale, float(cells.mean())
    else:
        return None
    origin = "is measured at the user's scale" if scale is not None else "is measured at a scale of its own"
    reason = reason if reason.endswith("user") else f"{reason}: it {origin}"
    weights = tuple(float(j == index) for j in range(d))
    return _DegenerateColumn(index, weights, unit, not constant, scale, reason), common


def _combined(rows: np.ndarray, candidates: list[int]) -> list[_DegenerateColumn]:
    """Find those of the columns `candidates` that are combinations of the ones before them in the public rows."""
    found, kept, basis = [], list[int](), np.zeros((len(rows), 0))
    centred = rows - rows.mean(axis=0)
    for index in candidates:
        size = float(np.linalg.norm(centred[:, index]))
        rest = centred[:, index] / size
        for _ in range(2):  # two passes give orthogonality to the last digit
            rest = rest - basis @ (basis.T @ rest)
        rounding = ROUNDING * max(float(np.abs(rows[:, index]).max()) * math.sqrt(len(rows)) / size, 1.0)
        if np.linalg.norm(rest) > _CLEARLY * max(DEGENERATE, rounding):
            kept.append(index)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            continue
        scales = np.linalg.norm(centred[:, kept], axis=0)
        solved, *_ = np.linalg.lstsq(centred[:, kept] / scales, centred[:, index], rcond=None)
        weights = np.zeros(rows.shape[1])
        weights[kept], weights[index] = -solved / scales, 1.0
        reason = f"can be computed from other columns in the public rows: {_OWN_SCALE}"
        found.append(
            _DegenerateColumn(index, tuple(weights.tolist()), size / math.sqrt(len(rows) - 1), False, None, reason)
        )
    return found


def _agreeing(rows: np.ndarray, candidates: list[int]) -> list[_DegenerateColumn]:
    """Find those of the columns `candidates` that are combinations of others in most of the public rows."""
    found, left = list[_DegenerateColumn](), list(candidates)
    while (agreed := agreement(rows[:, left])) is not None:
        some, value, share = agreed
        weights = np.zeros(rows.shape[1])
        weights[left] = some
        index = left.pop(int(np.argmax(some == 1.0)))
        unit = float(np.sqrt(np.mean((rows @ weights - value) ** 2)))
        reason = f"can be computed from other columns in {share:.0%} of the public rows: {_OWN_SCALE}"
        found.append(_DegenerateColumn(index, tuple(weights.tolist()), unit, True, None, reason))
    return found
