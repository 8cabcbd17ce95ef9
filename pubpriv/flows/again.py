"""Runs that are tried again by themselves: what they paid is kept, so trying costs nothing more.

A deployed run that finds the ledger, the table or the server out of reach (exit 5) waits and tries again in its own
process. Where the process died, the server makes another run (`pubpriv.flows._crashes`), which may wait here too. Each
wait is four times the one before it: what does not pass in a moment may pass in some minutes.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from prefect.logging import get_run_logger
from prefect.runtime import deployment

from pubpriv.errors import Unavailable
from pubpriv.flows.parameters import MOST_CRASHES, Resumed
from pubpriv.tasks.outages import foreign

_T = TypeVar("_T")

_WAITS = (15.0, 60.0, 240.0)
"""Seconds before each new try."""


AFTER_SECONDS = 30.0
"""Runner and worker both report a crash, some seconds apart; and whatever killed the run may need a moment."""

AFTER_CRASHES = tuple(AFTER_SECONDS * 4**crashes for crashes in range(MOST_CRASHES))
"""Seconds from each crash of a release's runs to the next run: the server's own wait, and what the run adds to it."""


def in_words() -> str:
    """Say when runs are tried again by themselves, for whoever deploys them."""
    waits, crashes = (", then ".join(f"{seconds:g}" for seconds in each) for each in (_WAITS, AFTER_CRASHES))
    return (
        f"where ledger, table or server are out of reach, a run tries again after {waits} s; where one crashed, "
        f"another goes on with its release after {crashes} s. After that it is a person's turn. None of it costs more"
    )


class Held(Unavailable):
    """Something that was waited for as long as the operator said: trying again would only wait once more."""


def tried_again(once: Callable[[], _T]) -> _T:
    """Do something, and again after a while where ledger, table or server are out of reach; deployed runs only.

    Raises:
        Unavailable: so it was at the last try too, or somebody held what was waited for.
    """
    for seconds in _WAITS if deployment.id is not None else ():
        try:
            return once()
        except Held:
            raise
        except Exception as error:
            trouble = error if isinstance(error, Unavailable) else foreign(error)
            if trouble is None:
                raise
            text = str(trouble)
        get_run_logger().warning("%s. It is tried again in %g s", text, seconds)
        time.sleep(seconds)
    return once()


def wait_after_crashes(before: Resumed | None) -> None:
    """Wait longer the more runs of a release crashed: the server makes each new one after the time of the first.

    Args:
        before: what the run at work goes on with; None: nothing that crashed.
    """
    if before is None:
        return
    seconds = AFTER_CRASHES[before.crashes - 1] - AFTER_SECONDS
    if seconds > 0:
        get_run_logger().warning("%d runs of this release crashed: it goes on in %g s", before.crashes, seconds)
        time.sleep(seconds)
