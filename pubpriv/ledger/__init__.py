"""Turns questions into charges: the price of each question in the ledger, and the unit that is protected (`unit`).

`data` defines what is asked, `privacy` what is paid; this package joins the two.
"""

from pubpriv.ledger.questions import (
    Ledger,
    answer_to,
    event_of,
    name_of,
    new_release_id,
    public_value_of,
    question_of,
)

__all__ = ["Ledger", "answer_to", "event_of", "name_of", "new_release_id", "public_value_of", "question_of"]
