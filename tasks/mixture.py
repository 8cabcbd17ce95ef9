"""The steps of `estimate_mixture` as Prefect tasks: the plain functions, named, guarded, and cached if public."""

import os
from typing import Any

from pubpriv.data.tables import PublicTable
from pubpriv.mixture.steps import MixtureSteps
from tasks import ingest
from tasks.guard import PublicHandle, crossing, private_task, public_task
from tasks.validated import VALIDATED

_PRIVATE = {
    "ingest_private": "ingest private table",
    "private_pca": "private PCA",
    "locate": "partition",
    "estimate_components": "per-component estimation",
    "prefer": "model choice",
}
_PUBLIC = {
    "precondition": "precondition",
    "supercluster": "superclustering",
    "public_model": "public model",
    "public_starts": "public starts",
    "seed": "seeding",
    "count_weights": "weight counting",
}

TASKS = {
    **{field: private_task(name=name)(getattr(VALIDATED, field)) for field, name in _PRIVATE.items()},
    **{field: public_task(name=name)(getattr(VALIDATED, field)) for field, name in _PUBLIC.items()},
}


@public_task(name="ingest public table")
def _ingest_public(path: str, content: str, columns: tuple[str, ...] | None, folder: str) -> PublicHandle:
    return PublicHandle.store(ingest.ingest_public(path, content, columns), folder)


def mixture_steps(folder: str | os.PathLike[str]) -> MixtureSteps:
    """The bundle for a flow; public rows are kept under `folder` by their hash.

    Every step crosses the task boundary as handles and public values, so the driver gets the same bits as
    from the plain bundle.
    """
    steps: dict[str, Any] = {field: crossing(task, folder) for field, task in TASKS.items()}

    def ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
        handle = _ingest_public(path, content, columns, str(folder))
        if not os.path.exists(handle.path):  # remembered, but its file was cleared away
            handle = _ingest_public.with_options(refresh_cache=True)(path, content, columns, str(folder))
        return handle.load()

    return MixtureSteps(ingest_public=ingest_public, **steps)
