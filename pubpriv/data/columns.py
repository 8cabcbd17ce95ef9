"""Columns as a person names them: `cost`, `log1p(cost)`, `log(cost)`, `sqrt(cost)`.

An expression is a public map of one cell, so it costs nothing and proves nothing away: a cell that it
sends to NaN or infinity makes its record odd, and odd records are not counted.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.errors import InvalidInput

_MAPS = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}
_BACK = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square}
_EXPRESSION = re.compile(rf"^\s*({'|'.join(_MAPS)})\((.+)\)\s*$")
_CALL = re.compile(r"^\s*\w+\(.+\)\s*$")


@public_value
@dataclass(frozen=True)
class Column:
    """One column of the estimate: a source column of the file and the map applied to each of its cells."""

    source: str
    function: str | None = None

    @property
    def name(self) -> str:
        """As it was written: `cost` or `log1p(cost)`."""
        return f"{self.function}({self.source})" if self.function else self.source

    def apply(self, cells: np.ndarray) -> None:
        """Map `cells` in place; the caller holds `np.errstate(all="ignore")`."""
        if self.function:
            _MAPS[self.function](cells, out=cells)

    def undo(self, cells: np.ndarray) -> None:
        """Take mapped cells back to the source's units, in place; a square takes back no sign."""
        if self.function:
            _BACK[self.function](cells, out=cells)


def map_columns(block: np.ndarray, columns: tuple[Column, ...]) -> np.ndarray:
    """Map the rows of a block (d, length) in place, each by its column, and return the block."""
    for row, column in zip(block, columns, strict=True):
        column.apply(row)
    return block


def parse_columns(names: list[str] | tuple[str, ...]) -> tuple[Column, ...]:
    """Columns for `names`, in order.

    Raises:
        InvalidInput: no list, no name, an empty name, or the same expression twice.
    """
    if not isinstance(names, list | tuple):
        raise InvalidInput(f'columns are a list of names, for example ["age", "log1p(cost)"], not {names!r}')
    columns = tuple(_parse(name) for name in names)
    if not columns:
        raise InvalidInput("no columns: name at least one numeric column")
    written = [column.name for column in columns]
    twice = sorted({name for name in written if written.count(name) > 1})
    if twice:
        raise InvalidInput(f"column named twice: {', '.join(twice)}")
    return columns


def meant(name: str, names: Iterable[str]) -> str:
    """Say which of some public names a misspelt one may stand for, or which expressions there are; or nothing.

    Returns:
        The end of a sentence, with its comma or semicolon in front.
    """
    known = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), known, n=1)
    if near:
        return f", did you mean {known[near[0]]!r}?"
    if _CALL.match(name):
        return f"; an expression is {', '.join(f'{function}(column)' for function in _MAPS)}"
    return ""


def split_columns(text: str) -> list[str]:
    """The names in `a,b,log1p(c)`; commas inside parentheses do not separate."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def _parse(name: object) -> Column:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput('a column name is empty: write --columns a,b,"log1p(c)"')
    match = _EXPRESSION.match(name)
    return Column(match[2].strip(), match[1]) if match else Column(name.strip())
