"""The ledger: append-only, hash-chained records of every dataset's budget.

`Ledger` is loaded on first use, so that importing `records` or `views` loads no database library.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pubpriv.privacy.ledger.store import Ledger

__all__ = ["Ledger"]


def __getattr__(name: str) -> Any:
    if name != "Ledger":
        raise AttributeError(f"module 'pubpriv.privacy.ledger' has no attribute {name!r}")
    from pubpriv.privacy.ledger.store import Ledger

    return Ledger
