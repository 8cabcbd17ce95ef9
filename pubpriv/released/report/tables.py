"""Tables of a report: released numbers with their errors, correlations, provenance."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.released.numbers import Number
from pubpriv.released.report.digits import MINUS, Z95, small, told
from pubpriv.released.report.elements import clean, element

HEADS = ("", "estimate", "95% interval", "± privacy noise", "± sampling")


def table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], name: str = "", marked: int = -1
) -> Element:
    """A table whose first column names its rows; wider than the page, it scrolls by itself.

    Args:
        caption: what it shows.
        heads: of the columns.
        rows: of text, each as long as `heads`.
        name: of the class that styles it.
        marked: number of a row to stand out.
    """
    head = element("tr", *[element("th", text, scope="col") for text in heads])
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *[element("td", cell) for cell in row[1:]],
            class_="this" if number == marked else None,
        )
        for number, row in enumerate(rows)
    ]
    made = element(
        "table",
        element("thead", head) if any(heads) else None,
        element("tbody", *body),
        class_=name or None,
    )
    return scrolled(made, caption)


def scrolled(made: Element, caption: str) -> Element:
    """A table in a window of its own, which a keyboard can scroll too; its caption stays where it is."""
    made.set("aria-label", clean(caption))
    window = element("div", made, class_="scroll", role="region", aria_label=caption, tabindex="0")
    return element("div", element("p", caption, class_="caption"), window)


def facts(caption: str, rows: Sequence[tuple[str, str]]) -> Element:
    """Names and values; stacked where the page is narrow."""
    body = [element("tr", element("th", name, scope="row"), element("td", value)) for name, value in rows]
    return element("table", element("caption", caption), element("tbody", *body), class_="facts")


def number_rows(numbers: Sequence[Number]) -> list[list[str]]:
    """Of each number its column or component, estimate, interval and both errors."""
    rows = []
    for number in numbers:
        value, b = number.value, number.error
        low, high = told(value - Z95 * b, b), told(value + Z95 * b, b)
        name = number.column or f"component {number.component}"
        rows.append(
            [name, told(value, b), f"{low} to {high}", small(Z95 * number.privacy), small(Z95 * number.sampling)]
        )
    return rows


def correlations(covariance: np.ndarray) -> np.ndarray:
    """(d, d)."""
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def heat_map(caption: str, names: Sequence[str], values: np.ndarray) -> Element:
    """Correlations as a table with colours: the numbers stand in it, so it needs no other text."""
    heads = element("tr", element("td"), *[element("th", str(i + 1), scope="col") for i in range(len(names))])
    body = [
        element(
            "tr",
            element("th", f"{i + 1} {name}", scope="row"),
            *[_cell(values[i, j], i == j) for j in range(len(names))],
        )
        for i, name in enumerate(names)
    ]
    made = element("table", element("thead", heads), element("tbody", *body), class_="heat")
    return scrolled(made, caption)


def strongest(names: Sequence[str], values: np.ndarray, most: int) -> list[list[str]]:
    """The pairs of columns with the largest correlations, largest first."""
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(values[first, second]).round(9), kind="stable")[:most]
    return [[f"{names[first[i]]} and {names[second[i]]}", _signed(values[first[i], second[i]])] for i in order]


def flat(data: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Names and values of nested data, in its order; long lists are counted, not told."""
    rows: list[tuple[str, str]] = []
    for name, value in data.items():
        full = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += flat(value, f"{full}: ")
        elif isinstance(value, list | tuple | np.ndarray):
            rows += [(full, _listed(list(value)))]
        else:
            rows += [(full, _scalar(value))]
    return rows


def _listed(values: list[Any]) -> str:
    nested = any(isinstance(value, list | tuple | Mapping) for value in values)
    if len(values) > 12 or (nested and len(str(values)) > 160):
        return f"{len(values)} values, in the model file"
    return ", ".join(_listed(list(v)) if isinstance(v, list | tuple) else _scalar(v) for v in values) or "none"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return told(value) if isinstance(value, float) else str(value)


def _cell(value: float, diagonal: bool) -> Element:
    """Blue for positive, orange for negative, always dark on light."""
    share = 0.0 if diagonal else min(1.0, abs(float(value)))
    full = (86, 180, 233) if value > 0 else (240, 160, 90)
    color = ",".join(str(round(255 - share * (255 - part))) for part in full)
    return element("td", _signed(value), style=f"background:rgb({color})")


def _signed(value: float) -> str:
    text = f"{value:.2f}".replace("-", MINUS)
    return "0.00" if text == f"{MINUS}0.00" else text
