"""Synthetic rows from a released law, written to a file: post-processing, so any number of rows costs nothing.

No row is that of a record: rows are drawn only from the released numbers.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pubpriv.data.columns import Column, meant, parse_columns
from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.released.bending import Bent, Limits
from pubpriv.released.estimate import Estimate, replacing
from pubpriv.released.law import Mixture
from pubpriv.released.margins import Margins
from pubpriv.released.numbers import with_rest
from pubpriv.released.quantiles import QuantilesEstimate

_OF_LAW = (
    "synthetic rows keep what was released: shares, means, spreads and correlations, with their errors, which more "
    "rows do not make smaller. They lose the rest: rare rows, gaps, heaps at a value, tails, and relations of columns "
    "other than correlations. Test programs and plans on them; draw conclusions from the release"
)
"""The note that is shown whenever synthetic rows are written."""

_OF_COLUMNS = (
    "synthetic rows keep the distribution of each column as it was released: quantiles, heaps, shares and missing "
    "cells, with their errors, which more rows do not make smaller. They lose all relations of columns, since none was "
    "released. Test programs and plans on them; draw conclusions from the release"
)
"""The same for rows that are drawn from distributions of columns."""


def kept_and_lost(estimate: Estimate) -> str:
    """Return the note on what rows drawn from a release keep and lose."""
    return _OF_COLUMNS if isinstance(estimate, QuantilesEstimate) else _OF_LAW


_SUFFIXES = (".csv", ".parquet")
_AT_ONCE = 2**22
"""Cells drawn at a time, so that memory does not grow with the number of rows."""


@dataclass(frozen=True)
class _Drawing:
    """Settings for drawing rows.

    Attributes:
        law: law of the columns that are not given, in the model's own columns.
        columns: columns of the release, in order.
        names: their names in the file.
        fixed: values of given columns, by index, as in the file.
        back: whether expressions are undone.
    """

    law: Mixture | Margins | None
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    fixed: Mapping[int, float]
    back: bool

    def rows(self, n: int, seed: int | None) -> Iterator[np.ndarray]:
        """Yield parts of the rows (m, d), each with a seed of its own."""
        most = max(1, _AT_ONCE // len(self.columns))
        free = [i for i in range(len(self.columns)) if i not in self.fixed]
        seeds = np.random.SeedSequence(seed)
        for start in range(0, n, most):
            rows = np.empty((min(most, n - start), len(self.columns)))
            own_seed = int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0])
            if self.law is not None:
                rows[:, free] = self.law.sample(len(rows), own_seed)
            with np.errstate(over="ignore"):
                for i in free if self.back else ():
                    self.columns[i].undo(rows[:, i])
            for i, value in self.fixed.items():
                rows[:, i] = value
            yield rows


def names_of(estimate: Estimate, original_units: bool) -> tuple[str, ...]:
    """Return the column names of a file of synthetic rows.

    Raises:
        InvalidInput: two columns with the same name.
    """
    columns = parse_columns(estimate.columns)
    plain = (original_units or column.function is None for column in columns)
    names = tuple(column.original if own else column.name for column, own in zip(columns, plain, strict=True))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"two columns would both be called {', '.join(twice)}: leave --original-units out")
    return names


def write_sample(
    estimate: Estimate,
    n: int,
    path: str | os.PathLike[str],
    seed: int | None = None,
    original_units: bool = False,
    limits: Mapping[str, Limits] | None = None,
    given: Mapping[str, float] | None = None,
) -> tuple[Bent, ...]:
    """Draw `n` rows from a release and write them as CSV or Parquet, by the path's suffix.

    Rows of a Gaussian or a mixture are drawn from its law; of quantiles, each column from its own distribution.

    Args:
        estimate: the release.
        n: number of rows.
        path: path of the file, which is replaced atomically if it exists.
        seed: the same seed gives the same file; None: a random one.
        original_units: map columns like `log1p(cost)` back and write them as `cost`.
        limits: limits of columns, by their names in the file; columns without limits may have any value, except
            clipped ones.
        given: fixed values of columns, by their names in the file: the other columns are drawn from the released law
            given these values.

    Returns:
        The effect of bending, for each column with limits.

    Raises:
        InvalidInput: a release without a law, another suffix, two columns with the same name, an unknown column, or
            an impossible value.
        Unavailable: the disk refuses the file.
    """
    file = Path(path)
    law = estimate.margins if isinstance(estimate, QuantilesEstimate) else estimate.law
    if law is None:
        raise InvalidInput(
            f"{estimate.subject} is no law to draw rows from: release a gaussian, a mixture or a description"
        )
    if file.suffix.lower() not in _SUFFIXES:
        raise InvalidInput(f"rows are written to a {' or '.join(_SUFFIXES)} file, not to {str(file)!r}")
    names = names_of(estimate, original_units)
    columns = zip(names, parse_columns(estimate.columns), strict=True)
    clipped = {name: Limits(*column.between) for name, column in columns if column.between is not None}
    limits, given = clipped | dict(limits or {}), dict(given or {})
    for name in (*limits, *given):
        if name not in names:
            raise InvalidInput(f"there is no column {name!r} among {', '.join(names)}{meant(name, names)}")
    drawing = _drawing(law, parse_columns(estimate.columns), names, given, original_units)
    bent = {names.index(name): Bent(name, limit) for name, limit in limits.items() if name not in given}
    refused = None
    try:
        levels = {i: column.levels for i, column in enumerate(drawing.columns) if original_units and column.levels}
        _write(file, names, limits, levels, _bending(drawing.rows(n, seed), bent))
    except OSError as error:
        refused = error.strerror or "it does not say why"
    if refused is not None:
        raise Unavailable(f"the rows cannot be written to {file} ({refused}): choose another place")
    return tuple(bent.values())


def _drawing(
    law: Mixture | Margins, columns: tuple[Column, ...], names: tuple[str, ...], given: Mapping[str, float], back: bool
) -> _Drawing:
    """Prepare drawing: the law of the columns that are not given.

    Raises:
        InvalidInput: a value that its column cannot have.
    """
    fixed = {names.index(name): float(value) for name, value in given.items()}
    values = np.array(list(fixed.values()))
    with np.errstate(all="ignore"):
        for position, i in enumerate(fixed if back else ()):
            columns[i].apply(values[position : position + 1])
    for i, value in zip(fixed, values, strict=True):
        if not np.isfinite(value):
            raise InvalidInput(f"{names[i]} cannot be {fixed[i]:g}: {columns[i].name} of it is no number")
    if len(fixed) == len(columns):
        return _Drawing(None, columns, names, fixed, back)
    return _Drawing(law.given(list(fixed), values.tolist()) if fixed else law, columns, names, fixed, back)


def _bending(parts: Iterator[np.ndarray], bent: Mapping[int, Bent]) -> Iterator[np.ndarray]:
    for rows in parts:
        for i, column in bent.items():
            whole = ~np.isnan(rows[:, i])
            rows[whole, i] = column.bend(rows[whole, i])
        yield rows


def _write(
    file: Path,
    names: tuple[str, ...],
    limits: Mapping[str, Limits],
    levels: Mapping[int, tuple[str, ...]],
    parts: Iterator[np.ndarray],
) -> None:
    """Write all parts to a temporary file, which then replaces `file`.

    Whole numbers are written as integers, and levels of columns, by index, as their texts.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    kinds = [pa.int64() if name in limits and limits[name].whole else pa.float64() for name in names]
    kinds = [pa.string() if i in levels else kind for i, kind in enumerate(kinds)]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    is_csv = file.suffix.lower() == ".csv"
    writer = pyarrow.csv.CSVWriter if is_csv else pyarrow.parquet.ParquetWriter
    with replacing(file) as temporary, writer(str(temporary), schema) as out:
        for rows in parts:
            cells = [_texts(part, levels[i]) if i in levels else part for i, part in enumerate(rows.T)]
            columns = [pa.array(part, from_pandas=True).cast(kind) for part, kind in zip(cells, kinds, strict=True)]
            out.write_table(pa.Table.from_arrays(columns, schema=schema))


def _texts(cells: np.ndarray, levels: tuple[str, ...]) -> list[str | None]:
    """Return the level of each number, and None for a missing cell."""
    named = with_rest(levels)
    return [None if np.isnan(cell) else named[round(min(max(cell, 0), len(levels)))] for cell in cells.tolist()]
