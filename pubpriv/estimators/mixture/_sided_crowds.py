"""Find outliers that lie together in a component of a single column: on which side, how far out, and how many.

Counts to either side of a component show such a crowd more clearly than counts by distance: there are more rows on its
side, and the mean was moved to that side. So the mean can be corrected. Everything is computed from released numbers,
so this is free.
"""

import numpy as np

from pubpriv.estimators._even_rows import even_chances
from pubpriv.estimators._noisy_counts import log_likelihood
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._crowds import Crowds, likely_hits, posterior
from pubpriv.estimators.mixture._fit_regions import side_edges
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._sorted_rows import ColumnSorting
from pubpriv.estimators.mixture._tail_rows import CROWD, WIDTHS, DrawnRows, OddKinds
from pubpriv.estimators.mixture.scaling import Scaling

_SIZES = np.geomspace(0.5, 1.4, 5)
"""Sizes of crowds that are tried, as multiples of the size expected from the outliers outside, which are counted with
noise. All are equally likely beforehand."""

_FINER = 3
"""Number of parts of each distance from the mean: counts to one side tell them apart."""

_DRAWN = 60_000
"""Number of evenly drawn rows of all components together that are sorted into shells."""


def crowds_to_sides(
    scaling: Scaling, public: np.ndarray, last: Round, fit: Fit, drawn: DrawnRows, odd: OddKinds, clumped: float
) -> Crowds:
    """Tell where crowds may be in components of one column; see `Crowds.of`.

    Args:
        scaling: of the standard coordinates.
        public: rows, on whose lattice rows are drawn.
        last: the round.
        fit: counts about its components, to either side.
        drawn: rows that stand for odd ones.
        odd: kinds of odd rows.
        clumped: by how much more counts vary by sampling than those of independent rows.
    """
    places, sizes, prior = _cases(drawn, odd)
    sorting = ColumnSorting(scaling, public, last)
    rows = _shares(sorting)[odd.widths].transpose(1, 0, 2)
    share = odd.shares[:, None]
    chances = []
    for own, shares, counts in zip(zip(*sorting.placed, strict=True), rows, np.array(fit.sides), strict=True):
        seen, within = counts[1:-1], shares[:, 1:-1]  # at the ends lie rows that are outside
        kinds = (1 - share) * within[:1] + share * within
        expected = kinds / kinds.sum(axis=1, keepdims=True)
        expected = max(seen.sum(), 0.0) * (expected[:, None] + _changes(own, places, sizes))
        variances = fit.sd**2 + np.maximum(expected, 0.0) * clumped
        logs = log_likelihood(seen, expected, variances)
        chances.append(posterior(prior, logs))
    clipped = np.clip(places, -last.radius, last.radius)
    nothing = 0.0 * sizes
    return Crowds(np.stack(chances), sizes * (clipped**2 - 1), nothing, nothing, sizes * clipped)


def _cases(drawn: DrawnRows, odd: OddKinds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give places (cases,), sizes (kinds, cases) and prior chances (kinds, cases); of the first there is no crowd."""
    step = 2 * float(drawn.places[0]) / _FINER
    lengths = step * (np.arange(_FINER * len(drawn.places)) + 0.5)
    hits = np.repeat(likely_hits(odd), _FINER, axis=1)
    places = np.repeat(np.concatenate([lengths, -lengths]), len(_SIZES))
    each = np.repeat(np.hstack([hits, hits]), len(_SIZES), axis=1) / (2 * _FINER * len(_SIZES))
    sizes = np.minimum(odd.crowds[:, None] * np.tile(_SIZES, 2 * len(lengths)), CROWD)
    nowhere = np.zeros((len(sizes), 1))
    return np.append(0.0, places), np.hstack([nowhere, sizes]), np.hstack([1 - each.sum(axis=1, keepdims=True), each])


def _changes(own: tuple[float, float], places: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Give what crowds change of the shares of a component's rows, (kinds, cases, regions) without those at the ends.

    The model was made of the same rows: it has the mean and variance that a crowd makes.

    Args:
        own: where the component is in its frame, and how wide.
        places: of crowds, in sds from its mean.
        sizes: (kinds, cases) of crowds, as shares of its rows.
    """
    from scipy.special import ndtr

    edges = (side_edges() - own[0]) / own[1]

    def shares(place: np.ndarray, width: np.ndarray) -> np.ndarray:
        return np.asarray(np.diff(ndtr((edges - place[..., None]) / width[..., None]), axis=-1))

    size, plain = sizes[..., None], shares(np.zeros(1), np.ones(1))
    width = 1 / np.sqrt(1 + sizes * (places**2 - 1))
    others, crowd = shares(-sizes * places, width), shares(places + 0.0 * sizes, width)
    return np.asarray((1 - size) * others + size * crowd - plain)


def _shares(sorting: ColumnSorting) -> np.ndarray:
    """Give the shares (widths, k, regions) of rows that are so many times as wide as components, in their shells."""
    from scipy.special import ndtri

    weights = sorting.last.mixture.arrays[0]
    each = _DRAWN // len(weights)
    rows = sorting.of_rows(np.outer(WIDTHS, ndtri(even_chances(each))), np.full(each, 1 / each), *sorting.measured)
    return np.asarray(np.einsum("lior,i->lor", rows.regions, weights))
