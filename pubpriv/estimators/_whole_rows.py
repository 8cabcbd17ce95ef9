"""How many private rows have no missing or infinite value, by counts that a run released anyway; post-processing."""

import math

import numpy as np

from pubpriv.ledger.unit import Size

SURELY = 4.2
"""Sds that noise alone does not reach: by so many fewer rows are counted than there are, where some lack values."""


def whole_rows(size: Size, counts: np.ndarray, sd: float, share: float = 1.0) -> float:
    """Tell how many rows are whole; see `Size.counted`.

    Args:
        size: of the table.
        counts: (regions,), released.
        sd: of the noise in each.
        share: rows in the regions, of all that are whole; a row may be in several.
    """
    return size.counted(float(counts.sum()) / share, sd * math.sqrt(len(counts)) / share, SURELY, least=1.0)


def left_out(size: Size, whole: float) -> tuple[str, ...]:
    """Say which share of the rows lacks values; nothing where n was released, for that is of whole rows alone."""
    if size.sd or whole >= size.rows:
        return ()
    share = 1 - whole / size.rows
    return (f"about {100 * share:.3g}% of the private rows have a missing or infinite value and are left out",)
