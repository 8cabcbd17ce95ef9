"""Means and variances of a Parquet file by OpenDP alone, column by column: a process of its own, for its time."""

import sys
from typing import Any

import numpy as np

_BOUND = 8.0
"""Every cell is clipped to this; the rows are standard normal."""


def moments(columns: list[np.ndarray], epsilon: float) -> list[tuple[float, float]]:
    """Release mean and variance of each column of known size, each number at `epsilon`.

    Args:
        columns: of floats, (n,) each.
        epsilon: of each number.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    made = []
    for column in columns:
        bounds, size = (-_BOUND, _BOUND), len(column)
        space = dp.vector_domain(dp.atom_domain(bounds=bounds, nan=False), size=size), dp.symmetric_distance()
        both = []
        for then, width in ((dp.t.then_mean, 2 * _BOUND), (dp.t.then_variance, (2 * _BOUND) ** 2)):
            summed: Any = space >> then()
            both.append(float((summed >> dp.m.then_laplace(2 * width / size / epsilon))(column)))
        made.append((both[0], both[1]))
    return made


def main() -> None:
    """Print means and variances of the columns that are named of a file."""
    import pyarrow.parquet as pq

    path, *names = sys.argv[1:]
    read = pq.read_table(path, columns=names)
    print(moments([np.clip(read.column(name).to_numpy(), -_BOUND, _BOUND) for name in names], 1.0))


if __name__ == "__main__":
    main()
