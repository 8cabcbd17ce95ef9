"""`pubpriv bench`: measurements that print what the documentation claims. They use data of their own only."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from pubpriv.cli.bench_mixture import mixture
from pubpriv.cli.bench_output import cell, tell
from pubpriv.cli.console import table
from pubpriv.cli.extras import checkout
from pubpriv.cli.options import JsonOption
from pubpriv.errors import InvalidInput

MOST_DRAWS = 20
"""Of the public rows of a real table."""

app = typer.Typer(no_args_is_help=True, help="Benchmarks: the figures that the documentation claims.")


@app.callback()
def bench() -> None:
    """Find the folder `benchmarks`, for this process and those that it starts.

    Raises:
        InvalidInput: the package was installed without it.
    """
    root = checkout()
    if root is None:
        raise InvalidInput("benchmarks are no part of an installed package: run `pubpriv bench` in a checkout's .venv")
    sys.path.insert(0, str(root))
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@app.command()
def scan(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the table.")] = 1_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of the table.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """What exact totals cost: integer lifted Gram over a plain whitened Y @ Y.T, one thread, same file."""
    from benchmarks.scan import bench

    tell(bench(rows, dims), as_json)


@app.command()
def memory(
    rows: Annotated[int, typer.Option(min=10, help="Rows of the larger table.")] = 10_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of both tables.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """What a scan holds: peak memory over many rows, over the peak over a tenth of them. Needs disk for both."""
    from benchmarks.memory import bench

    tell(bench(rows, dims), as_json)


@app.command()
def ledger(
    charges: Annotated[int, typer.Option(min=1, help="Charges in the ledger, each with its answer.")] = 100_000,
    runs: Annotated[int, typer.Option(min=1, help="Runs among which they are shared.")] = 1_000,
    as_json: JsonOption = False,
) -> None:
    """What a long ledger costs: seconds of `ledger verify` and of `budget show`, start-up included."""
    from benchmarks.ledger import bench

    tell(bench(charges, runs), as_json)


@app.command()
def startup(
    repeats: Annotated[int, typer.Option(min=1, help="Fresh processes of each command, in turns with imports.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """How long commands take to start, over the imports that they cannot do without, beside their bounds."""
    from benchmarks.startup import bench

    found = bench(repeats)
    if not as_json:
        names = ("seconds", "seconds_beside", "ratio", "processor_ratio", "bound", "seconds_bound", "met")
        rows = [[row["of"], row["beside"], *(cell(row[name]) for name in names)] for row in found["rows"]]
        title = f"fresh processes, medians of {found['repeats']}"
        table(title, ["of", "beside", *(name.replace("_", " ") for name in names)], rows)
    tell(found, as_json)


@app.command()
def demo(
    unit: Annotated[str, typer.Option(help="person or person-year.")] = "person",
    splits: Annotated[int, typer.Option(min=1, help="Splits, seeds 0, 1, ...")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Share of the gap between public-only and non-private models that the private one closes."""
    from benchmarks.demo import bench

    found = bench(unit, splits)
    if not as_json:
        rows = [
            [
                str(i),
                f"{s['public_only']:.3f}",
                f"{s['released']:.3f}",
                f"{s['non_private']:.3f}",
                f"{s['gap_closed']:.0%}",
            ]
            for i, s in enumerate(found["splits"])
        ]
        table(
            f"mean held-out log-likelihood per row, unit {found['unit']}, {found['budget']}",
            ["split", "public only", "released", "non-private", "gap closed"],
            rows,
        )
    tell(found, as_json)


app.command()(mixture)


@app.command()
def gaussian(
    part: Annotated[str, typer.Option(help="mean, covariance or all.")] = "all",
    budget: Annotated[str, typer.Option(help="Budget of each run.")] = "zcdp:0.5",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each row, seeds 0, 1, ...")] = 100,
    method: Annotated[str, typer.Option(help="Of the mean: two-step, clip-and-noise or coinpress.")] = "two-step",
    real: Annotated[bool, typer.Option(help="Repeat one row of the mean with a real curator and its noise.")] = True,
    real_table: Annotated[
        str | None, typer.Option("--table", help="rand or adult: a real table in the place of Gaussian rows.")
    ] = None,
    adult: Annotated[Path | None, typer.Option(help="File of the census extract, for --table adult.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Errors of one Gaussian over the non-private estimate's on the same rows, beside what they must reach."""
    if real_table is not None:
        _tables(real_table, min(runs, MOST_DRAWS), adult, as_json)
        return
    from benchmarks.gaussian import bench

    found = bench(part, budget, runs, method, real)
    if not as_json:
        names = ("runs", "ratio", "target", "predicted", "covered", "flagged", "bad", "seconds_per_run")
        rows = [[row["of"], row["setting"], *(cell(row.get(name)) for name in names)] for row in found["rows"]]
        title = f"error over the non-private one, {found['budget']}, 10% trimmed means"
        table(title, ["of", "setting", *(name.replace("_", " ") for name in names)], rows)
    tell(found, as_json)


@app.command()
def figure1(
    runs: Annotated[int, typer.Option(min=4, help="Trials of each point.")] = 100,
    plot: Annotated[Path, typer.Option(help="Where the picture goes: an .svg file.")] = Path("figure1.svg"),
    as_json: JsonOption = False,
) -> None:
    """Figure 1 of the paper (Appendix D), repeated: CoinPress, the paper's estimator and ours, and small n."""
    from benchmarks.figure1 import CURVES, bench
    from pubpriv.released.report.spending import check_plot

    check_plot(plot)
    found = bench(runs, plot)
    if not as_json:
        for title, panel in found["panels"].items():
            rows = [[str(at["n"]), *(f"{at[name][0]:.4f}" for name in CURVES), str(at["best_t"])] for at in panel]
            table(title, ["n", *(label for label, _, _ in CURVES.values()), "best t"], rows)
    tell({name: value for name, value in found.items() if as_json or name != "panels"} | {"plot": str(plot)}, as_json)


def _tables(name: str, runs: int, adult: Path | None, as_json: bool) -> None:
    from benchmarks.tables import bench

    found = bench(name, runs, adult=adult)
    if not as_json:
        names = ("error", "target", "worst", "mean_error", "public_only", "moments", "flagged")
        rows = [[row["of"], row["setting"], *(cell(row[name]) for name in names)] for row in found["rows"]]
        title = f"errors to the table's own mean and covariance, median of {found['runs']} draws of 60 public rows"
        table(title, ["columns", "setting", *(name.replace("_", " ") for name in names)], rows)
    tell(found, as_json)
