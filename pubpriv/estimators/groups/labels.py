"""Names that an owner gives to groups: `union:1=member`. They are public words, and change nothing that is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pubpriv.common.lists import in_words
from pubpriv.data.categories import ByCategory
from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate

_E = TypeVar("_E", bound=Estimate)


def labels_of(by: ByCategory, texts: Sequence[str]) -> dict[str, str]:
    """Read the names of groups, by their values in the cells.

    Args:
        by: the groups, all of which are public.
        texts: `COLUMN:VALUE=NAME` of each group that gets a name.

    Raises:
        InvalidInput: another text, column or value, a group with two names, or a name of two groups.
    """
    labels: dict[str, str] = {}
    for text in texts:
        value = _value_in(by, text)
        name = text.removeprefix(f"{by.column}:{value}=").strip()
        if not name or not name.isprintable():
            raise InvalidInput(f"--label {text!r} gives group {value} no name that can be shown in a line")
        if value in labels:
            raise InvalidInput(f"--label names group {value} twice: {labels[value]} and {name}")
        labels[value] = name
    names = [*labels.values(), *(value for value in by.values if labels.get(value) != value)]
    shared = sorted({name for name in names if names.count(name) > 1})
    if shared:
        raise InvalidInput(f"--label gives two groups by {by.column} the name {shared[0]}: give each another")
    return labels


def _value_in(by: ByCategory, text: str) -> str:
    """Return the group that a text names: the longest value that fits, as a value may contain `=`."""
    example = f"{by.column}:{by.values[0]}=NAME" if by.values else f"{by.column}:VALUE=NAME"
    if not text.startswith(f"{by.column}:"):
        raise InvalidInput(f"--label takes the column of --by, {by.column}, as in {example}, not {text!r}")
    rest = text.removeprefix(f"{by.column}:")
    named = [value for value in by.values if rest.startswith(f"{value}=")]
    if not named:
        groups = in_words(by.values[:10]) + (", ..." if len(by.values) > 10 else "")
        raise InvalidInput(f"--label {text!r} names no group by {by.column}: they are {groups}; write {example}")
    return max(named, key=len)


def labelled(estimate: _E, labels: Mapping[str, str]) -> _E:
    """Return the estimate with names of its groups; their values in the cells are kept beside."""
    if estimate.groups is None or not labels:
        return estimate
    each = tuple(
        replace(group, name=labels[group.name], level=group.name) if group.name in labels else group
        for group in estimate.groups.each
    )
    return replace(estimate, groups=replace(estimate.groups, each=each))
