"""Columns as a user names them: `cost`, or an expression of one or two columns, from a closed list.

An expression is a public map of the cells of one record, so it costs no budget and no proof changes: if it gives NaN
or infinity, the record is not counted. `common.column_names` says how columns of any name are named.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pubpriv.common.column_names import (
    CALL,
    CLIP,
    FUNCTIONS,
    LEVEL,
    LEVELS,
    PRODUCT,
    RATIO,
    inside,
    is_expression,
    quoted,
    split_columns,
    text_of,
)
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import public_value
from pubpriv.errors import InvalidInput, nearest

MAPS = dict(zip(FUNCTIONS, (np.log, np.log1p, np.sqrt), strict=True))
"""Functions of one cell that an expression may name."""

_BACK = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square}
_PLAIN = re.compile(r"[^\s`\"(),/](?:[^`\"(),/]*[^\s`\"(),/])?")
"""Levels that need no quotes."""

_SIGNS = r"[-+*/^]+"
_CALL = re.compile(r"\s*\w+\(.+\)\s*|.*\S/\S.*")

_MARKS = {";": "';'", "\t": "tabs", "|": "'|'"}
"""Separators of files that are not comma-separated, as messages write them."""

_COMMAS = "commas separate the cells of a CSV file, and points the decimals"

_EXPRESSIONS = (
    "log(column), log1p(column), sqrt(column), clip(column, low, high), levels(column, a, b), level(column, a), "
    "product(column, column), column / column with blanks around /"
)
"""All expressions, as messages list them."""


@public_value
@dataclass(frozen=True)
class Column:
    """One column of the estimate: a source column of the file and the map applied to each of its cells.

    Attributes:
        source: column of the table.
        function: `log`, `log1p`, `sqrt`, `clip`, `levels`, `level`, `product` or `ratio`; None: cells stay as they are.
        over: column by which `ratio` divides.
        between: the two bounds of `clip`.
        levels: texts that `levels` numbers from 0; any other one, that is not missing, has the number after the last.
        level: text for which `level` is 1; for any other one, that is not missing, it is 0.
        factors: columns of a `product`: plain ones, clipped ones, or levels.
    """

    source: str
    function: str | None = None
    over: str | None = None
    between: tuple[float, float] | None = None
    levels: tuple[str, ...] | None = None
    level: str | None = None
    factors: "tuple[Column, ...] | None" = None

    @property
    def name(self) -> str:
        """The shortest text that names it: `cost`, `` `cost, net` ``, `log1p(cost)`, `clip(cost, 0, 1000)`, `cost / n`.

        Names are in quotes only where the text would mean something else without them.
        """
        return _text_of(self)

    @property
    def categories(self) -> ByCategory:
        """The levels, as a list of categories of the source."""
        return ByCategory(quoted(self.source), self.levels or (str(self.level),))

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns of the table that the expression uses."""
        if self.factors is not None:
            return tuple(dict.fromkeys(source for factor in self.factors for source in factor.sources))
        return (self.source,) if self.over is None else (self.source, self.over)

    @property
    def simple(self) -> "tuple[Column, ...]":
        """Its factors, or itself."""
        return self.factors or (self,)

    @property
    def is_computed(self) -> bool:
        """Whether it is made of other than the cells of one column, so that it cannot be undone."""
        return self.over is not None or self.level is not None or self.factors is not None

    @property
    def of_texts(self) -> bool:
        """Whether it is made of levels of a column of texts."""
        return self.levels is not None or self.level is not None

    @property
    def original(self) -> str:
        """What `undo` returns to: the source column, or what is computed itself, which cannot be undone."""
        return self.name if self.is_computed else self.source

    def of(self, cells: Callable[[str], np.ndarray], numbered: Callable[[ByCategory], np.ndarray]) -> np.ndarray:
        """Return the input of `apply`: cells of the source, numbers of levels, or quotients.

        A quotient is missing if the divisor is 0. A product rounds once for each factor but the first, so its cells
        depend on nothing else, wherever they are computed.

        Args:
            cells: returns the cells of a column of the table by its name.
            numbered: returns the numbers of a column's levels.
        """
        if self.factors is not None:
            return self._product(cells, numbered)
        if self.of_texts:
            numbers = numbered(self.categories)
            return numbers if self.level is None else np.where(np.isnan(numbers), np.nan, numbers == 0.0)
        if self.over is None:
            return cells(self.source)
        with np.errstate(all="ignore"):
            quotients = cells(self.source) / cells(self.over)
        return np.where(np.isfinite(quotients), quotients, np.nan)

    def _product(self, cells: Callable[[str], np.ndarray], numbered: Callable[[ByCategory], np.ndarray]) -> np.ndarray:
        found = np.ones(())
        with np.errstate(all="ignore"):
            for factor in self.simple:
                own = factor.of(cells, numbered)
                found = found * (own if factor.between is None else np.clip(own, *factor.between))
        return np.asarray(found)

    def apply(self, cells: np.ndarray) -> None:
        """Map `cells` in place; the caller holds `np.errstate(all="ignore")`."""
        if self.between is not None:
            np.clip(cells, *self.between, out=cells)
        elif self.function in MAPS:
            MAPS[self.function](cells, out=cells)

    def undo(self, cells: np.ndarray) -> None:
        """Map cells back to the units of `original`, in place; clipped cells and the sign of a square are lost."""
        if self.function in _BACK:
            _BACK[self.function](cells, out=cells)

    def written(self, source: str, over: str | None) -> str:
        """Return its text with these texts of its sources."""
        if self.factors is not None:
            return f"product({', '.join(factor.name for factor in self.factors)})"
        if self.level is not None:
            return f"level({source}, {_level_text(self.level)})"
        if over is not None:
            return f"{source} / {over}"
        if self.between is not None:
            return f"clip({source}, {', '.join(map(_written, self.between))})"
        if self.levels is not None:
            return f"levels({', '.join([source, *map(_level_text, self.levels)])})"
        return f"{self.function}({source})" if self.function else source

    @property
    def explicit(self) -> str:
        """Its text with quotes around all names, which nobody can take for another one."""
        return self.written(quoted(self.source), None if self.over is None else quoted(self.over))


