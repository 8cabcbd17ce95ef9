"""Public values as canonical JSON: how questions are stored in the ledger and read back bit for bit.

A value is a frozen dataclass of numbers, strings, tuples and further such dataclasses. It is written with
an explicit type tag from a closed list, never an import path, so reading a ledger runs no foreign code.
Floats are written as their shortest decimal that reads back to the same bits.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np

_T = TypeVar("_T", bound=type)

Matrix = tuple[tuple[float, ...], ...]
"""A matrix (rows, columns) as a field of a public value."""

_TYPES: dict[str, type] = {}
_FIELDS: dict[type, dict[str, str]] = {}
"""For each class, its field names by the names in stored JSON."""

_TAGS: dict[type, str] = {}
"""Type tag of each class in stored JSON."""

_SCALARS = frozenset((float, int, str, bool, type(None)))
_PLAIN: dict[type, Any] = {int: int.__int__, float: float.__float__, str: str.__str__}
"""Converts a subclass's value to the plain one, whatever methods the subclass overrides."""


def public_value(cls: _T) -> _T:
    """Register a frozen dataclass whose values may be stored and may cross a process or task boundary.

    A renamed class keeps its stored name in `stored_as`; a renamed field keeps its stored name in its metadata.

    Raises:
        TypeError: another class already has the same tag.
    """
    known = _TYPES.setdefault(_tag(cls), cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"two public values are named {_tag(cls)}: {known.__module__} has the other one")
    _TYPES[_tag(cls)] = cls
    return cls


def row_tuples(array: "np.ndarray") -> Matrix:
    """Convert an array (rows, columns) to a tuple of tuples, one for each row."""
    return tuple(map(tuple, array.tolist()))


def _tag(cls: type) -> str:
    """Type tag of a class: its stored name, without the leading underscore of a module's own class."""
    if cls not in _TAGS:
        _TAGS[cls] = str(getattr(cls, "stored_as", cls.__name__)).lstrip("_")
    return _TAGS[cls]


def _stored_fields(cls: type) -> dict[str, str]:
    """Fields of a class by their stored names."""
    if cls not in _FIELDS:  # read late: `public_value` may run before `dataclass`
        _FIELDS[cls] = {str(f.metadata.get("stored_as", f.name)): f.name for f in dataclasses.fields(cls)}
    return _FIELDS[cls]


def to_json(value: Any) -> Any:
    """Return plain JSON data for a public value; `from_json` inverts it exactly.

    A dataclass that occurs several times is also one object in the data, so it can be written once.
    """
    return _written(value, {})


def _written(value: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, tuple | list) and _SCALARS.issuperset(map(type, value)):
        return list(value)  # a row of numbers, the most common case
    if dataclasses.is_dataclass(value) and _TYPES.get(_tag(type(value))) is type(value):
        if id(value) not in known:
            fields = _stored_fields(type(value)).items()
            own = {name: _written(getattr(value, field), known) for name, field in fields}
            known[id(value)] = value, {"type": _tag(type(value)), **own}  # keeps it alive, so its id stays unique
        return known[id(value)][1]
    if isinstance(value, tuple | list):
        return [_written(item, known) for item in value]
    if value is None or isinstance(value, bool):
        return value
    for scalar, plain in _PLAIN.items():
        if isinstance(value, scalar):
            return plain(value)
    raise TypeError(f"{type(value).__name__} is not a public value")


def from_json(data: Any) -> Any:
    """Return the public value that `to_json` wrote; a tag that is not on the list is refused."""
    return _read(data, {})


def _read(data: Any, known: dict[int, Any]) -> Any:
    if isinstance(data, dict):
        if id(data) not in known:
            cls = _TYPES.get(data.get("type", ""))
            if cls is None:
                raise ValueError("unknown type tag in a stored public value")
            names = _stored_fields(cls)
            given = {str(names.get(name, name)): _read(item, known) for name, item in data.items() if name != "type"}
            known[id(data)] = cls(**given)
        return known[id(data)]
    if isinstance(data, list) and _SCALARS.issuperset(map(type, data)):
        return tuple(data)
    if isinstance(data, list):
        return tuple(_read(item, known) for item in data)
    return data


def rebuilt(value: Any) -> Any:
    """Return `from_json(to_json(value))` without going through JSON: every class is built and checked again.

    Attributes that are not fields, and field values that were set around the constructor, do not survive.
    """
    known: dict[int, Any] = {}

    def again(value: Any) -> Any:
        if type(value) in _SCALARS:
            return value
        if type(value) is tuple and _SCALARS.issuperset(map(type, value)):
            return value  # cannot be changed
        cls = _TYPES.get(_tag(type(value)))
        if cls is type(value) and dataclasses.is_dataclass(value):
            if id(value) not in known:
                fields = {name: again(getattr(value, name)) for name in _stored_fields(cls).values()}
                known[id(value)] = cls(**fields)
            return known[id(value)]
        if isinstance(value, tuple | list):
            return tuple(map(again, value))
        return to_json(value)

    return again(value)
