"""Synthetic rows from a released law, written to a file: post-processing, so as many as one likes at no cost.

No row is a record's: rows are drawn from the released numbers and from nothing else.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pubpriv.data.columns import Column, parse_columns
from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.released.estimate import Estimate, replacing
from pubpriv.released.law import Mixture

_SUFFIXES = (".csv", ".parquet")
_AT_ONCE = 2**22
"""Cells drawn at a time: memory does not grow with the number of rows."""

_BACK = {"log": np.exp, "log1p": np.expm1}


def write_sample(
    estimate: Estimate, n: int, path: str | os.PathLike[str], seed: int | None = None, original_units: bool = False
) -> None:
    """Draw `n` rows from a released Gaussian or mixture and write them as CSV or Parquet, by the path's suffix.

    Args:
        estimate: that was released.
        n: how many rows.
        path: of the file, which is replaced whole if it is there.
        seed: the same seed gives the same file; None: another one each time.
        original_units: columns like `log1p(cost)` are mapped back and written as `cost`.

    Raises:
        InvalidInput: a release without a law, another suffix, or two columns of one name.
        Unavailable: the disk refuses the file.
    """
    file = Path(path)
    law = estimate.law
    if law is None:
        raise InvalidInput(f"a {estimate.kind} is no law to draw rows from: release a gaussian or a mixture")
    if file.suffix.lower() not in _SUFFIXES:
        raise InvalidInput(f"rows are written to a {' or '.join(_SUFFIXES)} file, not to {str(file)!r}")
    columns = parse_columns(estimate.columns)
    names = [column.source if original_units else column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"two columns would both be called {', '.join(twice)}: leave --original-units out")
    refused = None
    try:
        _write(file, names, _drawn(law, n, seed, columns if original_units else ()))
    except OSError as error:
        refused = error.strerror or "it does not say why"
    if refused is not None:
        raise Unavailable(f"the rows cannot be written to {file} ({refused}): choose another place")


def _drawn(law: Mixture, n: int, seed: int | None, back: tuple[Column, ...]) -> Iterator[np.ndarray]:
    """Rows (m, d), some at a time, each part with a seed of its own."""
    most = max(1, _AT_ONCE // len(law.means[0]))
    seeds = np.random.SeedSequence(seed)
    for start in range(0, n, most):
        rows = law.sample(min(most, n - start), int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0]))
        with np.errstate(over="ignore"):
            for i, column in enumerate(back):
                if column.function:
                    rows[:, i] = _BACK[column.function](rows[:, i])
        yield rows


def _write(file: Path, names: list[str], parts: Iterator[np.ndarray]) -> None:
    """All parts to a file beside `file`, which then takes its place."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    schema = pa.schema([(name, pa.float64()) for name in names])
    is_csv = file.suffix.lower() == ".csv"
    writer = pyarrow.csv.CSVWriter if is_csv else pyarrow.parquet.ParquetWriter
    with replacing(file) as temporary, writer(str(temporary), schema) as out:
        for rows in parts:
            out.write_table(pa.Table.from_arrays([pa.array(column) for column in rows.T], schema=schema))
