"""Arrow's numbers as NumPy's. Arrow's own conversion loads pandas, which takes longer than a small fit."""

from typing import Any

import numpy as np


def numbers_of(array: Any) -> np.ndarray:
    """An Arrow array of integers, floats or decimals as float64, nulls as NaN; perhaps a view. Fails on no value."""
    import pyarrow as pa

    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64(), safe=False)
    own = slice(array.offset, array.offset + len(array))
    validity, values = array.buffers()
    if values is None:  # nothing but nulls, or nothing at all
        return np.full(len(array), np.nan)
    numbers = np.frombuffer(values, array.type.to_pandas_dtype())[own].astype(np.float64, copy=False)
    return numbers if validity is None else np.where(validity_of(array), numbers, np.nan)


def validity_of(array: Any) -> np.ndarray:
    """Which values of an Arrow array are there: bool (length,)."""
    validity = array.buffers()[0]
    if validity is None:
        return np.ones(len(array), dtype=bool)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)
