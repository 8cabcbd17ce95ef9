"""How long commands take to start: whole processes beside the imports that nobody can save them.

A command and what it is held against run in turns, each as a fresh process with its bytecode at hand, so that a busy
or a slow machine slows both.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.fits import write_rows

_LIBRARIES = "import numpy, scipy.special, pyarrow.parquet, sqlalchemy, opendp.measurements"
_CLUSTERING = f"{_LIBRARIES}, sklearn.cluster, sklearn.mixture"
_N = 20_000
_COLUMNS = ("x0", "x1", "x2")
_PROGRAM = "from pubpriv.cli.main import main; main()"


@dataclass(frozen=True)
class _Start:
    """A command line of `pubpriv` (None: `import pubpriv`), the Python code it is held against, and its bound.

    Attributes:
        arguments: of the command; a fit's tables and ledger are added.
        beside: Python code.
        ratio: most times that the command may take as long.
        seconds: most seconds that it may take longer; where this is given, there is no ratio to meet.
    """

    arguments: str | None
    beside: str
    ratio: float | None = None
    seconds: float | None = None


_STARTS = {
    "import pubpriv": _Start(None, "pass", seconds=0.1),
    "pubpriv --help": _Start("--help", "import typer", 1.3),
    "pubpriv budget show": _Start("budget show one-group", "import sqlalchemy", 2.0),
    "pubpriv fit mean": _Start("fit mean --dataset one-group", _LIBRARIES, 2.5),
    "pubpriv fit gaussian": _Start("fit gaussian --dataset one-group", _LIBRARIES, 2.5),
    "pubpriv fit mixture": _Start("fit mixture --components 2 --dataset two-groups", _CLUSTERING, 2.0),
}


def bench(repeats: int = 5) -> dict[str, Any]:
    """A row for each of `STARTS`: medians of seconds, their ratio and that of processor time, beside the bound.

    Args:
        repeats: fresh processes of each command and of each import, in turns.
    """
    with TemporaryDirectory() as folder:
        _prepare(Path(folder))
        rows = [_row(name, start, Path(folder), repeats) for name, start in _STARTS.items()]
    fit = next(row for row in rows if row["of"] == "pubpriv fit gaussian")
    return {
        "bench": "startup",
        "repeats": repeats,
        "ratio": fit["ratio"],
        "ratio_of": f"seconds of a plain `fit gaussian` of {_N} x {len(_COLUMNS)}, over those of `{_LIBRARIES}`",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _prepare(folder: Path) -> None:
    """Tables of one group and of two, and a ledger with room for every run of either."""
    generator = np.random.default_rng(0)
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        for dataset, groups in (("one-group", 1), ("two-groups", 2)):
            for name, n in (("private", _N), ("public", 60)):
                rows = generator.standard_normal((n, len(_COLUMNS))) + 10 * generator.integers(0, groups, n)[:, None]
                write_rows(rows, folder / f"{dataset}-{name}.parquet")
            table = pp.PrivateTable.open(folder / f"{dataset}-private.parquet", list(_COLUMNS))
            ledger.register(dataset, budget=pp.ZeroConcentratedDP(10**6), table=table)


def _row(name: str, start: _Start, folder: Path, repeats: int) -> dict[str, Any]:
    ours, beside = _command(start, folder), [sys.executable, "-c", start.beside]
    pairs = [(_timed(ours, folder), _timed(beside, folder)) for _ in range(repeats + 1)][1:]  # the first compiles
    (seconds, own), (least, imports) = (
        [median(values) for values in zip(*side, strict=True)] for side in zip(*pairs, strict=True)
    )
    met = seconds <= least * start.ratio if start.ratio is not None else seconds - least <= (start.seconds or 0.0)
    return {
        "of": name,
        "beside": start.beside,
        "seconds": seconds,
        "seconds_beside": least,
        "ratio": seconds / least,
        "processor_ratio": own / imports,
        "bound": start.ratio,
        "seconds_bound": start.seconds,
        "met": met,
    }


def _command(start: _Start, folder: Path) -> list[str]:
    if start.arguments is None:
        return [sys.executable, "-c", "import pubpriv"]
    arguments = start.arguments.split()
    if arguments[0] in ("fit", "budget"):
        arguments += ["--ledger", f"sqlite:///{folder}/ledger.db"]
    if arguments[0] == "fit":
        dataset = arguments[arguments.index("--dataset") + 1]
        tables = [f"{folder}/{dataset}-{name}.parquet" for name in ("private", "public")]
        arguments += ["--plain", "--private", tables[0], "--public", tables[1], "--budget", "zcdp:0.5"]
        arguments += ["--out", f"{folder}/model.json", "--overwrite"]
    return [sys.executable, "-c", _PROGRAM, *arguments]


def _timed(command: list[str], folder: Path) -> tuple[float, float]:
    """(seconds, processor seconds) of one fresh process, whose bytecode is kept in `folder`."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    seconds, after = time.perf_counter() - start, os.times()
    children = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, children
