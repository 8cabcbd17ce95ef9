"""`pubpriv bench missing`: tables with missing cells."""

from typing import Annotated, Literal

import typer

from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import FirstSeedOption, JsonOption, WorkersOption

_HEADINGS = named("n", "d", "kind", "share", "whole", "refused") | {
    "mean_ratio": "mean",
    "covariance_ratio": "cov.",
    "bound": "bound",
    "means_covered": "means held",
    "covariances_covered": "cov. held",
    "worst_bias": "bias",
    "flagged": "flagged",
    "met": "met",
}


def missing(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each cell.")] = 30,
    rows: Annotated[int | None, typer.Option(help="Cells with so many private rows; default: all.")] = None,
    how: Annotated[
        Literal["estimate", "drop"], typer.Option("--missing", help="As in fit gaussian --missing.")
    ] = "estimate",
    kind: Annotated[
        Literal["mcar", "mar", "strong", "block", "dropout"] | None,
        typer.Option(help="Cells of one way in which cells are missing; default: all."),
    ] = None,
    target: Annotated[Literal["gaussian", "auto", "moments"], typer.Option(help="As in fit gaussian.")] = "gaussian",
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    as_json: JsonOption = False,
) -> None:
    """Measure Gaussians of tables with missing cells: errors beside those of EM without privacy on the same rows."""
    from benchmarks.incomplete import bench

    found = bench(runs, first_seed, workers, rows, how, kind, target)
    if not as_json:
        tell_rows("errors over those of EM, and what 95% intervals hold, at zcdp:0.5", _HEADINGS, found["rows"])
    tell(found, as_json)
