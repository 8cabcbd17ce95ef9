"""`pubpriv bench pure`: the cost of pure DP for each estimator."""

from typing import Annotated

import typer

from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import FirstSeedOption, JsonOption

_HEADINGS = named(
    "part", "d", "m", "n", "epsilon", "ratio", "bound", "predicted", "mean_ratio", "covariance_ratio", "flagged", "met"
)


def pure(
    part: Annotated[str, typer.Option(help="mean, gaussian, line, mixture or all.")] = "all",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each row.")] = 30,
    first_seed: FirstSeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure errors under pure DP relative to those without privacy; `line`: the budget from which runs are allowed.

    Ratios are for trimmed errors of a mean, for the covariance of a Gaussian, and for the means of a mixture.
    """
    from benchmarks.pure import bench

    found = bench(part, runs, first_seed)
    if not as_json:
        tell_rows("errors under pure DP over those without privacy", _HEADINGS, found["rows"])
    tell(found, as_json)
