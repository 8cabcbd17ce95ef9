"""Refuse runs with too few rows.

Where the number of rows is public, the refusal is free. Where it is a released answer, it was paid for, and the run
ends without a result.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.ledger.unit import Size


@contextmanager
def refusing_by(size: Size) -> Iterator[None]:
    """Turn a refusal in this block into `NoAnswer` if the number of rows was released, that is, paid for.

    Args:
        size: number of rows of the table, by which the block refuses.

    Raises:
        NoAnswer: instead of `InvalidInput`, because `InvalidInput` promises that nothing was spent.
    """
    refused = ""
    try:
        yield
    except InvalidInput as error:
        if not size.sd:
            raise
        refused = str(error)
    if refused:
        share, _ = size.deficit
        if share:
            refused = (
                f"{share:.3g} of what persons count for is in rows with a missing or infinite value, and {refused}"
            )
        raise NoAnswer(
            f"no answer: {refused}. The number of rows is private here, and this is the released one. Counting is paid "
            "for, the rest of the run's budget is not; try again with another release id"
        )
