"""Estimate how many private rows have no missing or infinite value, from counts that a run releases anyway."""

import math

import numpy as np

from pubpriv.ledger.unit import Size

SURELY = 4.2
"""Standard deviations that noise alone does not reach. A deficit larger than this means that rows lack values."""


def whole_rows(size: Size, counts: np.ndarray, sd: float, share: float = 1.0) -> float:
    """Estimate the number of rows without missing values; see `Size.counted`.

    Args:
        size: number of rows of the table.
        counts: (regions,), released.
        sd: of the noise in each count.
        share: expected sum of the counts as a share of all complete rows; a row may be in several regions.
    """
    return size.counted(float(counts.sum()) / share, sd * math.sqrt(len(counts)) / share, SURELY, least=1.0)


def left_out(size: Size, whole: float, sd: float) -> tuple[str, ...]:
    """Report the share of rows that lack values; nothing if n was released, because that n counts complete rows.

    Args:
        size: number of rows of the table.
        whole: estimated number of rows without missing values.
        sd: standard error of that estimate, by noise alone.
    """
    if size.sd or whole >= size.rows - SURELY * sd:
        return ()
    share, error = 1 - whole / size.rows, sd / size.rows
    about = f"about {100 * share:.3g}% (\u00b1{100 * error:.1g}%, standard error) of the private rows"
    return (f"{about} have a missing or infinite value and are left out",)
