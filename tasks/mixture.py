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
        "probe": "number of components",
        "locate": "partition",
        "estimate_components": "per-component estimation",
        "estimate_diagonal": "per-component estimation, diagonal",
        "estimate_spherical": "per-component estimation, spherical",
        "prefer": "model choice",
        "level_pca": "private PCA of a level",
        "private_query": "private query of a level",
    },
    public={
        "precondition": "precondition",
        "supercluster": "superclustering",
        "tighten": "scales inside clusters",
        "public_model": "public model",
        "public_starts": "public starts",
        "seed": "seeding",
        "choose_shape": "covariance type",
        "count_weights": "weight counting",
        "open_level": "superclustering of a level",
        "public_query": "public query of a level",
        "easy_clusters": "clustering of public rows",
        "start_clusters": "start from public rows",
    },
)


def mixture_steps(folder: str | os.PathLike[str]) -> MixtureSteps:
    """The bundle for a flow; see `bundled`."""
    return MixtureSteps(**bundled(TASKS, folder))
