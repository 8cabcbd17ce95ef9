"""Columns of public rows that look like ids and have a value twice: one person may then have several rows."""

import re
from typing import Any

import numpy as np

from pubpriv.data._public_columns import columns_of_source

_LIKE_IDS = re.compile(r"(?:.*[_\W])?(?:id|nr|no|uuid|pid)|.*[a-z](?:Id|ID|Nr)")
"""Names of ids: `id`, `nr`, `patient_id`, `customerId`."""


def repeated_ids(public: str) -> tuple[str, ...]:
    """Name the columns of a public table that are named like ids, and in which a value comes twice.

    Args:
        public: canonical name of a file, folder or glob.

    Raises:
        InvalidInput: it cannot be read.
        Unavailable: the storage does not answer.
    """
    return tuple(
        column.name
        for column in columns_of_source(public, None)
        if _LIKE_IDS.fullmatch(column.name) or _LIKE_IDS.fullmatch(column.name.lower())
        if _repeats(column)
    )


def _repeats(column: Any) -> bool:
    """Tell whether a value that is not missing comes twice."""
    if column.cells is not None:
        cells = [cell for part in column.cells() for cell in part.drop_null().to_pylist()]
    elif column.numbers is not None:
        numbers = column.numbers()
        cells = numbers[np.isfinite(numbers)].tolist()
    else:
        return False
    return len(set(cells)) < len(cells)
