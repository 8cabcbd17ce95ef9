"""`pubpriv bench`: measurements that print what the documentation claims. They use data of their own only."""

import json
from typing import Annotated, Any

import typer

from cli.console import out, table
from cli.options import JsonOption

app = typer.Typer(no_args_is_help=True, help="Benchmarks on data of their own: scan, memory, ledger, demo, mixture.")


@app.command()
def scan(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the table.")] = 1_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of the table.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """What exact totals cost: integer lifted Gram over a plain whitened Y @ Y.T, one thread, same file."""
    from benchmarks.scan import bench

    _tell(bench(rows, dims), as_json)


@app.command()
def memory(
    rows: Annotated[int, typer.Option(min=10, help="Rows of the larger table.")] = 10_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of both tables.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """What a scan holds: peak memory over many rows, over the peak over a tenth of them. Needs disk for both."""
    from benchmarks.memory import bench

    _tell(bench(rows, dims), as_json)


@app.command()
def ledger(
    charges: Annotated[int, typer.Option(min=1, help="Charges in the ledger, each with its answer.")] = 100_000,
    runs: Annotated[int, typer.Option(min=1, help="Runs among which they are shared.")] = 1_000,
    as_json: JsonOption = False,
) -> None:
    """What a long ledger costs: seconds of `ledger verify` and of `budget show`, start-up included."""
    from benchmarks.ledger import bench

    _tell(bench(charges, runs), as_json)


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
    _tell(found, as_json)


@app.command()
def mixture(
    setting: Annotated[str, typer.Option(help="S1, S2, S4, S5, S6 or S8.")] = "S2",
    budget: Annotated[str, typer.Option(help="Budget of each run.")] = "zcdp:0.5",
    runs: Annotated[int, typer.Option(min=1, help="Runs, seeds 0, 1, ...")] = 10,
    clock: Annotated[bool, typer.Option(help="Also time a real private fit against scikit-learn's EM.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Errors over the true-label oracle's on synthetic mixtures, and time over scikit-learn's EM."""
    from benchmarks.mixture import bench

    _tell(bench(setting, budget, runs, clock), as_json)


def _tell(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        out(json.dumps(found))
        return
    for name, value in found.items():
        if not isinstance(value, list):
            out(
                f"{name.replace('_', ' ')}: {value:.4g}"
                if isinstance(value, float)
                else f"{name.replace('_', ' ')}: {value}"
            )
