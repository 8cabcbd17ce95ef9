"""Run steps in Prefect: each is a named, guarded task, cached if it is public, with dependencies that follow the data.

The UI shows a progress bar if a scan takes long, and the log has a line when a step is done: names, seconds, the
fraction of blocks read, and the charges. These are public facts that depend on no value, except the duration of a step,
which may depend on values; Prefect keeps that of every task anyway, see `docs/privacy.md`.
"""

import functools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from prefect import State, Task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging import get_run_logger

from pubpriv.curator import Curator
from pubpriv.data import progress
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import Place, Step
from pubpriv.tasks._crossing import PublicHandle, for_prefect, packed
from pubpriv.tasks.artifacts import Subject
from pubpriv.tasks.boundary import private_task, public_task
from pubpriv.tasks.outages import not_needed

PRIVATE = " [private]"
"""Suffix of the name of a step that asks private rows; a tag would need a request to the server before each."""

_MOST_PARTS = 1000
"""Most parts of a value that are searched for results of earlier steps."""


class PrefectRunner:
    """Runs the steps of one flow run; see `pubpriv.estimators.steps.Runner`.

    The declaration of a step decides: its title names the task, private steps are guarded and never kept, results of
    public steps are kept and found again. Every argument crosses the task boundary as a handle or a public value, so
    the driver gets the same bits as from the plain functions.

    Args:
        folder: folder of public rows, by their hash.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = folder
        self._steps = 0
        self._made: dict[Any, State[Any]] = {}

    def __call__(self, step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
        """Run the step as a task that depends on the runs that made its arguments; return its result."""
        self._steps += 1
        name = f"{self._steps}. {step.at(place)}{PRIVATE * step.private}"
        task = _task_of(step, os.fspath(self._folder)).with_options(task_run_name=lambda: name)
        values = [packed(value, self._folder) for value in args]
        named = {name: packed(value, self._folder) for name, value in kwargs.items()}
        before = self._upstream((*values, *named.values(), *place.sources))

        def run(task: Task[..., Any]) -> tuple[State[Any], Any]:
            given = {name: for_prefect(value) for name, value in named.items()}
            state = task(*map(for_prefect, values), **given, return_state=True, wait_for=before)
            return state, state.result()

        state, result = run(task)
        if isinstance(result, PublicHandle) and not os.path.exists(result.path):  # remembered, but its file is gone
            state, result = run(task.with_options(refresh_cache=True))
        self._made.update((part, state) for part in _parts(result))
        return result.load() if isinstance(result, PublicHandle) else result

    def _upstream(self, values: tuple[Any, ...]) -> list[State[Any]]:
        """Return the final states of the task runs that made these values, or parts of them."""
        states = [self._made[part] for part in _parts(values) if part in self._made]
        return list({state.state_details.task_run_id: state for state in states}.values())


@functools.cache
def _task_of(step: Step[..., Any], folder: str) -> Task[..., Any]:
    """Make the task of a step; public tables that it returns are kept under `folder`."""
    declare = private_task if step.private else public_task
    task: Task[..., Any] = declare(name=step.title)(_keeping(_followed(step), folder))
    return task


def _keeping(step: Callable[..., Any], folder: str) -> Callable[..., Any]:
    @functools.wraps(step)
    def kept(*args: Any, **kwargs: Any) -> Any:
        made = step(*args, **kwargs)
        return PublicHandle.store(made, folder) if isinstance(made, PublicTable) else made

    return kept


def _followed(step: Step[..., Any]) -> Callable[..., Any]:
    """Show the scans of `step` and log its time and charges; outside of a task run, just call it."""

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
        get_run_logger().info("%s: %.1f s, %s", name, time.monotonic() - started, _cost_text(curator, paid))
        return result

    return inner


class _Bar:
    """A progress artifact for each long scan of a step."""

    def __init__(self, name: str, curator: Curator) -> None:
        self._name = name
        self._dataset = getattr(curator.handle, "dataset", "simulation")
        self._artifact: UUID | None = None
        self._given_up = False

    def __call__(self, fraction: float, ended: bool) -> None:
        """Show the progress in percent; the next scan gets a bar of its own."""
        if self._given_up:
            return
        self._given_up = True  # if the server does not answer once, the scan continues without a bar
        with not_needed():
            self._show(round(100.0 * fraction, 1), ended)
            self._given_up = False

    def _show(self, percent: float, ended: bool) -> None:
        if self._artifact is None:
            made: Any = create_progress_artifact(
                progress=percent,
                key=Subject(self._dataset, _series()).key("progress"),
                description=f"{self._name}: blocks of the private table read",
            )
            self._artifact = made
        else:
            update_progress_artifact(self._artifact, progress=percent)
        if ended:
            self._artifact = None


def _series() -> str | None:
    """Series of the current flow run, if it has one."""
    context = FlowRunContext.get()
    form = (context.parameters or {}).get("parameters") if context else None
    return getattr(form, "series", None)


def _costs(curator: Curator | None) -> list[str]:
    """List the cost of each charge so far, in the run's currency: `0.02 rho`."""
    return [] if curator is None else [line.cost for line in curator.statement().charges]


def _cost_text(curator: Curator | None, paid: list[str]) -> str:
    if curator is None:
        return "looked at no private row"
    if not paid:
        return "charged nothing new"
    total = sum((Decimal(cost.split()[0]) for cost in paid), Decimal(0))
    return f"charged {total.normalize():f} {paid[0].split()[1]} for {len(paid)} answer{'s' * (len(paid) > 1)}"


def _parts(value: Any) -> Iterator[Any]:
    """Yield the dataclasses in a value, including itself, to find those that equal the result of another step.

    They are compared by value, not by identity, because a driver continues with the settled copy of a result.
    """
    rest, seen = [value], 0
    while rest and seen < _MOST_PARTS:
        item = rest.pop()
        seen += 1
        if isinstance(item, Ask):  # a plan of questions, not a result
            continue
        if is_dataclass(item):
            yield item
            rest += [getattr(item, field.name) for field in fields(item)]
        elif isinstance(item, tuple):
            rest += [part for part in item if is_dataclass(part) or isinstance(part, tuple)]
