"""Outages of the Prefect server, as opposed to defects: it is down, overloaded or locked, or denies access.

Prefect's client and httpx raise them when a flow or a command talks to the server. They become `Unavailable`, with only
the class and the status of the error, because its text may quote sent data.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from pubpriv.errors import PubPrivError, Unavailable

_TRY_AGAIN = frozenset({401, 403, 408, 425, 429})
"""Statuses below 500 that are not about the request itself, but about access rights, time or rate."""

_SERVER_ERRORS = 500

_KEPT = "what was paid is kept, and the same release id goes on at no further cost"


def _outage_of(error: BaseException) -> str | None:
    """Return the class, and the status if there is one, of an error that means that the server cannot be used now.

    Returns:
        None for any other error, which is a defect or is explained elsewhere.
    """
    import httpx

    if isinstance(error, httpx.HTTPStatusError):  # Prefect's own `PrefectHTTPStatusError` among them
        status = error.response.status_code
        return f"{type(error).__name__}, status {status}" if status >= _SERVER_ERRORS or status in _TRY_AGAIN else None
    return type(error).__name__ if isinstance(error, httpx.TransportError) else None


def foreign(error: BaseException) -> PubPrivError | None:
    """Return the replacement of an error of the server or the disk; None for any other error."""
    outage = _outage_of(error)
    if outage is not None:
        return Unavailable(f"the Prefect server cannot be used ({outage}); {_KEPT}. Run again when it answers")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(
            f"no space is left on a disk of this machine; {_KEPT}. Make room where PREFECT_HOME, PUBPRIV_OUTPUT and "
            "the temporary folder are, and run again"
        )
    return None


@contextmanager
def naming_outages(what: str) -> Iterator[None]:
    """Turn an outage of the server, described by `what`, into `Unavailable`.

    Raises:
        Unavailable: instead of the client's own error.
    """
    outage: str | None = None
    try:
        yield
    except Exception as error:
        outage = _outage_of(error)
        if outage is None:
            raise
    if outage is not None:
        raise Unavailable(f"{what} cannot be used now ({outage}): look at its log, and run this again, which is safe")


@contextmanager
def not_needed() -> Iterator[None]:
    """Ignore outages in code that only displays something."""
    try:
        yield
    except Exception as error:
        if _outage_of(error) is None:
            raise
