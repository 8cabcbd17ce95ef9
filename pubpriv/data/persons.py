"""Which person each row belongs to, and the weight of each row, computed from the id columns of a private table.

An id becomes a 64-bit key by a fixed function of its canonical value alone. In files of statistics software, which have
no integers of 64 bits, the canonical value of a number is the nearest whole one. Two spellings of one id, such as
32-bit and 64-bit integers, or a UUID and its text, give the same key, so a person never has two keys. Two persons with
the same key count as one person, which costs only accuracy: they share the weight of one person.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from pubpriv.common.column_names import name_of
from pubpriv.data._arrow import is_uuid, of_each_value, texts_of_uuids, validity_of
from pubpriv.errors import InvalidInput

NOBODY = np.uint64(0)
"""Key of a row without an id."""

_LONG = 256
"""Texts of this many bytes or more are hashed one at a time."""

_SLICE = 1 << 16
"""Rows whose weights are computed at a time."""

_GOLDEN, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def id_columns(person: Any, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the checked names of the id columns, or () if there are none.

    Args:
        person: names of id columns.
        columns: columns that the estimate reads.

    Raises:
        InvalidInput: not names, the same name twice, or a column of the estimate.
    """
    names = tuple(person) if isinstance(person, list | tuple) else (None,)
    if not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        raise InvalidInput("a person is known by one or more columns, each named once: --person patient_id")
    both = sorted({*names} & {*columns})
    if both:
        raise InvalidInput(
            f"column {', '.join(both)} says whose row it is, so it cannot be a column of the estimate: leave it out of "
            "--columns"
        )
    return names


def person_names(person: Any) -> tuple[str, ...]:
    """Return the names of the id columns that a text, or several, name; see `common.column_names`.

    Raises:
        InvalidInput: not texts, or an expression.
    """
    texts = (person,) if isinstance(person, str) else person
    if not isinstance(texts, list | tuple):
        raise InvalidInput("a person is known by one or more columns, each named once: --person patient_id")
    return tuple(name_of(text, "a column that says whose row it is") for text in texts)


def id_kind(name: str, kind: Any, where: str, whole_as_floats: bool = False) -> str:
    """Return the kind of ids in a column: `integers` or `text` (also for bytes, and for UUIDs).

    Args:
        name: of the column.
        kind: Arrow type.
        where: name of the table in messages.
        whole_as_floats: the file stores whole numbers as floats, so floats of 64 bits are integers, too.

    Raises:
        InvalidInput: another type, in which the same id could be written in several ways.
    """
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or (whole_as_floats and types.is_float64(kind)):
        return "integers"
    if is_uuid(kind):
        return "text"
    text = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_fixed_size_binary
    if any(is_text(kind) for is_text in (*text, types.is_string_view, types.is_binary_view)):
        return "text"
    raise InvalidInput(
        f"column {name!r} of the private table {where} is {kind}: the person of a row is read from integers, texts or "
        "UUIDs, so write its ids as one of these"
    )


def keys_of(columns: list[Any]) -> np.ndarray:
    """Return the key of each row's person, uint64 (rows,); `NOBODY` if an id is null. Never fails on a value.

    Args:
        columns: Arrow arrays of the id columns, which together identify a person.
    """
    keys, *more = (of_each_value(column, _keys_of, NOBODY) for column in columns)
    for others in more:
        keys = _mixed(_mixed(keys) + others)
    np.maximum(keys, np.uint64(1), out=keys)  # never NOBODY, whatever the id
    for column in columns:
        keys[~of_each_value(column, validity_of, False)] = NOBODY
    return keys


def _keys_of(array: Any) -> np.ndarray:
    """Key of each id; arbitrary for nulls."""
    import pyarrow as pa

    if is_uuid(array.type):
        array = texts_of_uuids(array)
    if pa.types.is_floating(array.type):
        array = pa.array(_nearest_whole(np.asarray(array.fill_null(0.0))))
    if not pa.types.is_integer(array.type):
        return _keys_of_text(array)
    return _mixed(_own(array.cast(pa.int64(), safe=False), np.uint64))


def _nearest_whole(numbers: np.ndarray) -> np.ndarray:
    """Nearest integers of 64 bits, 0 for NaN: ids that differ by less than one are one person, never two."""
    largest = np.nextafter(2.0**63, 0.0)
    whole: np.ndarray = np.clip(np.rint(np.nan_to_num(numbers)), -(2.0**63), largest).astype(np.int64)
    return whole


