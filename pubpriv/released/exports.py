"""Tables of released numbers for other programs: CSV, workbooks of Excel, and LaTeX.

Names of columns, groups and levels are other people's text. A spreadsheet takes a text in a CSV file for a formula if
it begins with `=`, `+`, `-` or `@`, so such a text gets an apostrophe in front, as spreadsheets themselves write it;
numbers stay numbers. In a workbook a text is stored as one, and needs nothing.
"""

import io
from typing import TYPE_CHECKING, Any

from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Signs with which a formula begins."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
"""Signs that mean something else to LaTeX."""


def csv_of(frame: "pd.DataFrame") -> str:
    """Write a table as CSV, of which a spreadsheet runs no cell."""
    texts = {name: frame[name].map(_harmless) for name in frame if not _is_numeric(frame[name])}
    return str(frame.assign(**texts).rename(columns=_harmless).to_csv(index=False))


def workbook_of(frame: "pd.DataFrame", facts: dict[str, str]) -> bytes:
    """Write a table as a workbook of Excel: the sheet `numbers`, and what should be known of them in `about`.

    Raises:
        InvalidInput: XlsxWriter is not installed.
    """
    import pandas as pd

    try:
        import xlsxwriter  # noqa: F401 - pandas' own error does not name our extra
    except ImportError:
        raise InvalidInput("a workbook needs XlsxWriter: pip install 'pubpriv[excel]'") from None
    file = io.BytesIO()
    options = {"options": {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}}
    with pd.ExcelWriter(file, engine="xlsxwriter", engine_kwargs=options) as writer:
        frame.to_excel(writer, sheet_name="numbers", index=False, freeze_panes=(1, 0))
        about = pd.DataFrame({"": list(facts), "value": list(facts.values())})
        about.to_excel(writer, sheet_name="about", index=False, header=False)
    return file.getvalue()


def latex_of(heads: list[str], rows: list[list[str]], facts: dict[str, str]) -> str:
    """Write a table for LaTeX with the package booktabs; `facts` are comments below it."""
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(escaped, heads)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join([*lines, *(f"% {name}: {' '.join(text.split())}" for name, text in facts.items())]) + "\n"


def escaped(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _is_numeric(series: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(series))
