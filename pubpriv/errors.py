"""All errors that pubpriv raises on purpose.

::

    PubPrivError                 exit code of the command line
    ├── InvalidInput             2   bad input or configuration; nothing was spent
    │   ├── SpecMismatch         2   a release id, or a dataset, used with other settings
    │   ├── BooksClosed          2   books that are continued in another ledger, or a run of them
    │   └── RunClosed            2   a charge on a run that was closed
    ├── BudgetExceeded           3   the hold or the cap has no room
    ├── NoAnswer                 4   the answers allow no estimate; they are paid for
    ├── Unavailable              5   ledger, table or cluster out of reach; safe to retry
    ├── LedgerViolation          6   the ledger contradicts itself
    └── PrivateStepFailed        1   a defect: something failed after rows were opened

Every message says what is wrong, where, and what to do. None depends on the values of private rows:
errors before a charge use only public configuration, and `NoAnswer` uses released answers. Every other failure after a
charge becomes `PrivateStepFailed`, whose text is always the same, or `Unavailable` if table or cluster do not answer
when they are checked once more. `FilesNotRead` is a warning.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

_T = TypeVar("_T")


class PubPrivError(Exception):
    """Base of all errors raised on purpose; `exit_code` is the command line's."""

    exit_code = 1


class InvalidInput(PubPrivError, ValueError):
    """Bad input or configuration, found before anything was spent."""

    exit_code = 2


class SpecMismatch(InvalidInput):
    """A release id, a dataset or a table that is already bound to other settings."""


class RunClosed(InvalidInput):
    """A new charge on a run that has been closed; its answers can still be replayed."""


class BooksClosed(InvalidInput):
    """A ledger whose books are closed and continued in another one, or a run of closed books, kept in their archive."""


class BudgetExceeded(PubPrivError):
    """A hold or charge for which there is no room. Nothing was read, nothing was spent.

    Attributes:
        spent, held, requested, remaining: amounts (`privacy.budgets.Amount`) of the dataset or the run that had no
            room, in its currency; None if the error is not from the ledger.
    """

    exit_code = 3

    def __init__(
        self,
        message: str = "",
        *,
        spent: Any = None,
        held: Any = None,
        requested: Any = None,
        remaining: Any = None,
    ) -> None:
        super().__init__(message)
        self.spent, self.held, self.requested, self.remaining = spent, held, requested, remaining


class NoAnswer(PubPrivError):
    """The released answers allow no estimate. The questions are paid for, and this is a result, not a defect.

    It follows from released answers alone. The same release id gives the same error again, at no cost.
    """

    exit_code = 4


class Unavailable(PubPrivError):
    """Ledger, table or cluster cannot be reached now. Charges are kept; retrying is safe."""

    exit_code = 5


class LedgerViolation(PubPrivError):
    """The ledger's records contradict each other or their hash chain."""

    exit_code = 6


class FilesNotRead(UserWarning):
    """A warning: what is not read of a table in a folder or glob, because of its name; or, for persons, what is."""


class PrivateStepFailed(PubPrivError):
    """Something failed between a charge and its answer. The text is the same for every cause."""

    TEXT = (
        "a private step failed after it was paid for; its charge is kept. Check that the table can be read "
        "with its declared columns, then run the same release id again: it resumes at no further cost"
    )

    def __init__(self) -> None:
        super().__init__(self.TEXT)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the public name that a misspelt name probably means, or None."""
    known = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), known, n=1)
    return known[near[0]] if near else None


def without_trace(action: Callable[[], _T]) -> _T:
    """Run code that has exact totals or unpublished answers; its exceptions, also Ctrl-C, lose traceback and causes.

    A traceback keeps the variables of each function on its way, and causes and contexts keep more: a database's error
    contains the values that were to be written. Crash reporters record these.
    """
    try:
        return action()
    except BaseException as error:
        failure = error
    failure.__traceback__ = failure.__cause__ = failure.__context__ = None
    raise failure
