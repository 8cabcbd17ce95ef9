"""`pubpriv bench buys`: the benefit of public rows."""

from pathlib import Path
from typing import Annotated

import typer

from pubpriv.cli.console import out, table
from pubpriv.cli.figures import tell
from pubpriv.cli.honest import counts
from pubpriv.cli.options import FirstSeedOption, JsonOption, WorkersOption
from pubpriv.errors import InvalidInput


def buys(
    part: Annotated[str, typer.Option(help="d5k3: three components, 6 sd apart; d5k1: one Gaussian.")] = "d5k3",
    n: Annotated[
        str, typer.Option(help="Private rows, with commas between them.")
    ] = "1000,3000,10000,30000,100000,300000,1000000",
    runs: Annotated[int, typer.Option(min=1, help="Draws of each cell.")] = 20,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    keep: Annotated[
        Path | None, typer.Option(help="File of draws, to go on with after a stop. Of one state of the code.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Where the figure goes: an .svg file.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how often all components are found, by numbers of private and public rows, and without public rows.

    A cell has the number of runs that found all, and medians of their largest errors of a mean and of a covariance.
    """
    if markdown and as_json:
        raise InvalidInput("--markdown and --json are two ways to print: give one")
    if plot is not None:
        from pubpriv.released.report.spending import check_plot

        check_plot(plot)
    from benchmarks.buys import bench
    from benchmarks.buys_figure import cells
    from benchmarks.buys_figure import markdown as written

    found = bench(part, runs, first_seed, tuple(sorted(set(counts("--n", n)))), workers, keep, plot)
    if markdown:
        out(written(found["rows"]))
        return
    if not as_json:
        table(
            f"runs that find all; largest errors of a mean and a covariance, {found['budget']}", *cells(found["rows"])
        )
    tell(found, as_json)
