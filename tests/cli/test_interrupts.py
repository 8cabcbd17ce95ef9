"""Ctrl-C that Python drops, or a library turns into an error of its own, ends a run all the same."""

import os
import signal

import pytest

from pubpriv.cli.interrupts import checking, remembered


class _Library:
    """An object whose destructor is at work when Ctrl-C comes: Python drops what is raised in it."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_next_step_is_not_begun():
    """What was dropped is raised before the step after it."""
    done = []

    def runner(step, place):
        done.append(step)
        if step == "second":
            _Library()

    def run():
        with remembered() as check:
            checked = checking(check, None)(runner)
            for step in ("first", "second", "third"):
                checked(step, None)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == ["first", "second"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("pressed", [True, False])
def test_an_error_after_it_is_due_to_it(pressed):
    """A lock that was left half taken is no defect; without Ctrl-C an error stays what it is."""

    def run():
        with remembered():
            try:
                if pressed:
                    os.kill(os.getpid(), signal.SIGINT)
                    for _ in range(1000):
                        pass
            finally:
                raise RuntimeError("cannot release un-acquired lock")

    with pytest.raises(KeyboardInterrupt if pressed else RuntimeError):
        run()


def test_a_handler_of_somebody_else_stays():
    """A program that has its own way to end keeps it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with remembered() as check:
            os.kill(os.getpid(), signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
