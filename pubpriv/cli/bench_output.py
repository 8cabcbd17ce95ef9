"""How benchmarks print what they found."""

import json
from typing import Any

from pubpriv.cli.console import out


def tell(found: dict[str, Any], as_json: bool) -> None:
    """One JSON object, or the single numbers line by line; lists are for tables."""
    if as_json:
        out(json.dumps(found))
        return
    for name, value in found.items():
        if not isinstance(value, list):
            out(f"{name.replace('_', ' ')}: {f'{value:.4g}' if isinstance(value, float) else cell(value)}")


def cell(value: Any) -> str:
    """A value in a table: nothing for None, three digits of a float, yes or NO."""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
