"""Forecast of a run: its questions, and how far ranks will be off."""

import math
from dataclasses import dataclass, replace

from pubpriv.data.categories import ByCategory
from pubpriv.errors import InvalidInput
from pubpriv.estimators.groups.plan import SHARE
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
        by: the groups; None: there are none.
    """

    d: int
    m: int
    at: tuple[float, ...]
    some: bool = False
    counted: int = 0
    by: ByCategory | None = None

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the error of each rank, and of the same in groups of equal size."""
        if self.by is None:
            return self._whole(n, purse)
        whole, groups = self._parts(purse)
        forecast, rows = self._whole(n, whole), n / self.by.n_regions
        own, noise = 0.5 / math.sqrt(rows), rank_noise(self.d, groups.rho) / rows
        equal = f"rank 0.5 in one of {self.by.n_regions} equal groups"
        error = Predicted(equal, "shares of its rows", own, noise, own, None)
        asks = *forecast.plan.asks, *QuantilesPlan.of(groups, self.d, self.by).asks
        return Forecast(replace(forecast.plan, asks=asks), (*forecast.errors, error))

    def _parts(self, purse: Purse) -> tuple[Purse, Purse]:
        """Divide a purse between all rows and groups."""
        whole, groups = (purse.part(price) for price in purse.split([1 - SHARE, SHARE]))
        return whole, groups

    def _whole(self, n: int, purse: Purse) -> Forecast:
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
        purse = purse if self.by is None else self._parts(purse)[0]
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
        groups: tuple[str, ...] = ()
        if self.by is not None:
            note = (
                f"{float(SHARE):.0%} of the budget is for {self.by.n_regions} groups by {self.by.column}, asked at "
                "once; more of them cost no more noise. Ranks that noise would drown in a group are left out there"
            )
            groups = (note,)
        return (
            meaning,
            *groups,
            f"the price does not depend on the number of ranks; noise is that of all columns together{alone}",
            "the share of missing cells, of values with many rows, and the whole distribution come with it",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give none: theorems on quantiles have no constants."""
        del terms
        return ()
