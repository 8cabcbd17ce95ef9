"""Seconds of things that are measured in turns, so that a busy machine slows them alike."""

import time
from collections.abc import Callable


def quickest(turns: int, *actions: Callable[[], object]) -> list[float]:
    """Seconds of each action, the least of so many turns; ratios of them hold on a busy machine, too."""
    took: list[list[float]] = [[] for _ in actions]
    for _ in range(turns):
        for seconds, action in zip(took, actions, strict=True):
            start = time.perf_counter()
            action()
            seconds.append(time.perf_counter() - start)
    return [min(seconds) for seconds in took]
