"""The distribution of a column after some rounds, by public rows that are moved to where the private ones lie."""

from collections.abc import Sequence

from pubpriv.estimators.quantiles._edges import moved
from pubpriv.estimators.quantiles._pooling import CellCounts, pooled, vagueness
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn

_BETTER = 0.7
"""Public rows are moved if that makes their worst contradiction this much smaller. Moving what is not contradicted
would add noise."""

_MOVES = 2
"""Times that they are moved: the second time by quartiles that the first one made better."""


def located(
    given: PublicColumn, rounds: Sequence[CellCounts], records: float, records_sd: float, counted: bool = False
) -> Distribution:
    """Pool the counts of all rounds, and move the public rows if these say so; for arguments see `pooled`.

    Those of a column whose levels are counted stay where they are.
    """
    public, known = given, pooled(rounds, records, given.masses, records_sd)
    for _ in range(0 if counted else _MOVES):
        other = moved(Distribution(public, known, given))
        if vagueness(rounds, records, other.masses) >= _BETTER * vagueness(rounds, records, public.masses):
            break
        public, known = other, pooled(rounds, records, other.masses, records_sd)
    return Distribution(public, known, given)
