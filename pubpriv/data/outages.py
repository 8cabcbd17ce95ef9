"""Report why a scan failed after its charge, as far as that is public: table or cluster are out of reach.

The exception of a scan is not used, because its text, class and traceback may depend on rows. Instead the table and
the cluster are checked once more, as before a charge; the result of that is public. Only one thing is reported of the
scan itself: that the cluster finished nothing for very long.
"""

from concurrent.futures import Executor
from typing import Any

from pubpriv.data.cluster import Cluster
from pubpriv.errors import PrivateStepFailed, PubPrivError, Unavailable

_KEPT = "What was paid for is kept: run the same release id again, at no further cost"


def failure_of_scan(table: Any, executor: Executor | None) -> PubPrivError:
    """Return the error that replaces the exception of a scan.

    Args:
        table: table that was read.
        executor: executor that read it; None: threads.
    """
    reason = ""
    try:
        if isinstance(executor, Cluster):
            reason = _of_cluster(executor)
        if not reason:
            table.chunks()
    except Unavailable as error:
        reason = str(error)
    except Exception:  # noqa: S110 - what it is may not be said
        pass
    return Unavailable(f"{reason}. {_KEPT}") if reason else PrivateStepFailed()


def _of_cluster(cluster: Cluster) -> str:
    """What is wrong with a cluster now; empty if nothing is."""
    wrong = cluster.given_up
    try:
        cluster.check()
    except PubPrivError as error:
        wrong = str(error)
    return f"{wrong}. Another cluster, or none, gives the same numbers" if wrong else ""
