"""Automatic retries of runs: charges are kept, so trying again costs nothing more.

If the ledger, the table or the server is out of reach (exit 5), a deployed run waits and tries again in its own
process. If the process died, the server makes another run (`pubpriv.flows._crashes`), which may wait here too. Each
wait is four times as long as the one before, because some troubles last minutes.
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
"""Wait after a crash: runner and worker both report it, some seconds apart, and its cause may need a moment to end."""

AFTER_CRASHES = tuple(AFTER_SECONDS * 4**crashes for crashes in range(MOST_CRASHES))
"""Seconds from each crash of a release's runs to the next run: the server's own wait, and what the run adds to it."""


def in_words() -> str:
    """Describe when runs are tried again automatically, for people who deploy them."""
    waits, crashes = (", then ".join(f"{seconds:g}" for seconds in each) for each in (_WAITS, AFTER_CRASHES))
    return (
        f"where ledger, table or server are out of reach, a run tries again after {waits} s; where one crashed, "
        f"another goes on with its release after {crashes} s. After that it is a person's turn. None of it costs more"
    )


class Held(Unavailable):
    """The configured time of waiting is over; trying again would only wait once more."""


def tried_again(once: Callable[[], _T]) -> _T:
    """Call a function, and in a deployed run again after a while if ledger, table or server is out of reach.

    Raises:
        Unavailable: the last try failed too, or a slot did not become free.
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
    """Wait longer after more crashes of a release, because the server itself always waits the same time.

    Args:
        before: the crashed run that the current run continues; None: there is none.
    """
    if before is None:
        return
    seconds = AFTER_CRASHES[before.crashes - 1] - AFTER_SECONDS
    if seconds > 0:
        get_run_logger().warning("%d runs of this release crashed: it goes on in %g s", before.crashes, seconds)
        time.sleep(seconds)
