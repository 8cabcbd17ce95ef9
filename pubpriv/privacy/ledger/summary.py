"""The result of a replay, and a checkpoint from which a later replay continues."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.ledger.records import DatasetState
from pubpriv.privacy.units import to_text

_NAMED = 5
"""Largest number of types of unchecked questions that are named."""


@dataclass(frozen=True)
class Summary:
    """The result of replaying a valid chain.

    Attributes:
        records, charges, answers: their numbers.
        head: hash of the newest record.
        budget: the first registered budget, whose currency the state has.
        state: cap, spent and held.
        recomputed: number of charges whose event was computed again from the stored question, and was the same.
        unknown: types of questions whose events could not be computed again, with their numbers of charges: they
            are unchecked. All types, if no function was given to compute events.
        carried: amount spent in earlier books, as these books state it; None: they continue none.
        trusted: number of records before a checkpoint, which were not read again; 0: all were read.
        memory: JSON data for continuing from here; see `Checkpoint`.
    """

    records: int
    charges: int
    answers: int
    head: str
    budget: Budget
    state: DatasetState
    recomputed: int
    unknown: Mapping[str, int]
    carried: Amount | None = None
    trusted: int = 0
    memory: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def unchecked(self) -> str:
        """Sentences on what was not checked; empty if everything was."""
        return "; ".join(filter(None, (self._before, self._of_unknown_types)))

    @property
    def _before(self) -> str:
        if self.carried is None:
            return ""
        spent = to_text(self.carried.main)
        return f"{spent} {self.budget.currency} of it was spent in books that were closed: `--archive` checks that"

    @property
    def _of_unknown_types(self) -> str:
        if not self.unknown:
            return ""
        types = ", ".join(f"{name!a} ({number:,})" for name, number in sorted(self.unknown.items())[:_NAMED])
        return (
            f"unchecked: {sum(self.unknown.values()):,} of {self.charges:,} charges are for questions that this "
            f"version does not know, so their events were not compared with them: {types}"
            f"{', ...' if len(self.unknown) > _NAMED else ''}"
        )


@dataclass(frozen=True)
class Checkpoint:
    """State at the end of a replay, from which a later replay that trusts it continues.

    Attributes:
        records: number of replayed records.
        head: hash of the last of them.
        memory: JSON data: the balance, open runs with their charges, names of closed runs, and counts.
    """

    records: int
    head: str
    memory: Mapping[str, Any]

    @classmethod
    def of(cls, summary: Summary) -> "Checkpoint":
        """Make the checkpoint at the end of the records of a summary."""
        return cls(summary.records, summary.head, summary.memory)
