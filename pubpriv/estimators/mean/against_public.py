"""What the public rows say of a covariance before anything is spent: whether it fits, and which to take by default."""

from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mean.known_covariance import KnownCovariance

_SURPRISE = 1e-5
"""Public rows contradict a covariance if a spread like theirs is less likely than this under it."""


def contradiction(rows: PublicTable, known: KnownCovariance) -> str | None:
    """Say how the public rows contradict a covariance; None if they do not, as one row alone never does.

    Chi-square tests of their scatter: of each column by itself, and of all whitened columns together.

    Args:
        rows: m public rows of d columns.
        known: the covariance.
    """
    from scipy.special import chdtr, chdtrc

    m, d = rows.rows.shape
    if m < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        centred = rows.rows - rows.rows.mean(axis=0)
        spreads = (centred**2).sum(axis=0) / known.deviations() ** 2
        whole = float((known.whiten(centred.T) ** 2).sum())
    freedoms = np.array([*[m - 1] * d, (m - 1) * d], dtype=float)
    found = np.array([*spreads, whole])
    if not np.isfinite(found).all():
        return None  # too large to be squared; the mean of such values is refused with its own words
    chances = np.minimum(chdtr(freedoms, found), chdtrc(freedoms, found)) * (d + 1)
    worst = int(np.argmin(chances))
    if not chances[worst] < _SURPRISE:
        return None
    whose = f"of column {rows.columns[worst]} " if worst < d else ""
    ratio = found[worst] / freedoms[worst]
    return f"the public rows have {ratio:.3g} times the variance {whose}that the covariance says"


def check_covariance(rows: PublicTable, known: KnownCovariance) -> None:
    """Refuse a covariance that the public rows contradict.

    Raises:
        InvalidInput: with what would do.
    """
    found = contradiction(rows, known)
    if found is not None:
        raise InvalidInput(f"{found}: {_ways(rows)}, or force the run to use this one anyway")


def _default_covariance(rows: PublicTable) -> str:
    """Give the covariance of a run that names none: `identity` unless the public rows contradict it, else `unknown`.

    Raises:
        InvalidInput: they contradict it, and are too few for another to be learnt.
    """
    d = len(rows.columns)
    found = contradiction(rows, KnownCovariance.of("identity", d))
    if found is None:
        return "identity"
    if len(rows.rows) > d:
        return "unknown"
    raise InvalidInput(f"{found}, which is the identity as none is given: {_ways(rows)}")


def _ways(rows: PublicTable) -> str:
    enough = len(rows.rows) > len(rows.columns)
    learn = "let it be learnt (unknown)" if enough else f"{len(rows.columns) + 1} public rows, so that it can be learnt"
    return f"give the covariance of the rows, or {learn}"


def resolved(covariance: Any, rows: PublicTable) -> Any:
    """Put a word for what `auto` means with these public rows; any other covariance is left as it is."""
    return _default_covariance(rows) if isinstance(covariance, str) and covariance == "auto" else covariance
