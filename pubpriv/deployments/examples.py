"""Tables for the example datasets: open data, and made-up data, split into a private and a public part."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pubpriv.deployments.randhie import ALL_YEARS, Split, split
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = Path(__file__).parent / "datasets"
"""Dataset files of `serve` and `deploy` if none are named."""

_ROWS, _PUBLIC_ROWS = 4000, 20

_MACHINES = ("temperature", "current", "noise", "vibration_x", "vibration_y", "vibration_z")
STATES = {
    # share of the minutes, and means of the columns
    "idle": (0.5, (30.0, 1.0, 45.0, 0.2, 0.2, 0.3)),
    "under load": (0.3, (55.0, 9.0, 70.0, 1.5, 1.2, 0.9)),
    "worn": (0.2, (75.0, 11.0, 82.0, 1.6, 3.4, 2.8)),
}
_SPREAD = (2.0, 0.6, 2.5, 0.1, 0.15, 0.15)
_MINUTES, _BENCH_MINUTES = 12_000, 30
"""Numbers of private rows and of public rows: enough public rows to separate the states, but not in every column, so
that a run asks for private principal components."""


def make(folder: Path) -> None:
    """Write the tables of `deployments/datasets` under `folder`, unless they are there.

    Raises:
        InvalidInput: statsmodels, with which the RAND data come, is not installed.
    """
    for name, write in (("rand-people", _rand_people), ("sensors", _sensors), ("machines", _machines)):
        tables = folder / name
        if not (tables / "public.parquet").exists():
            tables.mkdir(parents=True, exist_ok=True)
            write(tables)


def _rand_people(folder: Path) -> None:
    try:
        parts = split(seed=0, unit=ALL_YEARS)
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
    for name, n in (("private", _ROWS), ("public", _PUBLIC_ROWS)):
        rows = generator.standard_normal((n, 3)) + np.array([20.0, 5.0, 0.0])
        pd.DataFrame(rows, columns=["temperature", "wind", "drift"]).to_parquet(folder / f"{name}.parquet")


def _machine_minutes(n: int, seed: int) -> "pd.DataFrame":
    """Generate n minutes of machines in three well separated states, one state after the other."""
    import pandas as pd

    shares, means = zip(*STATES.values(), strict=True)
    generator = np.random.default_rng(seed)
    states = generator.permutation(np.repeat(np.arange(len(shares)), np.round(n * np.array(shares)).astype(int)))
    rows = np.array(means)[states] + np.array(_SPREAD) * generator.standard_normal((len(states), len(_MACHINES)))
    return pd.DataFrame(rows, columns=list(_MACHINES))


def machines() -> Split:
    """Generate minutes of machines in the three `STATES`: many private, a few public, and held-out ones to score."""
    return Split(
        public=_machine_minutes(_BENCH_MINUTES, 2),
        private=_machine_minutes(_MINUTES, 1),
        held_out=_machine_minutes(_MINUTES, 3),
    )


def _machines(folder: Path) -> None:
    parts = machines()
    parts.private.to_parquet(folder / "private.parquet")
    parts.public.to_parquet(folder / "public.parquet")
