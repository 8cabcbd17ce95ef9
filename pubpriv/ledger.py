"""The ledger as its users hold it: the books, which also know what their questions cost.

The books themselves (`privacy.ledger`) read a stored question as data. With `pricing` beside them, a charge whose
event is not its question's is refused when it is made, and found by `verify` and `restore` if it was planted.
"""

from typing import Any

from pubpriv.privacy.ledger import Ledger as Books
from pubpriv.privacy.ledger.views import Asked


class Ledger(Books):
    """Append-only books of datasets' budgets; open one with `Ledger.open`."""

    @staticmethod
    def asked(question: Any) -> Asked | None:
        """Recompute a stored question; see `pricing.asked_by`."""
        from pubpriv.pricing import asked_by

        return asked_by(question)
