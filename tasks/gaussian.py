"""The steps of `estimate_mean` and `estimate_gaussian` as Prefect tasks: the plain functions, named and guarded."""

import os

from pubpriv.gaussian.steps import GaussianSteps, MeanSteps
from tasks.bundle import bundled, declared
from tasks.validated import VALIDATED_GAUSSIAN, VALIDATED_MEAN

MEAN_TASKS = declared(
    VALIDATED_MEAN,
    private={"ingest_private": "ingest private table", "clipped_mean": "clipped mean"},
    public={"combine_means": "combine means"},
)

GAUSSIAN_TASKS = declared(
    VALIDATED_GAUSSIAN,
    private={
        "ingest_private": "ingest private table",
        "approach": "approach",
        "count_rows": "count of whole rows",
        "learn_scale": "scale of an awkward column",
        "spread_quantile": "quantile of the spread",
        "measure_table": "final release as it is",
        "measure": "final release",
        "covariance_round": "CoinPress covariance",
        "mean_round": "CoinPress mean",
    },
    public={
        "examine": "look for awkward columns",
        "precondition": "precondition",
        "assemble": "assemble coordinates",
        "decide": "choose the target",
        "pool": "pool with public rows",
        "bound": "bounds from public rows",
    },
)


def mean_steps(folder: str | os.PathLike[str]) -> MeanSteps:
    """The bundle for a flow; see `bundled`."""
    return MeanSteps(**bundled(MEAN_TASKS, folder))


def gaussian_steps(folder: str | os.PathLike[str]) -> GaussianSteps:
    """The bundle for a flow; see `bundled`."""
    return GaussianSteps(**bundled(GAUSSIAN_TASKS, folder))
