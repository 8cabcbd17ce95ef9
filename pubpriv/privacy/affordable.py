"""Whether a run can pay for all that it may ask, before the first of it is asked."""

from collections.abc import Sequence
from itertools import chain

from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.events import Event


def check_afforded(plans: Sequence[Sequence[Event]], budget: Budget, room: Amount) -> None:
    """Refuse plans of which one costs more than there is room for.

    Args:
        plans: events of each.
        budget: that prices them.
        room: in its currency.

    Raises:
        BudgetExceeded: one costs more.
        InvalidInput: its failure terms do.
    """
    prices = {event: budget.price(event) for event in set(chain.from_iterable(plans))}
    for plan in plans:
        _fits(sum((prices[event] for event in plan), Amount(0)), budget, room)


def _fits(total: Amount, budget: Budget, room: Amount) -> None:
    if total.main > room.main:
        raise BudgetExceeded(
            f"the steps of this method cost more than its run may spend: requested {budget.amount_text(total)}, "
            f"remaining {budget.amount_text(room)}. Nothing was charged: give the run a larger budget",
            requested=total,
            remaining=room,
        )
    if total.delta > room.delta:
        raise InvalidInput(
            f"{budget.describe()} leaves too little room for the failure terms of this method: "
            "choose a larger delta or a smaller epsilon"
        )