@lru_cache(maxsize=1 << 12)
def _text_of(column: Column) -> str:
    bare = column.written(column.source, column.over)
    if column.function is None:
        return text_of(bare)
    try:
        same = _parse(bare) == column
    except InvalidInput:
        same = False
    return bare if same else column.explicit


def map_columns(block: np.ndarray, columns: tuple[Column, ...]) -> np.ndarray:
    """Apply each column's map to its row of a block (d, length), in place, and return the block."""
    for row, column in zip(block, columns, strict=True):
        column.apply(row)
    return block


def sources_of(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return the table's columns that the given columns use, each once, in order."""
    return tuple(dict.fromkeys(source for column in columns for source in column.sources))


def parse_columns(names: Sequence[str | Column]) -> tuple[Column, ...]:
    """Return columns for `names`, in order; columns that are parsed already stay as they are.

    Raises:
        InvalidInput: not a list, no name, an empty name, the same expression twice, or bounds that are not two numbers.
    """
    if not isinstance(names, list | tuple):
        raise InvalidInput(f'columns are a list of names, for example ["age", "log1p(cost)"], not {names!r}')
    columns = tuple(name if isinstance(name, Column) else _parse(name) for name in names)
    if not columns:
        raise InvalidInput("no columns: name at least one numeric column")
    written = [column.name for column in columns]
    twice = sorted({name for name in written if written.count(name) > 1})
    if twice:
        raise InvalidInput(f"column named twice: {', '.join(twice)}")
    return columns


def meant(name: str, names: Iterable[str]) -> str:
    """Suggest public names for a misspelt one, or list the expressions.

    Returns:
        The end of a sentence, beginning with a comma or semicolon; empty if there is nothing to suggest.
    """
    names = list(names)
    if names and re.match(r"sep=", names[0], re.IGNORECASE):
        return "; its first line says which sign separates cells: take that line away, and separate them by commas"
    if len(names) == 1 and (mark := next((mark for mark in _MARKS if mark in names[0]), None)):
        return f"; its cells seem to be separated by {_MARKS[mark]}: {_COMMAS}"
    if names and names[0].startswith("#"):
        return "; its first line begins with #: take comments away, so that the first line names the columns"
    near = nearest(name, names)
    # an unknown expression of known columns
    parts = [part.strip() for part in re.split(_SIGNS, name)]
    calculated = len(parts) > 1 and not {*parts}.isdisjoint(names) and not (near and re.search(_SIGNS, near))
    if calculated or (_CALL.fullmatch(name) and not (near and _CALL.fullmatch(near))):
        return f"; an expression is one of {_EXPRESSIONS}"
    return f", did you mean {near!r}?" if near else ""


def called_like(texts: Sequence[str | Column], names: Iterable[str]) -> Column | None:
    """Return an expression that is also the name of a column of the table: it may not be what the user means.

    Args:
        texts: texts as somebody wrote them; columns that are parsed already have one meaning.
        names: names of the table's columns.
    """
    known = {*names}
    meant = (text for text in texts if isinstance(text, str) and is_expression(text))
    return next((_parse(text) for text in meant if not known.isdisjoint({text, text.strip()})), None)


def two_meanings(column: Column, where: str) -> str:
    """Return the message that a table has a column with the name of an expression."""
    return (
        f"{where} has a column that is itself called {column.name}, and {column.name} is an expression of others: "
        f"write {quoted(column.name)} for that column, or {column.explicit} for the expression"
    )


def _parse(name: object) -> Column:
    if not isinstance(name, str):
        raise InvalidInput(f"a column is named by a text, not by {name!r}: give the table's columns names of text")
    if not name.strip():
        raise InvalidInput('a column name is empty: write --columns a,b,"log1p(c)"')
    if not is_expression(name):
        return Column(inside(name))
    return next(make(name, match) for form, make in _FORMS if (match := form.fullmatch(name)))


def _call(name: str, match: re.Match[str]) -> Column:
    del name
    return Column(inside(match[2]), match[1])


def _clipped(name: str, match: re.Match[str]) -> Column:
    low, high = (_number(text) for text in match.groups()[1:])
    if low is None or high is None or not low < high:
        raise InvalidInput(f"{name.strip()}: a column is clipped between two numbers, clip(column, low, high)")
    return Column(inside(match[1]), "clip", between=(low, high))


def _numbered(name: str, match: re.Match[str]) -> Column:
    source, *levels = (inside(text) for text in split_columns(match[1]))
    if not levels:
        raise InvalidInput(f"{name.strip()}: levels are of a column and its texts, levels(column, a, b)")
    ByCategory(quoted(source), tuple(levels))  # refuses lists that are none
    return Column(source, "levels", levels=tuple(levels))


def _indicated(name: str, match: re.Match[str]) -> Column:
    source, *levels = (inside(text) for text in split_columns(match[1]))
    if len(levels) != 1:
        raise InvalidInput(f"{name.strip()}: a level is of a column and one of its texts, level(column, a)")
    ByCategory(quoted(source), tuple(levels))
    return Column(source, "level", level=levels[0])


def _ratio(name: str, match: re.Match[str]) -> Column:
    del name
    return Column(inside(match[1]), "ratio", inside(match[2]))


def _multiplied(name: str, match: re.Match[str]) -> Column:
    """Return the product of two columns or more; the logarithm of a cell may round otherwise in another place."""
    factors = tuple(_parse(text) for text in split_columns(match[1]))
    if len(factors) < 2 or any(factor.function not in (None, "clip", "level") for factor in factors):
        raise InvalidInput(
            f"{name.strip()}: a product is of two columns or more, each plain, clip(column, low, high) or "
            "level(column, a)"
        )
    return Column(factors[0].source, "product", factors=factors)


_FORMS = (
    *((CALL, _call), (CLIP, _clipped), (LEVELS, _numbered)),
    *((LEVEL, _indicated), (PRODUCT, _multiplied), (RATIO, _ratio)),
)
"""Makers of columns, by the form of an expression."""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _level_text(level: str) -> str:
    """Text of a level in an expression; in quotes if it would be read as something else."""
    return level if _PLAIN.fullmatch(level) else quoted(level)


def _written(number: float) -> str:
    """Shortest text that reads back as the same number."""
    return repr(number).removesuffix(".0")
