"""Runs that are tried again by themselves: what they paid is kept, so trying costs nothing more.

A deployed run that finds the ledger, the table or the server out of reach (exit 5) waits and tries again in its own
process. One whose process died is made due again by an automation of the server, under the state name
`AFTER_CRASH`; it waits too, and after some times it ends, for what killed it will kill it again.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from prefect.client.orchestration import get_client
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run

from pubpriv.errors import Unavailable
from pubpriv.tasks.outages import foreign, not_needed

_T = TypeVar("_T")

AFTER_CRASH = "AwaitingRetryAfterCrash"
"""Name of the state in which a crashed run is due again."""

WAITS = (15.0, 60.0, 240.0)
"""Seconds before each new try. A worker reports a crash twice within some, and the second report has to be over."""


class Held(Unavailable):
    """Something that was waited for as long as the operator said: trying again would only wait once more."""


def tried_again(once: Callable[[], _T]) -> _T:
    """Do something, and again after a while where ledger, table or server are out of reach; deployed runs only.

    Raises:
        Unavailable: so it was at the last try too, or somebody held what was waited for.
    """
    for seconds in WAITS if deployment.id is not None else ():
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


def wait_after_crash() -> None:
    """Wait where the process of the run at work died before.

    Raises:
        Unavailable: that happened too often.
    """
    if deployment.id is None or flow_run.run_count < 2:
        return
    crashes = 0
    with not_needed(), get_client(sync_client=True) as client:
        crashes = _crashes([state.name for state in client.read_flow_run_states(flow_run.id) if state.is_scheduled()])
    if crashes > len(WAITS):
        raise Unavailable(
            f"the process of this run died {crashes} times, for want of memory perhaps: it is not tried again by "
            "itself. Look at the worker's log, then run the same release id again, which costs nothing more"
        )
    if crashes:
        time.sleep(WAITS[crashes - 1])


def _crashes(due: list[str | None]) -> int:
    """Count crashes before the last start, from the names of the states in which the run was due, oldest first.

    A retry that a person asked for starts the count anew.
    """
    count = 0
    while count < len(due) and due[-1 - count] == AFTER_CRASH:
        count += 1
    return count
