"""Ctrl-C that is not lost.

Python raises it wherever the main thread happens to be. In the destructor of a library's object it is dropped, with a
line on standard error; between two locks it can end as an error of theirs. A run that goes on would pay for further
questions, so that Ctrl-C came is remembered, and looked at before each step.
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
    """Remember Ctrl-C for a while; gives what raises it again if it came. An error after it is taken to be due to it.

    Another thread than the main one, or a process that treats the signal in its own way, is left as it is.

    Raises:
        KeyboardInterrupt: in place of an error, if it came before that.
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
    """Call `check` before each step, and put `around` around the runner, too, if there is one."""

    def both(runner: "Runner") -> "Runner":
        inner = runner if around is None else around(runner)

        def checked(step: "Step[..., Any]", place: "Place", /, *args: Any, **kwargs: Any) -> Any:
            check()
            return inner(step, place, *args, **kwargs)

        return checked

    return both
