"""`pubpriv bench pure`: what pure DP costs each estimator."""

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
    """Measure errors under pure DP over those without privacy on the same rows; `line`: where runs begin to be allowed.

    The ratio of a mean is of trimmed errors, that of a Gaussian of its covariance, that of a mixture of its means.
    """
    from benchmarks.pure import bench

    found = bench(part, runs, first_seed)
    if not as_json:
        tell_rows("errors under pure DP over those without privacy", _HEADINGS, found["rows"])
    tell(found, as_json)
