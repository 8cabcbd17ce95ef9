"""Principal components of a released covariance, with the errors of their variances and loadings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate
from pubpriv.released.regression.fields import SOURCES, Functions, Source
from pubpriv.released.regression.figures import Figure, figures_of, standard_errors
from pubpriv.released.regression.sources import doubtful, reasons, source_of

if TYPE_CHECKING:
    import pandas as pd

_APART = 3.0
"""Two components are told apart if their variances differ by so many standard errors: with less, each may be any
mixture of both, and loadings have no errors of first order."""

_ALIKE = 1e-9
"""Smallest gap of two variances, as a share of the largest, that is divided by: such components are not told apart."""


@dataclass(frozen=True)
class PrincipalComponents:
    """Principal components of released columns, which cost no privacy.

    Attributes:
        columns: names of the columns.
        standardised: whether they are those of the correlation matrix.
        variances: of each component, largest first.
        shares: of all variance, in the same order.
        loadings: of each component, one for each column; the largest of a component is positive.
        apart: whether a component is told apart from its neighbours; else its loadings are doubtful.
        reasons: why all of it is doubtful; empty if it is not.
    """

    columns: tuple[str, ...]
    standardised: bool
    variances: tuple[Figure, ...]
    shares: tuple[Figure, ...]
    loadings: tuple[tuple[Figure, ...], ...]
    apart: tuple[bool, ...]
    reasons: tuple[str, ...]

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """Return a frame with a row for each number: component, what it is, value, errors, interval, state."""
        import pandas as pd

        return pd.DataFrame(self._rows(level))

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain data."""
        return {
            "columns": list(self.columns),
            "standardised": self.standardised,
            "apart": list(self.apart),
            "numbers": self._rows(level),
            "reasons": list(self.reasons),
        }

    def _rows(self, level: float) -> list[dict[str, Any]]:
        found = []
        for i, loadings in enumerate(self.loadings):
            named = [
                ("variance", self.variances[i]),
                ("share", self.shares[i]),
                *(("loading", each) for each in loadings),
            ]
            found += [{"component": i + 1, "what": what, **figure.to_json(level)} for what, figure in named]
        return found


def principal_components(
    estimate: Estimate, columns: Sequence[str] | None = None, standardised: bool = True, group: str | None = None
) -> PrincipalComponents:
    """Compute principal components of released columns. It reads no rows and costs no privacy.

    Args:
        estimate: a released Gaussian or mixture.
        columns: names; None: all.
        standardised: of the correlation matrix; else of the covariance, where units matter.
        group: within this group of rows; None: over all rows.

    Raises:
        InvalidInput: no such column, or no covariances.
    """
    names = tuple(estimate.columns if columns is None else columns)
    unknown = next((name for name in names if name not in estimate.columns), None)
    if unknown is not None:
        raise InvalidInput(f"the release has no column {unknown!r}: it has {', '.join(estimate.columns)}")
    if len(set(names)) < max(len(names), 2):
        raise InvalidInput("name at least two columns, each of them once")
    source = source_of(estimate, None, group)
    places = [list(estimate.columns).index(name) for name in names]
    own = source.covariance[np.ix_(places, places)]
    if np.diag(own).min() <= 0:
        raise InvalidInput("a column has no variance: leave it out")
    scales = np.sqrt(np.diag(own)) if standardised else np.ones(len(own))
    matrix = own / np.outer(scales, scales)
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(len(values))])

    def derivatives(weights: np.ndarray) -> Functions:
        return _embedded(weights, matrix, scales, places, len(source.mean), standardised)

    inner = np.einsum("ia,ja->aij", vectors, vectors)
    why = reasons(estimate, names) if doubtful(estimate, names, None, group) else ()
    state = None if estimate.findings is None else bool(why)
    each = figures_of([str(i + 1) for i in range(len(values))], values.tolist(), source, derivatives(inner))
    total = float(values.sum())
    of_shares = (inner - (values / total)[:, None, None] * np.eye(len(values))) / total
    shares = figures_of(
        [str(i + 1) for i in range(len(values))], (values / total).tolist(), source, derivatives(of_shares)
    )
    apart = _apart(values, inner, source, derivatives)
    loadings = []
    for a, value in enumerate(values):
        gaps = np.where(np.arange(len(values)) == a, np.inf, value - values)
        gaps = np.where(np.abs(gaps) < _ALIKE * values[0], _ALIKE * values[0], gaps)
        # dv_a = sum over b of v_b (v_b' dC v_a) / (value_a - value_b)
        weights = np.einsum("jb,kb,l->jkl", vectors / gaps, vectors, vectors[:, a])
        figures = figures_of(names, vectors[:, a].tolist(), source, derivatives(weights))
        loadings.append(tuple(figure.judged(None if state is None else state or not apart[a]) for figure in figures))
    return PrincipalComponents(
        columns=names,
        standardised=standardised,
        variances=tuple(figure.judged(state) for figure in each),
        shares=tuple(figure.judged(state) for figure in shares),
        loadings=tuple(loadings),
        apart=apart,
        reasons=why,
    )


def _embedded(
    weights: np.ndarray, matrix: np.ndarray, scales: np.ndarray, places: list[int], d: int, standardised: bool
) -> Functions:
    """Turn derivatives (m, k, k) by the matrix of some columns into those by the whole covariance (d, d).

    A correlation C_ij = S_ij / (s_i s_j) changes by dS_ij / (s_i s_j) - C_ij (dS_ii / S_ii + dS_jj / S_jj) / 2.
    """
    symmetric = (weights + weights.transpose(0, 2, 1)) / 2
    own = symmetric / np.outer(scales, scales)
    if standardised:
        along = np.arange(len(matrix))
        own[:, along, along] -= (symmetric * matrix).sum(axis=2) / scales**2
    whole = np.zeros((len(weights), d, d))
    whole[np.ix_(range(len(weights)), places, places)] = own
    return Functions.of_covariance(whole)


def _apart(
    values: np.ndarray, inner: np.ndarray, source: Source, derivatives: Callable[[np.ndarray], Functions]
) -> tuple[bool, ...]:
    """Tell which components clearly have other variances than their neighbours."""
    gaps = -np.diff(values)
    between = derivatives(inner[:-1] - inner[1:])
    errors = np.sqrt(sum(standard_errors(source.errors(name, between)) ** 2 for name in SOURCES))
    clear = [True, *(gaps > _APART * errors), True]
    return tuple(bool(before and after) for before, after in pairwise(clear))
