"""Why a scan failed that was paid for, as far as that may be said: table or cluster are out of reach.

What a scan raised is not looked at, for its text, its class and its place may depend on rows. Table and cluster are
looked at once more instead, as they are before a charge; what they tell then is public. Of the scan itself only one
thing is said: that a cluster finished nothing for very long.
"""

from concurrent.futures import Executor
from typing import Any

from pubpriv.data.cluster import Cluster
from pubpriv.errors import PrivateStepFailed, PubPrivError, Unavailable

_KEPT = "What was paid for is kept: run the same release id again, at no further cost"


def failure_of_scan(table: Any, executor: Executor | None) -> PubPrivError:
    """Return what leaves in place of whatever a scan raised: see the module.

    Args:
        table: that was read.
        executor: that read it; None: threads.
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
    """What is wrong with a cluster that was not before; empty: nothing."""
    wrong = cluster.given_up
    try:
        cluster.check()
    except PubPrivError as error:
        wrong = str(error)
    return f"{wrong}. Another cluster, or none, gives the same numbers" if wrong else ""
