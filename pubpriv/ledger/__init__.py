"""Where questions become charges: what each costs in the ledger that users hold, and (`unit`) whose privacy it is of.

The two wings meet here: `data` says what is asked, `privacy` what is paid.
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
