"""Serialise data to the text that a ledger stores and hashes: one text per value, fast for long ones."""

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
    """`canonical(data)` for lists of numbers, except that exponents of floats may be written differently.

    Most text consists of such lists, and this is twenty times as fast. Numbers that are not finite, or have more than
    64 bits, and all other data, are left to `canonical`.
    """
    try:
        text = orjson.dumps(data)
    except TypeError:
        return canonical(data)
    return canonical(data) if text.translate(None, _OF_NUMBERS) else text.decode()


def escaped(columns: dict[str, Any]) -> bytes:
    """Return `canonical(columns)` for texts and integers, byte for byte but faster: bodies are up to megabytes long."""
    with suppress(TypeError):  # foreign records only: half a surrogate, more than 64 bits
        text = orjson.dumps(columns, option=orjson.OPT_SORT_KEYS)
        if text.isascii() and b"\x7f" not in text:
            return text
    return canonical(columns).encode()


def body_text(facts: Any) -> str:
    """Return `canonical(facts)`; an object that occurs several times, such as a frame, is serialised only once."""
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
