"""What does not fit, before anybody has words for it: `refusals` writes them."""

from pubpriv.errors import BudgetExceeded
from pubpriv.privacy.budgets import Amount


class NoRoom(BudgetExceeded):
    """What `records.apply` raises where something does not fit; `of` says whose room it was.

    Amounts are in the run's currency where `of` is `run` or `method`, in that of a period's cap where it is `period`,
    else in the ledger's.
    """

    def __init__(self, message: str, of: str, **amounts: Amount) -> None:
        super().__init__(message, **amounts)
        self.of = of
