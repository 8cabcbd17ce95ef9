"""Test before anything is spent whether the public rows fit a covariance, and choose the default covariance."""

from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mean._known_covariance import KnownCovariance

_SURPRISE = 1e-5
"""The public rows contradict a covariance if a spread like theirs has a smaller probability than this under it."""

_FEWEST = 3
"""A column is tested given those before it only if at least this many degrees of freedom are left: rounded values may
lie on a line by chance."""


def contradiction(rows: PublicTable, known: KnownCovariance) -> str | None:
    """Say how the public rows contradict a covariance; None if they do not. One row alone never does.

    Chi-square tests of their scatter matrix: for each column by itself, for each column given those before it (which
    tests correlations), and for all whitened columns together. With Sigma = L L' the scatter matrix is L W L' with W
    Wishart, and the squared diagonal of its Cholesky factor is that of L times independent chi-squares (Bartlett 1933).

    Args:
        rows: m public rows of d columns.
        known: the covariance to test.
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
        return None  # the squares overflow; `_public_mean` refuses such values with a better message
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
        InvalidInput: they contradict it; the message says what to do.
    """
    found = contradiction(rows, known)
    if found is not None:
        raise InvalidInput(
            f"{found}: give the covariance of the rows, let it be learnt (unknown), or force the run to use this one"
        )


def _default_covariance(rows: PublicTable) -> str:
    """Give the default covariance: `identity` unless the public rows contradict it, else `unknown`."""
    found = contradiction(rows, KnownCovariance.of("identity", len(rows.columns)))
    return "identity" if found is None else "unknown"


def resolved(covariance: Any, rows: PublicTable) -> Any:
    """Replace the word `auto` by the word that it means for these public rows; leave any other covariance as it is."""
    return _default_covariance(rows) if isinstance(covariance, str) and covariance == "auto" else covariance
