"""Events: what the server hears of a dataset's budget, so that automations and people can act on it.

Payloads are figures of the ledger, which are public.
"""

from dataclasses import dataclass
from typing import Any

from prefect.events import emit_event

from pubpriv.privacy.budgets import Budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.views import Balance

_LOW = "pubpriv.budget.low"
"""After a run: fewer such runs fit than its `warn_below`."""

EXHAUSTED = "pubpriv.budget.exhausted"
"""A run was refused, before it read anything: its allotment has no room in the dataset's budget."""


_SKIPPED = "pubpriv.release.skipped"
"""A scheduled run did not begin: its series is paused, or it came too late for its period."""


def resource_id(dataset: str) -> str:
    """Name a dataset in events."""
    return f"pubpriv.dataset.{dataset}"


@dataclass(frozen=True)
class BudgetOutlook:
    """Hold where a dataset's budget stands, seen from a run with some allotment.

    Attributes:
        balance: of the dataset.
        allotment: of the run.
        fitting: how many more runs with this allotment could be opened now.
    """

    balance: Balance
    allotment: Budget
    fitting: int

    @classmethod
    def of(cls, ledger: Ledger, dataset: str, allotment: Budget) -> "BudgetOutlook":
        """Read from the ledger."""
        return cls(ledger.balance(dataset), allotment, ledger.fitting(dataset, allotment))

    def figures(self) -> dict[str, Any]:
        """Give it as plain data: amounts in words, and how many runs fit."""
        balance = self.balance
        amounts = {"cap": balance.cap, "spent": balance.spent, "held": balance.held, "remaining": balance.remaining}
        return {
            "dataset": balance.dataset,
            "budget": balance.budget.describe(),
            **{name: balance.budget.amount_text(amount) for name, amount in amounts.items()},
            "allotment_of_a_run": self.allotment.describe(),
            "runs_that_fit": self.fitting,
        }


def tell_if_low(outlook: BudgetOutlook, release_id: str, warn_below: int) -> bool:
    """Emit `pubpriv.budget.low` if fewer than `warn_below` more such runs fit; tell whether it did."""
    if outlook.fitting >= warn_below:
        return False
    _emit(_LOW, outlook, release_id, warn_below=warn_below)
    return True


def tell_if_exhausted(outlook: BudgetOutlook, release_id: str) -> bool:
    """Emit `pubpriv.budget.exhausted` if no such run fits: a refusal may have other reasons. Tell whether it did."""
    if outlook.fitting:
        return False
    _emit(EXHAUSTED, outlook, release_id)
    return True


def tell_of_skipped(dataset: str, release_id: str, why: str) -> None:
    """Emit `pubpriv.release.skipped`."""
    resource = {"prefect.resource.id": resource_id(dataset), "prefect.resource.name": dataset}
    emit_event(_SKIPPED, resource=resource, payload={"dataset": dataset, "release_id": release_id, "why": why})


def _emit(event: str, outlook: BudgetOutlook, release_id: str, **more: Any) -> None:
    name = outlook.balance.dataset
    emit_event(
        event,
        resource={"prefect.resource.id": resource_id(name), "prefect.resource.name": name},
        payload=outlook.figures() | {"release_id": release_id} | more,
    )
