"""Steps: what an estimator is made of, each declared once, and how a driver has them run.

A step is a plain function with a title, and says whether it looks at private rows::

    @step(title="model choice", private=True)
    def prefer(curator: Curator, scaling: Scaling, ...) -> Preference: ...

A driver writes `run(prefer, scaling, ...)`; `run` knows the curator and who runs steps. The title is what a
console, a log and an orchestrator show; an orchestrator also takes from the declaration what it may keep. It runs the
same function on the same values, so the driver cannot tell the difference, and the bits are the same.
"""

import functools
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from pubpriv.curator import Curator

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Step(Generic[_P, _R]):
    """A declared step; called, it is the plain function.

    Attributes:
        name: of the function, without a leading underscore: what a step makes is settled in a run under it.
        title: for people.
        private: it takes an open `Curator` first. `_P` is what it takes beside that: public values.
        function: the plain function.
    """

    def __init__(self, function: Callable[..., _R], title: str, private: bool) -> None:
        self.name: str = getattr(function, "__name__", title).lstrip("_")
        self.title, self.private, self.function = title, private, function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> _R:
        """What the function makes of these."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Step({self.title})"

    def at(self, place: "Place") -> str:
        """Return the title, and which of several calls it is: `approach 3 of 7`."""
        return f"{self.title} {place.name}".strip()


@dataclass(frozen=True)
class Place:
    """Where in a run a step is called.

    Attributes:
        name: which of several calls it is: `3 of 7`, `(level 2)`; empty where there is only one.
        sources: what earlier steps made, and the driver computed arguments from: arrows in a picture of the run.
    """

    name: str = ""
    sources: tuple[Any, ...] = ()


@overload
def step(*, title: str, private: Literal[True]) -> Callable[[Callable[Concatenate[Curator, _P], _R]], Step[_P, _R]]: ...
@overload
def step(*, title: str, private: Literal[False] = False) -> Callable[[Callable[_P, _R]], Step[_P, _R]]: ...
def step(*, title: str, private: bool = False) -> Any:
    """Return decorator: declare a function as a step.

    Args:
        title: what people see, the same everywhere.
        private: it takes the curator first, and asks it. Others see public values and released answers only, so what
            they make may be kept and found again.
    """
    return lambda function: Step(function, title, private)


def opening_step(*, title: str) -> Callable[[Callable[_P, _R]], Step[_P, _R]]:
    """Return decorator: declare a step on a handle of a private table, from before there is a curator: private, too."""
    return lambda function: Step(function, title, private=True)


class Runner(Protocol):
    """Whoever runs steps: with their arguments as they are, or through an orchestrator."""

    def __call__(self, step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
        """What the step makes of these arguments."""


def plain(step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
    """Run a step here and now."""
    del place
    return step(*args, **kwargs)


watcher: ContextVar[Callable[[Runner], Runner] | None] = ContextVar("watcher", default=None)
"""Put around the runner of a job if it is set: how a console or a log follows a run."""


@dataclass(frozen=True)
class Execution:
    """A method at work in a run: it asks this curator, and this runner runs its steps.

    What a step makes of public rows and released answers is settled in the run (`Curator.settled`) by the step's name
    and how often it was called, so a resumed run goes on from what it made the first time.
    """

    curator: Curator
    method: str
    runner: Runner = plain
    place: Place = field(default_factory=Place)
    calls: Counter[str] = field(default_factory=Counter)

    def at(self, name: str, *sources: Any) -> "Execution":
        """Return the same, at a place; see `Place`."""
        return replace(self, place=Place(name, sources))

    def __call__(self, step: Step[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """What `step` makes of these arguments and, if it is private, of the curator's answers."""
        self.calls[step.name] += 1
        label = f"{self.method}/{step.name}-{self.calls[step.name]}"
        first = (self.curator,) if step.private else ()
        made: _R = self.curator.settled(label, lambda: self.runner(step, self.place, *first, *args, **kwargs))
        return made
