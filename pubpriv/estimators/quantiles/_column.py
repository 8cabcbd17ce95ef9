"""The distribution of a column after some rounds, by public rows that are moved to where the private ones lie."""

from collections.abc import Sequence
from dataclasses import dataclass

from pubpriv.estimators.quantiles._edges import moved
from pubpriv.estimators.quantiles._pooling import CellCounts, Pooled, pooled, vagueness
from pubpriv.estimators.quantiles._public import PublicColumn

_BETTER = 0.7
"""Public rows are moved if that makes their worst contradiction this much smaller. Moving what is not contradicted
would add noise."""

_MOVES = 2
"""Times that they are moved: the second time by quartiles that the first one made better."""


@dataclass(frozen=True, eq=False)
class Column:
    """What is known of a column.

    Attributes:
        public: its public rows, moved if the answers say that they lie elsewhere.
        known: its distribution.
        moves: how often they were moved.
    """

    public: PublicColumn
    known: Pooled
    moves: int

    @classmethod
    def of(cls, public: PublicColumn, rounds: Sequence[CellCounts], records: float, records_sd: float) -> "Column":
        """Pool the counts of all rounds; for arguments see `pooled`."""
        known, moves = pooled(rounds, records, public.masses, records_sd), 0
        for _ in range(_MOVES):
            other = moved(public, known)
            if vagueness(rounds, records, other.masses) >= _BETTER * vagueness(rounds, records, public.masses):
                break
            public, moves = other, moves + 1
            known = pooled(rounds, records, public.masses, records_sd)
        return cls(public, known, moves)
