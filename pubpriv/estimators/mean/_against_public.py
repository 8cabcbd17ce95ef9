"""What the public rows say of a covariance before anything is spent: whether it fits, and which to take by default."""

from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mean._known_covariance import KnownCovariance

_SURPRISE = 1e-5
"""Public rows contradict a covariance if a spread like theirs is less likely than this under it."""

_FEWEST = 3
"""... and a column is not held against those before it with fewer degrees of freedom: rounded values may lie on a line
by chance."""


def contradiction(rows: PublicTable, known: KnownCovariance) -> str | None:
    """Say how the public rows contradict a covariance; None if they do not, as one row alone never does.

    Chi-square tests of their scatter: of each column by itself, of each given those before it, which shows
    correlations, and of all whitened columns together. With Sigma = L L' the scatter is L W L', W of Wishart's law, and
    the squared diagonal of its Cholesky factor is that of L times independent chi-squares (Bartlett 1933).

    Args:
        rows: m public rows of d columns.
        known: the covariance.
    """
    from scipy.special import chdtr, chdtrc

    m, d = rows.rows.shape
    if m < 2:
        return None
    later = range(1, max(min(d, m - _FEWEST), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        centred = (rows.rows - rows.rows.mean(axis=0)) / known.deviations()
        spreads = (centred**2).sum(axis=0)
        whole = float((known.whiten((centred * known.deviations()).T) ** 2).sum())
    if not (np.isfinite(spreads).all() and np.isfinite(whole)):
        return None  # too large to be squared; the mean of such values is refused with its own words
    own = np.linalg.cholesky(known.covariance / np.outer(known.deviations(), known.deviations()))
    _, factor = np.linalg.qr(centred)
    beside = [float(factor[j, j] / own[j, j]) ** 2 for j in later]
    freedoms = np.array([*[m - 1] * d, *[m - 1 - j for j in later], (m - 1) * d], dtype=float)
    found = np.array([*spreads, *beside, whole])
    chances = np.minimum(chdtr(freedoms, found), chdtrc(freedoms, found)) * len(found)
    worst = int(np.argmin(chances))
    if not chances[worst] < _SURPRISE:
        return None
    whose = [f"of column {name} " for name in rows.columns]
    whose += [f"of column {rows.columns[j]}, given those before it, " for j in later]
    ratio = found[worst] / freedoms[worst]
    return f"the public rows have {ratio:.3g} times the variance {[*whose, ''][worst]}that the covariance says"


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
