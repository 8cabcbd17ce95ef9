"""Several names in one text, as a person types them behind an option: `age,"weight, kg",log1p(cost)`."""

import re
from collections.abc import Sequence

_INSIDE = r"\((?:[^()]|\([^()]*\))*\)"
_NEXT = re.compile(rf'\s*"((?:[^"]|"")+)"\s*(,|\Z)|((?:{_INSIDE}|[^,])*)(,|\Z)')
"""A name between double quotes or without, and the comma behind it; there is none behind the last."""


def split_names(text: str) -> list[str]:
    """Split at commas, but for those inside parentheses or in a name between double quotes; `""` in it is a quote."""
    names, at = [], 0
    while match := _NEXT.match(text, at):
        quoted, comma, bare, after = match.groups()
        names.append(bare.strip() if quoted is None else quoted.replace('""', '"'))
        if not (comma or after):
            break
        at = match.end()
    return names


def join_names(names: Sequence[str]) -> str:
    """Write what `split_names` reads back."""
    return ",".join(name if _stands_alone(name) else '"' + name.replace('"', '""') + '"' for name in names)


def _stands_alone(name: str) -> bool:
    """Tell whether a name needs no quotes, whatever other names stand beside it."""
    return split_names(name) == [name] and not re.search(r'[()"]', re.sub(_INSIDE, "", name))
