"""What exactness costs: a scan with integer totals over a plain whitened product, over the same file."""

import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import pubpriv as pp
from pubpriv.data.frames import Frame
from pubpriv.data.questions import LiftedGram
from pubpriv.data.regions import Everything
from pubpriv.data.scan import scan
from pubpriv.estimators.mixture.rounds import GRAM_SHARES

_ROW_GROUP = 100_000


def bench(rows: int, dims: int, repeats: int = 5) -> dict[str, Any]:
    """Seconds of an exact lifted Gram over those of a plain `Y @ Y.T`, one thread, alternating, median."""
    names = [f"x{i}" for i in range(dims)]
    generator = np.random.default_rng(0)
    whiten = np.eye(dims) + generator.standard_normal((dims, dims)) / dims
    frame = Frame.of(generator.standard_normal(dims), whiten)
    radius = 2.0 * dims**0.5
    question = LiftedGram.priced(Everything(), (frame,), (radius,), Fraction(1), GRAM_SHARES)
    with TemporaryDirectory() as folder, threadpool_limits(1), ThreadPoolExecutor(1) as thread:
        table = pp.PrivateTable.open(write(Path(folder) / "scan.parquet", rows, names, generator), names)
        seconds = []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            _plain(table, frame)
            middle = time.perf_counter()
            scan(table, question, thread)
            seconds.append((middle - start, time.perf_counter() - middle))
    seconds = seconds[1:]
    return {
        "bench": "scan",
        "rows": rows,
        "dims": dims,
        "ratio": median(exact / plain for plain, exact in seconds),
        "ratio_of": "exact lifted Gram over a plain whitened Y @ Y.T, same file, one thread, median",
        "exact_seconds": median(exact for _, exact in seconds),
        "plain_seconds": median(plain for plain, _ in seconds),
    }


def _plain(table: Any, frame: Frame) -> np.ndarray:
    """The same blocks, whitened and multiplied in floats: no clipping, no rounding, no check."""
    center, matrix = frame.dense()
    gram = np.zeros((len(matrix), len(matrix)))
    for chunk in table.chunks():
        for block in chunk.blocks():
            y = matrix @ (block - center[:, None])
            gram += y @ y.T
    return gram


def gram(dims: int) -> LiftedGram:
    """What a Gaussian asks, of `dims` columns: a lifted Gram of all rows under a dense map."""
    frame = Frame.of(np.zeros(dims), np.eye(dims) + 0.1)
    return LiftedGram.priced(Everything(), (frame,), (2.0 * dims**0.5,), Fraction(1), GRAM_SHARES)


def write(path: Path, rows: int, names: list[str], generator: np.random.Generator) -> Path:
    """Standard normal columns in a Parquet file, one row group in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, _ROW_GROUP):
            count = min(_ROW_GROUP, rows - start)
            group = [pa.array(generator.standard_normal(count)) for _ in names]
            writer.write_table(pa.table(group, schema=schema), row_group_size=_ROW_GROUP)
    return path
