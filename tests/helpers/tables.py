"""Tables for tests of whole runs."""

from pathlib import Path

import numpy as np
import pandas as pd


def gaussian_tables(folder: Path, private: int = 900, public: int = 8) -> tuple[str, str]:
    """Standard normal rows of columns a and b in `private.parquet` and `public.parquet`, whose paths are returned."""
    paths = folder / "private.parquet", folder / "public.parquet"
    for path, n in zip(paths, (private, public), strict=True):
        rows = np.random.default_rng(n).standard_normal((n, 2))
        pd.DataFrame(rows, columns=["a", "b"]).to_parquet(path)
    return str(paths[0]), str(paths[1])


def write_groups(folder: Path, name: str, seed: int) -> None:
    """`NAME-private.parquet` and `NAME-public.parquet`: two groups in three columns."""
    generator = np.random.default_rng(seed)
    for part, n in (("private", 3000), ("public", 12)):
        rows = generator.standard_normal((n, 3)) + 12.0 * (np.arange(n) % 3 == 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(folder / f"{name}-{part}.parquet", row_group_size=1000)
