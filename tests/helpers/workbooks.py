"""Workbooks of Excel written by hand, cell by cell, for tests of what no library would write."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'

STYLES = {"general": 0, "date": 1, "time": 2, "hours": 3, "written date": 4}
"""Styles of numbers, by name."""

_STYLES = (
    '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[h]:mm:ss"/><numFmt numFmtId="171" '
    'formatCode="[$-409]d\\-mmm;@"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>'
    '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs>'
    "</styleSheet>"
)


def number(value: str, style: str = "general") -> str:
    """A cell with a number as it is written in the file."""
    return f'<c s="{STYLES[style]}"><v>{value}</v></c>'


def text(value: str) -> str:
    """A cell with a text."""
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def other(kind: str, value: str) -> str:
    """A cell of a type of its own: `b`, `e`, `s`, `d` and others."""
    return f'<c t="{kind}"><v>{value}</v></c>'


def write_workbook(
    path: Path, rows: Sequence[Sequence[str]], *, sheets: Sequence[str] = ("Sheet1",), shared: str = "", since: str = ""
) -> Path:
    """Write a workbook whose sheets all have these rows of cells.

    Args:
        path: where to.
        rows: cells of each row.
        sheets: names of the sheets.
        shared: elements of the list of shared texts.
        since: settings of the workbook.
    """
    listed = "".join(f'<sheet name="{escape(name)}" r:id="s{i}"/>' for i, name in enumerate(sheets))
    parts = [f'<Relationship Id="s{i}" Type="{_TYPE}/worksheet" Target="sheets/{i}.xml"/>' for i in range(len(sheets))]
    parts += [f'<Relationship Id="{each}" Type="{_TYPE}/{each}" Target="{each}.xml"/>' for each in ("styles",)]
    parts += [f'<Relationship Id="t" Type="{_TYPE}/sharedStrings" Target="/xl/texts.xml"/>'] if shared else []
    book = f'<Relationship Id="b" Type="{_TYPE}/officeDocument" Target="xl/book.xml"/>'
    below = "".join(f"<row>{''.join(cells)}</row>" for cells in rows)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_rels/.rels", _RELATIONS.format(book))
        file.writestr("xl/_rels/book.xml.rels", _RELATIONS.format("".join(parts)))
        file.writestr("xl/book.xml", f'<workbook xmlns:r="{_TYPE}">{since}<sheets>{listed}</sheets></workbook>')
        file.writestr("xl/styles.xml", _STYLES)
        file.writestr("xl/texts.xml", f"<sst>{shared}</sst>")
        for i in range(len(sheets)):
            file.writestr(f"xl/sheets/{i}.xml", f"<worksheet><sheetData>{below}</sheetData></worksheet>")
    return path
