"""Data as the text that a ledger stores and hashes: one text per value, and quick where it is long."""

import json
from contextlib import suppress
from typing import Any

import orjson

_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

_OF_NUMBERS = b"0123456789+-.eE,[]"


def canonical(data: Any) -> str:
    """Return one text per JSON value: sorted keys, no spaces, no NaN."""
    return _encoder.encode(data)


def _numbers_text(data: Any) -> str:
    """`canonical(data)` of lists of numbers, which a float may differ from in how it writes its exponent.

    They are most of what is written, and this is twenty times as quick. A number that is not finite, or of more than
    64 bits, is for `canonical`, as is all else.
    """
    try:
        text = orjson.dumps(data)
    except TypeError:
        return canonical(data)
    return canonical(data) if text.translate(None, _OF_NUMBERS) else text.decode()


def escaped(columns: dict[str, Any]) -> bytes:
    """Return `canonical(columns)` of texts and integers, to the byte: bodies are up to megabytes long."""
    with suppress(TypeError):  # what only somebody else wrote there: half a character, an integer of more than 64 bits
        text = orjson.dumps(columns, option=orjson.OPT_SORT_KEYS)
        if text.isascii() and b"\x7f" not in text:
            return text
    return canonical(columns).encode()


def body_text(facts: Any) -> str:
    """Return `canonical(facts)`, in which an object that occurs several times, as a frame does, is written once."""
    known: dict[int, str] = {}

    def text(data: Any) -> str:
        if isinstance(data, dict):
            if id(data) not in known:
                members = (f"{canonical(name)}:{text(value)}" for name, value in sorted(data.items()))
                known[id(data)] = "{" + ",".join(members) + "}"
            return known[id(data)]
        if isinstance(data, list) and data and isinstance(data[0], dict):
            return "[" + ",".join(map(text, data)) + "]"
        return _numbers_text(data)

    return text(facts)
