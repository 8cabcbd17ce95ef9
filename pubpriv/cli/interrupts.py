"""Make sure that Ctrl-C is not lost.

Python raises KeyboardInterrupt wherever the main thread happens to be. In the destructor of a library's object it is
dropped, with a line on standard error; between two locks it can turn into another error. A run that continues would
pay for further questions. So Ctrl-C is remembered, and checked before each step.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pubpriv.estimators.steps import Place, Runner, Step


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C; yields a function that raises it again if it came. A later error counts as caused by it.

    Does nothing outside of the main thread, or if the process has its own handler for the signal.

    Raises:
        KeyboardInterrupt: instead of an error, if Ctrl-C came before that error.
    """
    came = False

    def remember(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield check
    except Exception:
        check()
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def checking(
    check: Callable[[], None], around: Callable[["Runner"], "Runner"] | None
) -> Callable[["Runner"], "Runner"]:
    """Call `check` before each step; if `around` is given, it also wraps the runner."""

    def both(runner: "Runner") -> "Runner":
        inner = runner if around is None else around(runner)

        def checked(step: "Step[..., Any]", place: "Place", /, *args: Any, **kwargs: Any) -> Any:
            check()
            return inner(step, place, *args, **kwargs)

        return checked

    return both
