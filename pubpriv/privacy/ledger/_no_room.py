"""The exception for amounts that do not fit; `refusals` turns it into a message."""

from pubpriv.errors import BudgetExceeded
from pubpriv.privacy.budgets import Amount


class NoRoom(BudgetExceeded):
    """Raised by `records.apply` if an amount does not fit; `of` says where there was no room.

    Amounts are in the run's currency if `of` is `run` or `method`, in that of a period's cap if it is `period`, else in
    the ledger's.
    """

    def __init__(self, message: str, of: str, **amounts: Amount) -> None:
        super().__init__(message, **amounts)
        self.of = of
