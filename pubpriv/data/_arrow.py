"""Arrow's numbers as NumPy's. Arrow's own conversion loads pandas, which takes longer than a small fit."""

from functools import lru_cache
from typing import Any

import numpy as np

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def is_number(kind: Any) -> bool:
    """Tell whether cells of an Arrow type are numbers as they are: integers, floats or decimals."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


@lru_cache
def is_read_as_number(kind: Any) -> bool:
    """Tell whether cells of an Arrow type are numbers, or have one way to be: see `numbers_of`."""
    from pyarrow import types

    times = types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    return bool(is_number(kind) or types.is_boolean(kind) or times)


def no_number(name: str, kind: Any) -> str:
    """Say of a column that its Arrow type has no numbers, and what is done with one that has categories."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return f"is categories of {kind.value_type}, not a number; --by {name} tells groups apart by it"
    return f"is {kind}, not a number: name other columns, or write its cells as numbers"


def numbers_of(array: Any) -> np.ndarray:
    """An Arrow array as float64, nulls as NaN; perhaps a view. Fails on no value.

    Truths are 1 and 0; dates and times the days since the beginning of 1970, in UTC; durations are days.

    Args:
        array: of a type that `is_read_as_number`.
    """
    import pyarrow as pa

    kind, parts = array.type, 1
    if pa.types.is_decimal(kind):
        array = array.cast(pa.float64(), safe=False)
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif is_read_as_number(kind) and not is_number(kind):
        array, parts = array.view(pa.int64()), _PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    own = slice(array.offset, array.offset + len(array))
    validity, values = array.buffers()
    if values is None:  # nothing but nulls, or nothing at all
        return np.full(len(array), np.nan)
    numbers = np.frombuffer(values, array.type.to_pandas_dtype())[own].astype(np.float64, copy=False)
    if parts > 1:
        numbers = numbers / parts
    # Parquet files are read with a validity where nothing is null, too
    return numbers if validity is None or array.null_count == 0 else np.where(validity_of(array), numbers, np.nan)


def decoded(array: Any) -> Any:
    """Put values in the place of their numbers in a dictionary. Fails on no value."""
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    # Arrow takes nothing out of texts that are views, as those of polars' categories are
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string(), safe=False)
    elif pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    return values.take(array.indices)


def validity_of(array: Any) -> np.ndarray:
    """Which values of an Arrow array are there: bool (length,)."""
    validity = array.buffers()[0]
    if validity is None:
        return np.ones(len(array), dtype=bool)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)
