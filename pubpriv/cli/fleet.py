"""`pubpriv bench fleet`: what grows where many releases, datasets or rows are."""

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


def fleet(
    runs: Annotated[int, typer.Option(min=100, max=99_999, help="Runs in the ledger, of four charges each.")] = 8_750,
    year: Annotated[
        bool, typer.Option("--year", help="A fleet of --datasets, each with so many runs; 3 GB on disk, some minutes.")
    ] = False,
    deploy: Annotated[
        bool, typer.Option("--deploy", help="Serve, and deploy the files of --datasets twice: seconds of each.")
    ] = False,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Run --datasets at once on a worker, and inside one process.")
    ] = False,
    datasets: Annotated[
        int | None,
        typer.Option(min=1, max=999, help="With --year (20), --deploy (200) or --at-once (10).", show_default=False),
    ] = None,
    dask: Annotated[
        bool, typer.Option("--dask", help="Scans by Dask clusters of this machine over one of one worker.")
    ] = False,
    rows: Annotated[int, typer.Option(min=2_000, help="With --dask: of a table of floats, 8 bytes each.")] = 10_000_000,
    columns: Annotated[int, typer.Option(min=1, help="With --dask.")] = 20,
    workers: Annotated[str, typer.Option(help="With --dask: workers of each cluster; the first has 1.")] = "1,2,4",
    folder: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="With --dask: where its table is for a while.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a release costs its ledger after a year: history for plots and pages, verifying what is new."""
    if year + deploy + at_once + dask > 1:
        raise InvalidInput("--year, --deploy, --at-once and --dask are measurements: give one of them")
    if dask:
        _of_clusters(rows, columns, workers, folder, as_json)
    elif year or deploy or at_once:
        _beside_bounds(_of_fleet(runs, datasets, year, at_once), as_json)
    else:
        from benchmarks.fleet import bench

        tell(bench(runs), as_json)


def _of_fleet(runs: int, datasets: int | None, year: bool, together: bool) -> dict[str, Any]:
    from benchmarks import at_once, deploying
    from benchmarks import year as whole_year

    if together:
        return at_once.bench(datasets or 10)
    return whole_year.bench(datasets or 20, runs) if year else deploying.bench(datasets or 200)


def _beside_bounds(found: dict[str, Any], as_json: bool) -> None:
    if not as_json:
        rows = [row | {"of": row["of"].replace("_", " ")} for row in found["rows"]]
        headings = {"of": "of", "value": "measured", "bound": "bound"}
        tell_rows(f"{found['bench']} of {found['datasets']} datasets", headings, rows)
    tell(found, as_json)


def _of_clusters(rows: int, columns: int, workers: str, folder: Path | None, as_json: bool) -> None:
    from benchmarks.dask_scale import bench

    counts = workers.split(",")
    if not all(count.strip().isdecimal() and int(count) for count in counts):
        raise InvalidInput("--workers are numbers with commas between them: 1,2,4")
    found = bench(rows, columns, [int(count) for count in counts], folder, note)
    if not as_json:
        tell_rows(f"scans of {rows} rows x {columns} columns by clusters of this machine", _CLUSTERS, found["rows"])
    tell(found, as_json)
