"""The rows that each column takes far out of their component: evidence that it is long while the others are not.

Counts in shells about components hardly show one long column among many, and clipping takes a tenth of its variance.
So each row is counted for the column in which it is furthest from the middle of its component; see `_far_points`.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import Counts
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._far_out import FAR_OUT, furthest, gaussian_tails, long_column_odds
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._beside import DRAWN, beside_model
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._far_points import FarRegions
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._lone_tails import LoneTail
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step

_ENDLESS = 1000.0
"""End of components that have none."""

_FURTHEST = 30.0
"""No Gaussian row is further out than this."""

_DOUBTFUL, _CROWDED = 3.0, 2.0
"""A column may be long if its count exceeds what is expected by so many sds. Its count is no law's if it exceeds the
most that any has by the second number: few tails bring out nearly that many."""


@public_value
@dataclass(frozen=True)
class FarRows:
    """Released numbers of rows that are far out.

    Attributes:
        counts: (d,), of the columns.
        expected: (d,), the same of Gaussian components.
        sds: (d,), of the counts, by noise, chance, and scales of components that are not known exactly.
        rows: (d,), of components, on the sides on which they were counted.
        end: of components: rows further out belong to none.
        clumped: by how much more counts vary by sampling than those of independent rows.
    """

    counts: tuple[float, ...]
    expected: tuple[float, ...]
    sds: tuple[float, ...]
    rows: tuple[float, ...]
    end: float
    clumped: float = 1.0  # for stored numbers of runs that are older than this field

    @property
    def doubtful(self) -> bool:
        """Tell whether a column may be long."""
        more = (np.array(self.counts) - np.array(self.expected)) / np.array(self.sds)
        more -= max(float(np.median(more)), 0.0)
        return bool((more[np.array(self.rows) > 0] > _DOUBTFUL).any())

    def beyond_laws(self, laws: tuple[LoneTail, ...]) -> tuple[int, ...]:
        """Give the columns that take more rows far out than any law of a tail of one column does, beside the others."""
        if not laws:
            return ()
        counts, expected, rows = np.array(self.counts), np.array(self.expected), np.array(self.rows)
        known = np.maximum(rows, 1.0)
        others = max(float(np.median((counts - expected) / known)), 0.0)
        most = float(self._brought(laws).max())
        sds = np.sqrt(np.array(self.sds) ** 2 + self.clumped * most * known)
        more = counts - expected - (others + most) * known
        return tuple(np.flatnonzero((rows > 0) & (more > _CROWDED * sds)).tolist())

    def log_odds(self, laws: tuple[LoneTail, ...]) -> np.ndarray:
        """Compute log odds (laws, d) of each law of a tail of one column, for each, against Gaussian components."""
        if not laws:
            return np.zeros((0, len(self.counts)))
        added = np.outer(self._brought(laws), self.rows)[:, None, :]
        counts, expected, sds = np.array(self.counts), np.array(self.expected), np.array(self.sds)
        return long_column_odds(counts, expected, sds**2, added).T

    def _brought(self, laws: tuple[LoneTail, ...]) -> np.ndarray:
        """Give the share of rows that each law takes far out beyond a Gaussian's, (laws,)."""
        return np.array([law.far for law in laws]) - float(_between(len(self.counts), self.end)[0])


@step(title="columns far out", private=True)
@one_thread
def count_far(curator: Curator, scaling: Scaling, public: PublicTable, last: Round, ask: Ask) -> FarRows:
    """Count rows by the column in which they are furthest out of their component.

    Args:
        curator: the run.
        scaling: of the standard coordinates, those of columns.
        public: rows, whose lattices the drawn rows are put on.
        last: the round that is released.
        ask: label and price.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    end, regions = _end(last), _regions_of(scaling, last)
    found = beside_model(curator, _question(regions, ask), scaling.undo(last.mixture), public.rows, ask.label)
    d, k, rows, expected = len(scaling.location), len(last.counts), found.rows, found.predicted[1:]
    on_sides = rows * regions.sides
    # of a component's variance, by sampling and noise; columns of all components together have less
    relative = math.sqrt((2 * found.clumped / rows + k * (last.moment_sd / rows) ** 2) / 4)
    variances = found.sd**2 + expected * (found.clumped + rows / DRAWN)
    variances += (on_sides * _between(d, end)[1] * relative) ** 2
    return FarRows(
        tuple(found.seen[1:].tolist()),
        tuple(expected.tolist()),
        tuple(np.sqrt(variances).tolist()),
        tuple(on_sides.tolist()),
        end,
        found.clumped,
    )


@one_thread
def far_question(scaling: Scaling, last: Round, ask: Ask) -> Counts:
    """Make the question of `count_far`."""
    return _question(_regions_of(scaling, last), ask)


def _question(regions: FarRegions, ask: Ask) -> Counts:
    return Counts.priced(regions.partition, ask.price)


def _regions_of(scaling: Scaling, last: Round) -> FarRegions:
    return FarRegions.of(scaling, last.mixture, _end(last))


def _end(last: Round) -> float:
    return _ENDLESS if last.outside is None else last.outside.end


def _between(d: int, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute the share of Gaussian rows that a column takes far out, on both sides, and its slope by the scale."""
    shares, slopes = gaussian_tails(np.array([FAR_OUT, min(furthest(d, end), _FURTHEST)]))
    return 2 * (shares[0] - shares[1]), 2 * (slopes[0] - slopes[1])
