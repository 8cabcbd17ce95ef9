"""`pubpriv bench mixture`: one setting with the clock, or a whole table beside what it must reach."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pubpriv.cli.bench_output import cell, tell
from pubpriv.cli.console import table
from pubpriv.cli.options import JsonOption
from pubpriv.errors import InvalidInput

PARTS = {
    "grid": "median errors over those of the estimate that knows every row's component, and their bounds",
    "dp": "the same at (1, 1e-6)-DP",
    "unknown-k": "runs that are not told the number of components, rho 0.5",
    "bks": "the paper's own algorithms: runs that tell the components apart, rho 1",
    "real": "mean held-out log-likelihood per row, medians over draws",
    "coverage": "share of 95% intervals that hold the truth",
}
COLUMNS = {
    "grid": (
        *("setting", "budget", "runs", "success", "success_bound", "mean_ratio", "mean_bound", "covariance_ratio"),
        *("covariance_bound", "weight_ratio", "weight_bound", "redrawn", "met"),
    ),
    "unknown-k": ("setting", "runs", "right", "bound", "found", "met"),
    "bks": (
        *("method", "constants", "k", "separation", "m", "runs", "clean", "clean_bound", "mean_ratio"),
        *("covariance_ratio", "theorem_separation", "theorem_m", "theorem_n", "met"),
    ),
    "real": (
        *("table", "budget", "draws", "public_only", "released", "non_private", "gap_closed", "bound", "worst"),
        *("worst_bound", "kept_public", "met"),
    ),
    "coverage": ("setting", "budget", "runs", "weights", "means", "covariances", "met"),
}
COLUMNS["dp"] = COLUMNS["grid"]
RUNS = {"setting": 10, "grid": 20, "dp": 20, "unknown-k": 20, "bks": 10, "real": 5, "coverage": 20}


def mixture(
    setting: Annotated[str | None, typer.Option(help="S1, S2, S4, S5, S6 or S8; without --part: S2.")] = None,
    part: Annotated[str | None, typer.Option(help=f"A whole table: {', '.join(PARTS)}.")] = None,
    budget: Annotated[str, typer.Option(help="Budget of each run of a setting.")] = "zcdp:0.5",
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each row; default by part.")] = None,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; the next ones follow.")] = 0,
    clock: Annotated[bool, typer.Option(help="Also time a real private fit against scikit-learn's EM.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes of simulated runs.")] = 2,
    adult: Annotated[Path | None, typer.Option(help="File of the census extract, for --part real.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Mixtures against the true-label oracle and scikit-learn's EM: one setting, or --part for a whole table."""
    if part is None:
        from benchmarks.mixture import bench

        tell(bench(setting or "S2", budget, runs or RUNS["setting"], clock, first_seed, workers), as_json)
        return
    if part not in PARTS:
        raise InvalidInput(f"part must be one of {', '.join(PARTS)}, not {part!r}")
    found = _table(part, setting, runs or RUNS[part], first_seed, workers, adult)
    if not as_json:
        names = COLUMNS[part]
        table(
            f"{part}: {PARTS[part]}",
            [name.replace("_", " ") for name in names],
            [[cell(row.get(name)) for name in names] for row in found["rows"]],
        )
    tell(found, as_json)


def _table(
    part: str, setting: str | None, runs: int, first_seed: int, workers: int, adult: Path | None
) -> dict[str, Any]:
    if setting is not None and part not in ("grid", "dp"):
        raise InvalidInput(f"--part {part} has settings of its own: leave --setting out")
    if part in ("grid", "dp"):
        from benchmarks import grid

        return grid.bench(grid.names_of(part == "dp", setting), part == "dp", runs, first_seed, workers)
    if part == "real":
        from benchmarks import real

        return real.bench(adult, runs, first_seed, workers)
    if part == "coverage":
        from benchmarks import coverage

        return coverage.bench(runs, first_seed, workers)
    if part == "unknown-k":
        from benchmarks import unknown_k

        return unknown_k.bench(runs, first_seed, workers)
    from benchmarks import bks

    rows = bks.table(runs, first_seed, workers)
    return {
        "bench": "mixture",
        "part": part,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": min(row["clean"] / row["clean_bound"] for row in rows if row["clean_bound"]),
        "ratio_of": "share of runs whose groups are the components, over what it must be, least",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }
