"""What a replay comes to, and where it stopped, for one that goes on from there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.ledger.records import DatasetState
from pubpriv.privacy.units import to_text

_NAMED = 5
"""Types of questions that are named where they could not be checked."""


@dataclass(frozen=True)
class Summary:
    """What a chain that holds comes to.

    Attributes:
        records, charges, answers: how many.
        head: hash of the newest record.
        budget: the one first registered, whose currency the state is in.
        state: cap, spent and held.
        recomputed: charges whose event was made again from the stored question, and was the same.
        unknown: types of questions whose events could not be made again, with their numbers of charges: they
            are unchecked. All of them, where nothing was brought to make events with.
        carried: what was spent in the books that these carry on, as these say; None: they carry on none.
        trusted: records before a checkpoint, which were not read again; 0: all were.
        memory: what goes on from here needs to know, as JSON data; see `Checkpoint`.
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
        """What was not checked, in words; empty if all was."""
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
    """Where a replay came to: one that trusts it goes on from there.

    Attributes:
        records: how many were replayed.
        head: hash of the last of them.
        memory: JSON data: the balance, open runs with their charges, names of closed runs, and counts.
    """

    records: int
    head: str
    memory: Mapping[str, Any]

    @classmethod
    def of(cls, summary: Summary) -> "Checkpoint":
        """Stop after the records that a summary is of."""
        return cls(summary.records, summary.head, summary.memory)
