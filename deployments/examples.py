"""Tables for the example datasets: open data, and made-up data, split into a private and a public part."""

from pathlib import Path

import numpy as np

from pubpriv.errors import InvalidInput

EXAMPLES = Path(__file__).parent / "datasets"
"""What `serve` and `deploy` take where no files are named."""

ROWS, PUBLIC_ROWS = 4000, 20


def make(folder: Path) -> None:
    """Write the tables of `deployments/datasets` under `folder`, unless they are there.

    Raises:
        InvalidInput: statsmodels, with which the RAND data come, is not installed.
    """
    for name, write in (("rand-people", _rand_people), ("sensors", _sensors)):
        tables = folder / name
        if not (tables / "public.parquet").exists():
            tables.mkdir(parents=True, exist_ok=True)
            write(tables)


def _rand_people(folder: Path) -> None:
    from benchmarks.randhie import split

    try:
        parts = split(seed=0, unit="person")
    except InvalidInput as error:
        missing = str(error)
    else:
        parts.private.to_parquet(folder / "private.parquet")
        parts.public.to_parquet(folder / "public.parquet")
        return
    raise InvalidInput(f"{missing}; or leave the examples out with --no-examples")


def _sensors(folder: Path) -> None:
    import pandas as pd

    generator = np.random.default_rng(20_260_101)
    for name, n in (("private", ROWS), ("public", PUBLIC_ROWS)):
        rows = generator.standard_normal((n, 3)) + np.array([20.0, 5.0, 0.0])
        pd.DataFrame(rows, columns=["temperature", "wind", "drift"]).to_parquet(folder / f"{name}.parquet")
