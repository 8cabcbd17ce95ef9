"""Events about datasets and their ledger, on which automations and people can act.

Payloads are figures of the ledger, which are public; `text` has the same in words, with what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prefect.events import emit_event

from pubpriv.privacy.budgets import Budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.views import Balance

LOW = "pubpriv.budget.low"
"""Event after a run: fewer such runs fit than its `warn_below`."""

EXHAUSTED = "pubpriv.budget.exhausted"
"""A run was refused, before it read anything: its allotment has no room in the dataset's budget."""

MISSED = "pubpriv.release.skipped"
"""A scheduled run did not begin: its series is paused, or it came too late for its period."""

DOUBTFUL_NUMBERS = "pubpriv.release.doubtful"
"""A release was made, and some of its numbers are doubtful."""

EXPORT_OLD = "pubpriv.ledger.export-old"
"""The export that is the ledger's witness is older than an audit allows."""

VERIFY_FAILED = "pubpriv.ledger.verify-failed"
"""An audit found a record, a sum or a stored model of the dataset that is wrong."""


def resource_id(dataset: str) -> str:
    """Return the name of a dataset in events."""
    return f"pubpriv.dataset.{dataset}"


@dataclass(frozen=True)
class BudgetOutlook:
    """The remaining budget of a dataset, from the view of a run with some allotment.

    Attributes:
        balance: balance of the dataset.
        allotment: allotment of the run.
        fitting: number of further runs with this allotment that could be opened now.
    """

    balance: Balance
    allotment: Budget
    fitting: int

    @classmethod
    def of(cls, ledger: Ledger, dataset: str, allotment: Budget) -> "BudgetOutlook":
        """Read from the ledger."""
        return cls(ledger.balance(dataset), allotment, ledger.fitting(dataset, allotment))

    def figures(self) -> dict[str, Any]:
        """Return it as plain data: amounts in words, and how many runs fit."""
        balance = self.balance
        amounts = {"cap": balance.cap, "spent": balance.spent, "held": balance.held, "remaining": balance.remaining}
        return {
            "dataset": balance.dataset,
            "budget": balance.budget.describe(),
            **{name: balance.budget.amount_text(amount) for name, amount in amounts.items()},
            "allotment_of_a_run": self.allotment.describe(),
            "runs_that_fit": self.fitting,
        }

    def in_words(self) -> str:
        """Describe in two sentences what is spent, held and left, and how many more runs fit."""
        figures = self.figures()
        return (
            f"Of a budget of {figures['budget']}, that is {figures['cap']}: spent {figures['spent']}, held by open "
            f"runs {figures['held']}, left {figures['remaining']}. That is room for {figures['runs_that_fit']} more "
            f"run{'s' * (self.fitting != 1)} of {figures['allotment_of_a_run']} each."
        )

    def tell_if_low(self, release_id: str, warn_below: int) -> bool:
        """Emit `pubpriv.budget.low` if fewer than `warn_below` more such runs fit; returns whether it did."""
        if self.fitting >= warn_below:
            return False
        what_to_do = "Raise the cap (`pubpriv budget set --raise`), lower the allotment, or run less often."
        self._tell(LOW, release_id, what_to_do, warn_below=warn_below)
        return True

    def tell_if_exhausted(self, release_id: str) -> bool:
        """Emit `pubpriv.budget.exhausted` if no such run fits (refusals may have other reasons); returns whether."""
        if self.fitting:
            return False
        what_to_do = "The deployment is paused: raise the cap (`pubpriv budget set --raise`) and switch it on again."
        self._tell(EXHAUSTED, release_id, what_to_do)
        return True

    def _tell(self, event: str, release_id: str, what_to_do: str, **more: Any) -> None:
        facts = self.figures() | {"release_id": release_id} | more
        _emit(event, facts.pop("dataset"), f"{self.in_words()} {what_to_do}", **facts)


def tell_of_skipped(dataset: str, release_id: str, why: str) -> None:
    """Emit `pubpriv.release.skipped`."""
    _emit(MISSED, dataset, f"Release {release_id} was not made: {why}.", release_id=release_id, why=why)


def tell_of_doubtful(dataset: str, release_id: str, verdict: str, columns: Sequence[str]) -> None:
    """Emit `pubpriv.release.doubtful`.

    Args:
        dataset: name in the ledger.
        release_id: release id.
        verdict: of the release, a clause.
        columns: those with doubtful numbers.
    """
    text = f"Release {release_id}: {verdict}. What would help is on its page, and in the findings of its model."
    _emit(DOUBTFUL_NUMBERS, dataset, text, release_id=release_id, columns=list(columns))


def tell_of_old_export(dataset: str, hours: int) -> None:
    """Emit `pubpriv.ledger.export-old`: if the ledger were lost, charges since the export would be forgotten."""
    text = f"The newest export of the ledger is {hours} h old: look why `pubpriv ledger export` does not run."
    _emit(EXPORT_OLD, dataset, text, hours=hours)


def tell_of_violation(dataset: str, finding: str) -> None:
    """Emit `pubpriv.ledger.verify-failed`."""
    text = f"The audit found something wrong: {finding}. Stop charging this ledger, and keep a copy of it."
    _emit(VERIFY_FAILED, dataset, text, finding=finding)


def _emit(event: str, dataset: str, text: str, **facts: Any) -> None:
    resource = {"prefect.resource.id": resource_id(dataset), "prefect.resource.name": dataset}
    emit_event(event, resource=resource, payload={"dataset": dataset, "text": text} | facts)
