"""Print the figures of a benchmark."""

import json
from collections.abc import Mapping
from typing import Any

from pubpriv.cli.console import out, table


def tell(found: dict[str, Any], as_json: bool) -> None:
    """Print one JSON object, or each number on a line; lists are left out, they are for tables."""
    if as_json:
        out(json.dumps(found))
        return
    for name, value in found.items():
        if not isinstance(value, list):
            out(f"{name.replace('_', ' ')}: {f'{value:.4g}' if isinstance(value, float) else _cell(value)}")


def tell_rows(title: str, headings: Mapping[str, str], rows: list[dict[str, Any]]) -> None:
    """Print rows as a table; `headings` has the shown names with their headings. Missing values are left empty."""
    table(title, list(headings.values()), [[_cell(row.get(name)) for name in headings] for row in rows])


def named(*names: str) -> dict[str, str]:
    """Return headings that are the names themselves."""
    return {name: name.replace("_", " ") for name in names}


def _cell(value: Any) -> str:
    """Text of a value in a table: empty for None, three digits of a float, yes or NO."""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
