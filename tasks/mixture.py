"""The steps of `estimate_mixture` as Prefect tasks: the plain functions, named, guarded, and cached if public."""

import os

from pubpriv.mixture.steps import MixtureSteps
from tasks.bundle import bundled, declared
from tasks.validated import VALIDATED

TASKS = declared(
    VALIDATED,
    private={
        "ingest_private": "ingest private table",
        "private_pca": "private PCA",
        "locate": "partition",
        "estimate_components": "per-component estimation",
        "prefer": "model choice",
    },
    public={
        "precondition": "precondition",
        "supercluster": "superclustering",
        "public_model": "public model",
        "public_starts": "public starts",
        "seed": "seeding",
        "count_weights": "weight counting",
    },
)


def mixture_steps(folder: str | os.PathLike[str]) -> MixtureSteps:
    """The bundle for a flow; see `bundled`."""
    return MixtureSteps(**bundled(TASKS, folder))
