"""The ledger: append-only, hash-chained books of every dataset's budget."""

from pubpriv.privacy.ledger.store import Ledger

__all__ = ["Ledger"]
