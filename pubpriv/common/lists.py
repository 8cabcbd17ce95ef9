"""Lists of names in one text, as users type them after an option: `age,"weight, kg",log1p(cost)`."""

import re
from collections.abc import Sequence

_INSIDE = r"\((?:[^()]|\([^()]*\))*\)"
_NEXT = re.compile(rf'\s*"((?:[^"]|"")+)"\s*(,|\Z)|((?:{_INSIDE}|[^,])*)(,|\Z)')
"""A name with or without double quotes, and the comma after it, except after the last name."""


def split_names(text: str) -> list[str]:
    """Split at commas outside of parentheses and double quotes; `""` inside quotes is a quote."""
    names, at = [], 0
    while match := _NEXT.match(text, at):
        quoted, comma, bare, after = match.groups()
        names.append(bare.strip() if quoted is None else quoted.replace('""', '"'))
        if not (comma or after):
            break
        at = match.end()
    return names


def join_names(names: Sequence[str]) -> str:
    """Write names so that `split_names` reads them back."""
    return ",".join(name if _stands_alone(name) else '"' + name.replace('"', '""') + '"' for name in names)


def _stands_alone(name: str) -> bool:
    """Check whether a name needs no quotes in any list."""
    return split_names(name) == [name] and not re.search(r'[()"]', re.sub(_INSIDE, "", name))


def in_words(names: Sequence[str]) -> str:
    """Join names as a sentence does: `a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
