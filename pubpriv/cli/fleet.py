"""`pubpriv bench fleet`: what grows where many releases, datasets or rows are, and what runs cost."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pubpriv.cli.console import note
from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import JsonOption
from pubpriv.errors import InvalidInput

_CLUSTERS = named("of", "seconds", "million_rows_per_second", "ratio", "bound", "judged") | {
    "million_rows_per_second": "1e6 rows/s",
    "worker_mebibytes": "worker MiB",
    "worker_growth": "growth",
    "client_mebibytes": "client MiB",
    "client_growth": "growth",
    "gigabytes_from_disk": "GB from disk",
    "same_bits": "same bits",
    "met": "met",
}
_RunsOption = Annotated[int, typer.Option(min=100, max=99_999, help="Runs in a ledger, of four charges each.")]

app = typer.Typer(no_args_is_help=True, help="Measure what grows where many releases, datasets or rows are.")


@app.command("history")
def _history(runs: _RunsOption = 8_750, as_json: JsonOption = False) -> None:
    """Measure what a release costs its ledger after a year: history for plots and pages, verifying what is new."""
    from benchmarks.fleet import bench

    tell(bench(runs), as_json)


@app.command("year")
def _year(
    datasets: Annotated[int, typer.Option(min=1, max=999, help="Datasets, each with so many runs.")] = 20,
    runs: _RunsOption = 8_750,
    as_json: JsonOption = False,
) -> None:
    """Fill a ledger as a fleet does in a year, and measure one more release: 3 GB on disk, some minutes."""
    from benchmarks.year import bench

    _beside_bounds(bench(datasets, runs), as_json)


@app.command("deploy")
def _deploy(
    datasets: Annotated[int, typer.Option(min=1, max=999, help="Datasets, a file each.")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Measure how long `pubpriv serve` takes to be up, and `pubpriv deploy` of many files: new, and unchanged."""
    from benchmarks.deploying import bench

    _beside_bounds(bench(datasets), as_json)


@app.command("at-once")
def _at_once(
    datasets: Annotated[int, typer.Option(min=1, max=999, help="Datasets with a run each.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Measure what runs cost that begin together: as processes of a worker, and inside one process."""
    from benchmarks.at_once import bench

    _beside_bounds(bench(datasets), as_json)


@app.command("dask")
def _dask(
    rows: Annotated[int, typer.Option(min=2_000, help="Rows of a table of floats, 8 bytes each.")] = 10_000_000,
    columns: Annotated[int, typer.Option(min=1, help="Columns of it.")] = 20,
    workers: Annotated[str, typer.Option(help="Workers of each cluster; the first has 1.")] = "1,2,4",
    folder: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Where the table is for a while.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure scans by Dask clusters of this machine, over one of one worker."""
    from benchmarks.dask_scale import bench

    counts = workers.split(",")
    if not all(count.strip().isdecimal() and int(count) for count in counts):
        raise InvalidInput("--workers are numbers with commas between them: 1,2,4")
    found = bench(rows, columns, [int(count) for count in counts], folder, note)
    if not as_json:
        tell_rows(f"scans of {rows} rows x {columns} columns by clusters of this machine", _CLUSTERS, found["rows"])
    tell(found, as_json)


def _beside_bounds(found: dict[str, Any], as_json: bool) -> None:
    if not as_json:
        rows = [row | {"of": row["of"].replace("_", " ")} for row in found["rows"]]
        headings = {"of": "of", "value": "measured", "bound": "bound"}
        tell_rows(f"{found['bench']} of {found['datasets']} datasets", headings, rows)
    tell(found, as_json)
