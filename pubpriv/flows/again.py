"""Runs that are tried again by themselves: what they paid is kept, so trying costs nothing more.

A deployed run that finds the ledger, the table or the server out of reach (exit 5) waits and tries again in its own
process. Where the process died, the server makes another run: `pubpriv.flows.crashes`.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from prefect.logging import get_run_logger
from prefect.runtime import deployment

from pubpriv.errors import Unavailable
from pubpriv.tasks.outages import foreign

_T = TypeVar("_T")

WAITS = (15.0, 60.0, 240.0)
"""Seconds before each new try."""


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