def _keys_of_text(array: Any) -> np.ndarray:
    """Keys of texts from their exact bytes, eight at a time; BLAKE2b for long texts."""
    import pyarrow as pa

    found = array.cast(pa.large_binary())
    _, offsets, data = found.buffers()
    ends = np.frombuffer(offsets, np.int64)[found.offset : found.offset + len(found) + 1]
    cells = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    cells = np.concatenate([cells, np.zeros(8, np.uint8)])
    words = np.ndarray(len(cells) - 7, "<u8", cells, strides=(1,))  # one word from each byte on
    starts, lengths = ends[:-1] - ends[0], np.diff(ends)
    keys = _mixed(lengths.astype(np.uint64))
    more, done = np.flatnonzero((lengths > 0) & (lengths <= _LONG)), 0
    while len(more):
        left = lengths[more] - done
        beyond = np.uint64(8) * np.maximum(8 - left, 0).astype(np.uint64)  # bits that belong to the next text
        word = words[starts[more] + done] << beyond
        keys[more] = _mixed(keys[more] ^ word)
        more, done = more[left > 8], done + 8
    for row in np.flatnonzero(lengths > _LONG):
        text = cells[starts[row] : starts[row] + lengths[row]].tobytes()
        keys[row] = np.frombuffer(hashlib.blake2b(text, digest_size=8).digest(), np.uint64)[0]
    return _mixed(keys)


def _own(array: Any, kind: type) -> np.ndarray:
    """Values of an Arrow array of fixed width; arbitrary for nulls."""
    values = array.buffers()[1]
    if values is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(values, kind)[array.offset : array.offset + len(array)]


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Mix the bits of keys by a bijection (splitmix64), so that near numbers become far apart; overflow is silent."""
    keys = np.asarray(keys + _GOLDEN)
    moved = np.empty_like(keys)
    for bits, factor in ((30, _FIRST), (27, _SECOND)):
        keys ^= np.right_shift(keys, np.uint64(bits), out=moved)
        keys *= factor
    keys ^= np.right_shift(keys, np.uint64(31), out=moved)
    return keys


def keys_in_memory(persons: Any, rows: int) -> np.ndarray:
    """Return keys of the persons of rows in memory, for simulations.

    Raises:
        InvalidInput: not one integer for each row.
    """
    found = np.asarray(persons)
    if found.shape != (rows,) or not np.issubdtype(found.dtype, np.integer):
        raise InvalidInput("simulated persons are an array of integers, one for each row")
    keys = _mixed(found.astype(np.int64).view(np.uint64))
    return np.where(keys == NOBODY, np.uint64(1), keys)


def sizes_of(keys: np.ndarray) -> np.ndarray:
    """Count the rows of each person, int64 (persons,)."""
    return np.diff(_starts(np.sort(keys)))


def weights_of(keys: np.ndarray, most: int, grain: int) -> np.ndarray:
    """Compute the weight of each row, uint8 (rows,); those of one person add up to G min(n_p, L).

    Row j = 0, 1, ... of the n_p rows of a person, in the order of the table, weighs
    a_j = floor((j + 1) B / n_p) - floor(j B / n_p) with B = G min(n_p, L). The sum telescopes to B. As B <= G n_p, no
    weight exceeds G. A weight depends on the rows of its person alone, as `questions.per_person` requires. If n_p > G L
    all weights are 0 or 1: a systematic sample.

    This takes up to 24 bytes per row in addition to the keys.

    Args:
        keys: keys of all rows of some persons, in the order of the table.
        most: L.
        grain: G.
    """
    order = np.argsort(keys, kind="stable")  # by person, each person's rows in table order
    starts = _starts(keys[order])
    weights = np.zeros(len(keys), dtype=np.uint8)
    for first in range(int(starts[0]), len(keys), _SLICE):
        places = np.arange(first, min(first + _SLICE, len(keys)))
        person = np.searchsorted(starts, places[0], side="right") - 1, np.searchsorted(starts, places[-1], side="right")
        edges = starts[person[0] : person[1] + 1]
        rows = np.diff(np.clip(edges, places[0], places[-1] + 1))  # rows of each person in this slice
        place, own = places - np.repeat(edges[:-1], rows), np.repeat(np.diff(edges), rows)
        whole = grain * np.minimum(own, most)
        weights[order[first : first + _SLICE]] = (place + 1) * whole // own - place * whole // own
    return weights


def _starts(keys: np.ndarray) -> np.ndarray:
    """Positions in sorted keys at which each person begins, and the end of the last: int64 (persons + 1,)."""
    begins = np.empty(len(keys), dtype=bool)
    begins[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    begins[: np.searchsorted(keys, NOBODY, side="right")] = False
    return np.append(np.flatnonzero(begins), len(keys))


def first_of(weights: list[np.ndarray], most: int) -> list[np.ndarray]:
    """Keep only the first `most` weights that are 1, in the order of the table; the others become 0."""
    before = np.cumsum([0, *(int(own.sum(dtype=np.int64)) for own in weights)])
    return [
        np.where(np.cumsum(own, dtype=np.int64) <= most - start, own, 0).astype(np.uint8)
        for own, start in zip(weights, before[:-1], strict=True)
    ]
