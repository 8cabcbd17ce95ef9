"""Steps: the parts of an estimator, each declared once, and how a driver runs them.

A step is a plain function with a title, and says whether it looks at private rows::

    @step(title="model choice", private=True)
    def prefer(curator: Curator, scaling: Scaling, ...) -> Preference: ...

A driver writes `run(prefer, scaling, ...)`; `run` knows the curator and the runner. Consoles, logs and orchestrators
show the title; `private` decides what an orchestrator may keep. An orchestrator runs the same function on the same
values, so the result has the same bits.
"""

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from pubpriv.curator import Curator

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Step(Generic[_P, _R]):
    """A declared step; a call runs the plain function.

    Attributes:
        name: name of the function without a leading underscore; results are settled in a run under this name.
        title: name shown to people.
        private: the function takes an open `Curator` first; `_P` are its other arguments, which are public values.
        function: the plain function.
    """

    def __init__(self, function: Callable[..., _R], title: str, private: bool) -> None:
        self.name: str = getattr(function, "__name__", title).lstrip("_")
        self.title, self.private, self.function = title, private, function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> _R:
        """Run the function with these arguments."""
        return self.function(*args, **kwargs)

    def done(self, result: _R) -> "Step[_P, _R]":
        """Return this step as one that was run already: it shows itself as before, and returns `result`."""

        @functools.wraps(self.function)
        def again(*_: Any, **__: Any) -> _R:
            return result

        return Step(again, self.title, self.private)

    def __repr__(self) -> str:
        return f"Step({self.title})"

    def at(self, place: "Place") -> str:
        """Return the title and the place: `approach 3 of 7`."""
        return f"{self.title} {place.name}".strip()


@dataclass(frozen=True)
class Place:
    """Where in a run a step is called.

    Attributes:
        name: distinguishes several calls: `3 of 7`, `(level 2)`; empty if there is only one.
        sources: results of earlier steps from which the driver computed arguments: arrows in a picture of the run.
    """

    name: str = ""
    sources: tuple[Any, ...] = ()


@overload
def step(*, title: str, private: Literal[True]) -> Callable[[Callable[Concatenate[Curator, _P], _R]], Step[_P, _R]]: ...
@overload
def step(*, title: str, private: Literal[False] = False) -> Callable[[Callable[_P, _R]], Step[_P, _R]]: ...
def step(*, title: str, private: bool = False) -> Any:
    """Return a decorator that declares a function as a step.

    Args:
        title: the name that people see everywhere.
        private: the function takes the curator first, and asks it questions. Other steps use only public values and
            released answers, so an orchestrator may keep their results and use them again.
    """
    return lambda function: Step(function, title, private)


def opening_step(*, title: str) -> Callable[[Callable[_P, _R]], Step[_P, _R]]:
    """Return a decorator for a step that opens a private table before there is a curator; the step is private, too."""
    return lambda function: Step(function, title, private=True)


class Runner(Protocol):
    """Runs steps: directly, or through an orchestrator."""

    def __call__(self, step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
        """Return what the step makes of these arguments."""


def plain(step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
    """Run a step directly, in this process."""
    del place
    return step(*args, **kwargs)


watcher: ContextVar[Callable[[Runner], Runner] | None] = ContextVar("watcher", default=None)
"""If set, wraps the runner of a job, so that a console or a log can follow the run."""


@dataclass(frozen=True)
class Execution:
    """Runs the steps of a method in a run, with its curator and its runner.

    What a step makes of public rows and released answers is settled in the run (`Curator.settled`), under the step's
    name and its number of calls so far, so a resumed run continues from the results of the first attempt.
    """

    curator: Curator
    method: str
    runner: Runner = plain
    place: Place = field(default_factory=Place)
    calls: Counter[str] = field(default_factory=Counter)
    early: dict[str, list[tuple[tuple[Any, ...], Any]]] = field(default_factory=dict)

    def at(self, name: str, *sources: Any) -> "Execution":
        """Return the same execution at another place; see `Place`."""
        return replace(self, place=Place(name, sources))

    def lanes(self, step: Step[..., Any], calls: Sequence[int]) -> list["Execution"]:
        """Return executions in which calls of `step` may take turns, and are numbered as if they did not.

        Args:
            step: the step.
            calls: how often each execution will call it.
        """
        ends = [*accumulate(calls, initial=self.calls[step.name])]
        self.calls[step.name] = ends.pop()
        return [replace(self, calls=Counter({step.name: begun})) for begun in ends]

    def ahead(self, step: Step[_P, _R], /, *args: Any) -> _R:
        """Return what a public step makes of these arguments, before it is known whether it will be called with them.

        If it is, it is not run again. Nothing is shown or settled before.
        """
        made = self.early.setdefault(step.name, [])
        number = self.calls[step.name] + len(made) + 1
        settled = self.curator.noted(f"{self.method}/{step.name}-{number}")  # a resumed run needs no guess
        made.append((args, step.function(*args) if settled is None else settled))
        found: _R = made[-1][1]
        return found

    def __call__(self, step: Step[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run `step` with these arguments, preceded by the curator if the step is private."""
        self.calls[step.name] += 1
        label = f"{self.method}/{step.name}-{self.calls[step.name]}"
        first = (self.curator,) if step.private else ()
        made_ahead = [result for known, result in self.early.get(step.name, ()) if not kwargs and known == args]
        step = step.done(made_ahead[0]) if made_ahead else step
        made: _R = self.curator.settled(label, lambda: self.runner(step, self.place, *first, *args, **kwargs))
        return made
