"""Forecast of a run: its questions, and how far ranks will be off."""

import math
from dataclasses import dataclass

from pubpriv.errors import InvalidInput
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted
from pubpriv.estimators.quantiles.plan import QuantilesPlan, held, rank_noise
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize
from pubpriv.privacy.budgets import Budget, Purse


@dataclass(frozen=True)
class QuantilesCase:
    """Case of `estimate_quantiles`.

    Attributes:
        d: number of columns.
        m: number of public rows.
        at: ranks.
        some: whether ranks that drown are left out, as long as the middle one does not.
        counted: columns that are counted, not ranked.
    """

    d: int
    m: int
    at: tuple[float, ...]
    some: bool = False
    counted: int = 0

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the error of each rank."""
        noise, errors = rank_noise(self.d, purse.rho) / n, list[Predicted]()
        if self.counted:
            parts = 0.5 / math.sqrt(n), math.sqrt(self.d / purse.rho) / n, 0.5 / math.sqrt(n), 0.5 / math.sqrt(self.m)
            errors.append(Predicted("share of a level that half of the rows have", "", *parts))
        for share in self.at if self.counted < self.d else ():
            own = math.sqrt(share * (1 - share))
            parts = own / math.sqrt(n), noise, own / math.sqrt(n), own / math.sqrt(self.m)
            errors.append(Predicted(f"rank {share:g}", "shares of the rows", *parts))
        return Forecast(QuantilesPlan.of(purse, self.d), tuple(errors))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether the driver runs."""
        try:
            held(None if self.some or self.counted == self.d else self.at, n, self.d, purse.rho)
        except InvalidInput:
            return False
        return True

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Say what is asked and what the errors mean."""
        del n, budget
        alone = f": alone, one of them would have noise {1 / math.sqrt(self.d):.2g} times as large" * (self.d > 1)
        drowned = "; a rank of which noise is more than three sampling errors is left out" * self.some
        meaning = (
            "errors are those of ranks: with an error of 0.02, what is given as the median has 48 to 52% of the rows "
            f"at or below it in two of three releases{drowned}"
        )
        return (
            meaning,
            f"the price does not depend on the number of ranks; noise is that of all columns together{alone}",
            "the share of missing cells, of values with many rows, and the whole distribution come with it",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give none: theorems on quantiles have no constants."""
        del terms
        return ()
