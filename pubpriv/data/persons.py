"""Whose rows are whose, and how much each row weighs: arithmetic on the id columns of a private table.

An id becomes a 64-bit key by a fixed function of its canonical value alone: two spellings of one id, such as 32 and 64
bits, give one key, so a person never has two. Two persons with one key count as one, which costs accuracy only: they
share the weight of one person.
"""

import hashlib
from typing import Any

import numpy as np

from pubpriv.data.arrow import validity_of
from pubpriv.errors import InvalidInput

NOBODY = np.uint64(0)
"""Key of a row without an id."""

_LONG = 256
"""Bytes of a text from which on it is hashed by itself."""

_GOLDEN, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def id_kind(name: str, kind: Any, where: str) -> str:
    """What the ids of a column are: `integers`, or `text`, which is bytes too.

    Args:
        name: of the column.
        kind: Arrow type.
        where: the table, for a message.

    Raises:
        InvalidInput: they are something else, of which one value may be written in several ways.
    """
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind):
        return "integers"
    text = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_fixed_size_binary
    if any(is_text(kind) for is_text in (*text, types.is_string_view, types.is_binary_view)):
        return "text"
    raise InvalidInput(
        f"column {name!r} of the private table {where} is {kind}: whose row it is has to be told by integers or text"
    )


def keys_of(columns: list[Any]) -> np.ndarray:
    """Key of the person of each row, uint64 (rows,); `NOBODY` where an id is null. Fails on no value.

    Args:
        columns: Arrow arrays of the id columns; all of them together name a person.
    """
    keys, known = _keys_of(columns[0])
    for column in columns[1:]:
        more, valid = _keys_of(column)
        keys, known = _mixed(_mixed(keys) + more), known & valid
    keys = np.where(keys == NOBODY, np.uint64(1), keys)
    return np.where(known, keys, NOBODY)


def _keys_of(array: Any) -> tuple[np.ndarray, np.ndarray]:
    """(key of each id, whether there is one)."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    known = validity_of(array)
    if not pa.types.is_integer(array.type):
        return _keys_of_text(array), known
    array = array.cast(pa.int64(), safe=False)
    return _mixed(_own(array, np.uint64)), known


def _keys_of_text(array: Any) -> np.ndarray:
    """Keys of texts by their exact bytes, eight at a time; of long ones by BLAKE2b."""
    import pyarrow as pa

    found = array.cast(pa.large_binary())
    _, offsets, data = found.buffers()
    ends = np.frombuffer(offsets, np.int64)[found.offset : found.offset + len(found) + 1]
    cells = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    cells = np.concatenate([cells, np.zeros(8, np.uint8)])
    words = np.ndarray(len(cells) - 7, "<u8", cells, strides=(1,))  # those that begin at each byte
    starts, lengths = ends[:-1] - ends[0], np.diff(ends)
    keys = _mixed(lengths.astype(np.uint64))
    more, done = np.flatnonzero((lengths > 0) & (lengths <= _LONG)), 0
    while len(more):
        left = lengths[more] - done
        beyond = np.uint64(8) * np.maximum(8 - left, 0).astype(np.uint64)  # bits that are of the next text
        word = words[starts[more] + done] << beyond
        keys[more] = _mixed(keys[more] ^ word)
        more, done = more[left > 8], done + 8
    for row in np.flatnonzero(lengths > _LONG):
        text = cells[starts[row] : starts[row] + lengths[row]].tobytes()
        keys[row] = np.frombuffer(hashlib.blake2b(text, digest_size=8).digest(), np.uint64)[0]
    return _mixed(keys)


def _own(array: Any, kind: type) -> np.ndarray:
    """The values of an Arrow array of fixed width; anything where there is none."""
    values = array.buffers()[1]
    if values is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(values, kind)[array.offset : array.offset + len(array)]


def _mixed(keys: np.ndarray) -> np.ndarray:
    """A bijection of 64 bits under which near numbers fall far apart (splitmix64); arrays wrap around silently."""
    keys = keys + _GOLDEN
    keys = (keys ^ (keys >> np.uint64(30))) * _FIRST
    keys = (keys ^ (keys >> np.uint64(27))) * _SECOND
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def keys_in_memory(persons: Any, rows: int) -> np.ndarray:
    """Keys of the persons of rows in memory, for simulations.

    Raises:
        InvalidInput: they are not so many integers.
    """
    found = np.asarray(persons)
    if found.shape != (rows,) or not np.issubdtype(found.dtype, np.integer):
        raise InvalidInput("simulated persons are an array of integers, one for each row")
    keys = _mixed(found.astype(np.int64).view(np.uint64))
    return np.where(keys == NOBODY, np.uint64(1), keys)


def sizes_of(keys: np.ndarray) -> np.ndarray:
    """Number of rows of each person, int64 (persons,)."""
    return _grouped(keys)[1]


def weights_of(keys: np.ndarray, most: int, grain: int) -> np.ndarray:
    """Weight of each row, uint8 (rows,), of which those of one person add up to G min(n_p, L).

    Row j = 0, 1, ... of the n_p rows of a person, in the order of the table, weighs
    a_j = floor((j + 1) B / n_p) - floor(j B / n_p) with B = G min(n_p, L). The sum telescopes to B. As B <= G n_p, no
    weight exceeds G. It depends on the rows of this person alone, as `questions.per_person` takes it. With n_p > G L it
    is 0 or 1: a systematic sample.

    Args:
        keys: of the rows of the whole table, in order.
        most: L.
        grain: G.
    """
    rows, sizes = _grouped(keys)
    own = np.repeat(sizes, sizes)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    whole = grain * np.minimum(own, most)
    weights = np.zeros(len(keys), dtype=np.uint8)
    weights[rows] = (place + 1) * whole // own - place * whole // own
    return weights


def _grouped(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows of persons, person by person and in order within each; number of rows of each person)."""
    rows = np.flatnonzero(keys != NOBODY)
    rows = rows[np.argsort(keys[rows], kind="stable")]
    own = keys[rows]
    starts = np.flatnonzero(np.r_[True, own[1:] != own[:-1]][: len(own)])
    return rows, np.diff(np.r_[starts, len(own)])


def first_of(weights: list[np.ndarray], most: int) -> list[np.ndarray]:
    """Weights of 0 and 1 by chunk, of which the first `most` that are 1 stay, in the order of the table."""
    before = np.cumsum([0, *(int(own.sum(dtype=np.int64)) for own in weights)])
    return [
        np.where(np.cumsum(own, dtype=np.int64) <= most - start, own, 0).astype(np.uint8)
        for own, start in zip(weights, before[:-1], strict=True)
    ]
