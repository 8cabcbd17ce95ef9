"""Outcomes of changes on a server, and differences between existing and wanted values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CREATED, CHANGED, UNCHANGED, REMOVED, LEFT = "created", "changed", "unchanged", "removed", "in no file"

_LONGEST = 80
"""Most characters of a value that are shown."""

_UNSHOWN = "form"
"""A part that is too long to be shown, and depends on the installed version: only the fact that it differs is shown."""


@dataclass(frozen=True)
class Outcome:
    """The real or predicted outcome for one object on the server.

    Attributes:
        what: for example `deployment estimate-mean/sensors.mean`.
        result: created, changed, unchanged, removed, or in no file.
        detail: changes with old and new values; or what to do.
    """

    what: str
    result: str
    detail: str = ""


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Describe the differing parts: `parameters.budget: "zcdp:0.1" -> "zcdp:0.2"`."""
    changes = []
    for name in [name for name in after if before[name] != after[name]]:
        if name == _UNSHOWN:
            changes.append(f"{name}: that of another version")
            continue
        old, new = dict(_parts(name, before[name])), dict(_parts(name, after[name]))
        differing = [part for part in sorted({*old, *new}) if old.get(part) != new.get(part)]
        changes += [f"{part}: {old.get(part, 'none')} -> {new.get(part, 'none')}" for part in differing]
    return changes


def _parts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a value with their dotted names."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _parts(f"{name}.{key}", part)
    elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        yield from _parts(name, value[0])
    else:
        text = json.dumps(value, default=str)
        yield name, text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
