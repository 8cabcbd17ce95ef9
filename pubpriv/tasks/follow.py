"""How a step is followed in the UI: a progress bar where a scan takes long, and a line in the log when it is done.

Told are names, seconds, the fraction of blocks read, and what was charged: public facts, none of which depends on a
value. (How long a step takes may depend on values; Prefect keeps that of every task anyway, see `docs/privacy.md`.)
"""

import functools
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import TaskRunContext
from prefect.logging import get_run_logger

from pubpriv.curator import Curator
from pubpriv.data import progress
from pubpriv.estimators.steps import Step
from pubpriv.tasks.artifacts import artifact_key


def followed(step: Step[..., Any]) -> Callable[..., Any]:
    """The function of `step`, watched while it scans and logged when it is done; outside a task run only itself."""

    @functools.wraps(step.function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        task = TaskRunContext.get()
        if task is None:
            return step(*args, **kwargs)
        name = task.task_run.name
        curator = next((value for value in (*args, *kwargs.values()) if isinstance(value, Curator)), None)
        before, started = _costs(curator), time.monotonic()
        token = progress.watcher.set(None if curator is None else _Bar(name, curator))
        try:
            result = step(*args, **kwargs)
        finally:
            progress.watcher.reset(token)
        paid = _costs(curator)[len(before) :]
        get_run_logger().info("%s: %.1f s, %s", name, time.monotonic() - started, _told(curator, paid))
        return result

    return inner


class _Bar:
    """A progress artifact for each scan of a step that takes long."""

    def __init__(self, name: str, curator: Curator) -> None:
        self._name = name
        self._dataset = getattr(curator.handle, "dataset", "simulation")
        self._artifact: UUID | None = None

    def __call__(self, fraction: float, ended: bool) -> None:
        """Show it, in percent; after the end of a scan the next one gets a bar of its own."""
        percent = round(100.0 * fraction, 1)
        if self._artifact is None:
            made: Any = create_progress_artifact(
                progress=percent,
                key=artifact_key(self._dataset, "progress"),
                description=f"{self._name}: blocks of the private table read",
            )
            self._artifact = made
        else:
            update_progress_artifact(self._artifact, progress=percent)
        if ended:
            self._artifact = None


def _costs(curator: Curator | None) -> list[str]:
    """Of each charge so far, in the run's currency: `0.02 rho`."""
    return [] if curator is None else [line.cost for line in curator.statement().charges]


def _told(curator: Curator | None, paid: list[str]) -> str:
    if curator is None:
        return "looked at no private row"
    if not paid:
        return "charged nothing new"
    total = sum((Decimal(cost.split()[0]) for cost in paid), Decimal(0))
    return f"charged {total.normalize():f} {paid[0].split()[1]} for {len(paid)} answer{'s' * (len(paid) > 1)}"
