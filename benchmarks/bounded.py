"""Figures that each have a bound: how near the worst of them comes to it."""

from collections.abc import Mapping
from typing import Any


def over_bounds(found: Mapping[str, float], bounds: Mapping[str, float]) -> dict[str, Any]:
    """Give what a bench says of figures (by name) with bounds: the worst ratio of the two, and a row for each."""
    ratios = {name: value / bounds[name] for name, value in found.items()}
    return {
        "ratio": max(ratios.values()),
        "ratio_of": "the worst of what was measured over its bound",
        "rows": [
            {"of": name, "value": value, "bound": bounds[name], "ratio": ratios[name]} for name, value in found.items()
        ],
    }
