"""How the steps of an estimator become Prefect tasks: named, guarded, and cached if they are public."""

import os
from collections.abc import Mapping
from typing import Any

from prefect import Task

from pubpriv.data.tables import PublicTable
from tasks import ingest
from tasks.follow import followed
from tasks.guard import PublicHandle, crossing, private_task, public_task

Tasks = Mapping[str, Task[Any, Any]]


def declared(plain: Any, private: Mapping[str, str], public: Mapping[str, str]) -> dict[str, Task[Any, Any]]:
    """A task for each step of `plain`, by field.

    Args:
        plain: the bundle of plain steps.
        private: field and name of each step that asks a curator.
        public: field and name of each step that sees public values and released answers only.
    """
    return {
        **{field: private_task(name=name)(followed(name, getattr(plain, field))) for field, name in private.items()},
        **{field: public_task(name=name)(followed(name, getattr(plain, field))) for field, name in public.items()},
    }


@public_task(name="ingest public table")
def _ingest_public(path: str, content: str, columns: tuple[str, ...] | None, folder: str) -> PublicHandle:
    return PublicHandle.store(ingest.ingest_public(path, content, columns), folder)


def bundled(tasks: Tasks, folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The steps for a flow, by field; public rows are kept under `folder` by their hash.

    Every step crosses the task boundary as handles and public values, so the driver gets the same bits as
    from the plain bundle.
    """

    def ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
        handle = _ingest_public(path, content, columns, str(folder))
        if not os.path.exists(handle.path):  # remembered, but its file was cleared away
            handle = _ingest_public.with_options(refresh_cache=True)(path, content, columns, str(folder))
        return handle.load()

    return {"ingest_public": ingest_public, **{field: crossing(task, folder) for field, task in tasks.items()}}
