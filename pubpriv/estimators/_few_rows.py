"""Refusals by how many rows there are: before anything is spent where that is public, and else an answer, paid for."""

from collections.abc import Iterator
from contextlib import contextmanager

from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.ledger.unit import Size


@contextmanager
def refusing_by(size: Size) -> Iterator[None]:
    """Hold what is refused in here against `size`: where that was released, the run has spent, and ends.

    Args:
        size: of the table, by which rows are found to be too few.

    Raises:
        NoAnswer: instead of `InvalidInput`, which promises that nothing was spent.
    """
    refused = ""
    try:
        yield
    except InvalidInput as error:
        if not size.sd:
            raise
        refused = str(error)
    if refused:
        raise NoAnswer(
            f"no answer: {refused}. The number of rows is private here, and this is the released one. Counting is paid "
            "for, the rest of the run's budget is not; try again with another release id"
        )
