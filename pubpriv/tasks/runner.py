"""How Prefect runs steps: each as a named, guarded task, cached if it is public, with arrows that follow the data."""

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from prefect import State, Task

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import Place, Step
from pubpriv.tasks.boundary import PublicHandle, for_prefect, packed, private_task, public_task
from pubpriv.tasks.follow import followed

MOST_PARTS = 1000
"""So many parts of a value are looked at for what earlier steps made."""


class PrefectRunner:
    """Runs the steps of one flow run; see `pubpriv.estimators.steps.Runner`.

    What a step declares of itself decides: its title names the task, private ones are guarded and never kept, public
    ones are kept and found again. Every argument crosses the task boundary as a handle or a public value, so the
    driver gets the same bits as from the plain functions.

    Args:
        folder: where public rows are kept, by their hash.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = folder
        self._made: dict[Any, State[Any]] = {}

    def __call__(self, step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
        """What the step makes, as a task run with arrows from the runs that made its arguments."""
        task = task_of(step, os.fspath(self._folder)).with_options(task_run_name=lambda: step.at(place))
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
        """How the task runs ended that made these values, or parts of them."""
        states = [self._made[part] for part in _parts(values) if part in self._made]
        return list({state.state_details.task_run_id: state for state in states}.values())


@functools.cache
def task_of(step: Step[..., Any], folder: str) -> Task[..., Any]:
    """The task of a step; public tables that it returns are kept under `folder`."""
    declare = private_task if step.private else public_task
    task: Task[..., Any] = declare(name=step.title)(_keeping(followed(step), folder))
    return task


def _keeping(step: Callable[..., Any], folder: str) -> Callable[..., Any]:
    @functools.wraps(step)
    def kept(*args: Any, **kwargs: Any) -> Any:
        made = step(*args, **kwargs)
        return PublicHandle.store(made, folder) if isinstance(made, PublicTable) else made

    return kept


def _parts(value: Any) -> Iterator[Any]:
    """The dataclasses in a value, itself included: those are equal where a step was given what another one made.

    Not by identity: a run settles what a step made, and its driver goes on with what was settled.
    """
    rest, seen = [value], 0
    while rest and seen < MOST_PARTS:
        item = rest.pop()
        seen += 1
        if isinstance(item, Ask):  # what a step may ask, not what it is made of
            continue
        if is_dataclass(item):
            yield item
            rest += [getattr(item, field.name) for field in fields(item)]
        elif isinstance(item, tuple):
            rest += [part for part in item if is_dataclass(part) or isinstance(part, tuple)]
