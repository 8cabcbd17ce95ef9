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
from pubpriv.estimators._far_out import FAR_OUT, gaussian_tails, long_column_odds
from pubpriv.estimators._whole_rows import whole_rows
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._far_points import FarRegions, furthest
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._lone_tails import LoneTail
from pubpriv.estimators.mixture._misfit import DRAWN, predicted_shares
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step

_DOUBTFUL = 3.0
"""A column may be long if its count exceeds what is expected by so many sds."""


@public_value
@dataclass(frozen=True)
class FarRows:
    """Released numbers of rows that are far out.

    Attributes:
        columns: in which rows are counted, in order; of others, no point is free of other components.
        counts: of these columns.
        expected: the same of Gaussian components.
        sds: of the counts, by noise, chance, and scales of components that are not known exactly.
        rows: of components, on whose sides points are, for each of these columns.
    """

    columns: tuple[int, ...]
    counts: tuple[float, ...]
    expected: tuple[float, ...]
    sds: tuple[float, ...]
    rows: tuple[float, ...]

    @property
    def doubtful(self) -> bool:
        """Tell whether a column may be long."""
        more = (np.array(self.counts) - np.array(self.expected)) / np.array(self.sds)
        return bool((more - max(float(np.median(more)), 0.0) > _DOUBTFUL).any())

    def log_odds(self, d: int, laws: tuple[LoneTail, ...], end: float) -> np.ndarray:
        """Compute log odds (laws, d) of each law for each column, against Gaussian components.

        Args:
            d: columns.
            laws: of a tail of one column.
            end: of components.
        """
        found = np.zeros((len(laws), d))
        if laws:
            usual = float(_between(d, end)[0])
            added = np.outer([law.far - usual for law in laws], self.rows)[:, None, :]
            counts, expected, sds = np.array(self.counts), np.array(self.expected), np.array(self.sds)
            found[:, list(self.columns)] = long_column_odds(counts, expected, sds**2, added).T
        return found


@step(title="columns far out", private=True)
@one_thread
def count_far(
    curator: Curator, scaling: Scaling, public: PublicTable, last: Round, end: float, ask: Ask
) -> FarRows | None:
    """Count rows by the column in which they are furthest out of their component; None: there is nothing to count.

    Args:
        curator: the run.
        scaling: of the standard coordinates, those of columns.
        public: rows, whose lattices the drawn rows are put on.
        last: the round that is released.
        end: rows further out belong to no component.
        ask: label and price.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    regions = FarRegions.of(scaling, last.mixture, end)
    if len(regions.columns) < 2:
        return None
    question = Counts.priced(regions.partition, ask.price)
    answer = curator.release(question, ask.label)
    asked, d, k = answer.question, len(scaling.location), len(last.counts)
    shares = predicted_shares(asked, scaling.undo(last.mixture), public.rows)
    sd = float(asked.noise()["count"][0])
    rows = whole_rows(curator.size, answer.values["count"], sd, float(shares.sum()))
    clumped = curator.size.widening**2
    on_sides = rows * np.array(regions.sides)
    expected = rows * shares[1:]
    # of a component's variance, by sampling and noise; columns of all components together have less
    relative = math.sqrt((2 * clumped / rows + k * (last.moment_sd / rows) ** 2) / 4)
    variances = sd**2 + expected * (clumped + rows / DRAWN) + (on_sides * _between(d, end)[1] * relative) ** 2
    return FarRows(
        regions.columns,
        tuple(answer.values["count"][1:].tolist()),
        tuple(expected.tolist()),
        tuple(np.sqrt(variances).tolist()),
        tuple(on_sides.tolist()),
    )


def _between(d: int, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute the share of Gaussian rows that a column takes far out, on both sides, and its slope by the scale."""
    shares, slopes = gaussian_tails(np.array([FAR_OUT, furthest(d, end)]))
    return 2 * (shares[0] - shares[1]), 2 * (slopes[0] - slopes[1])
