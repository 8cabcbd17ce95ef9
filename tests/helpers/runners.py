"""Runners of steps for tests."""

from collections.abc import Callable
from typing import Any

from pubpriv.estimators.steps import Place, Runner, Step, plain


def instead(replaced: Step[..., Any], function: Callable[..., Any]) -> Runner:
    """The plain runner, but for one step, in whose place a function runs."""

    def runner(step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if step is replaced else plain(step, place, *args, **kwargs)

    return runner
