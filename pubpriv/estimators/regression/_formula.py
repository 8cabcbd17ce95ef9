"""Formulas: the outcome and terms of a regression as a text, and columns that they stand for.

The grammar is that of R and patsy for what a regression of columns needs: `y ~ a + b + a:b`, `a*b` for `a + b + a:b`,
`a**2` for a square. Nothing is evaluated: atoms are names or the expressions of `data.columns`, and any other call is
refused. A column of texts stands for its levels, one column of zeros and ones for each but the first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pubpriv.common.column_names import QUOTED, inside, is_expression, quoted
from pubpriv.data.columns import parse_columns
from pubpriv.errors import InvalidInput

_PIECE = re.compile(rf"{QUOTED}|\((?:{QUOTED}|\([^()]*\)|[^()])*\)|\*\*|.", re.DOTALL)
"""A name in quotes, a text in parentheses, or a sign."""

_ALL_LEVELS = re.compile(r"\s*levels\(([^,]+)\)\s*", re.DOTALL)
_CALLED = re.compile(r"\s*(\w+)\s*\(", re.DOTALL)
_POWER = re.compile(r"(.+?)\s*(?:\*\*|\^)\s*2", re.DOTALL)
_HOW = "a formula is an outcome, ~ and terms: 'log1p(y) ~ a + b + a:b'"

Levels = Mapping[str, tuple[str, ...]]
"""Levels of columns of texts in the public rows; none of a column of numbers."""


@dataclass(frozen=True)
class Design:
    """Outcome and terms as they were written.

    Attributes:
        outcome: a column.
        terms: products of columns, mostly of one.
    """

    outcome: str
    terms: tuple[tuple[str, ...], ...]

    @classmethod
    def of_columns(cls, outcome: str, on: Sequence[str]) -> "Design":
        """Make the design of an outcome and columns."""
        return cls(_atom(outcome), tuple((_atom(text),) for text in on))

    @classmethod
    def parse(cls, formula: str) -> "Design":
        """Read a formula.

        Raises:
            InvalidInput: it is none, or it calls a function that is no column expression.
        """
        sides = _split(formula, "~")
        if len(sides) != 2:
            raise InvalidInput(f"{formula!r}: {_HOW}")
        terms: dict[tuple[str, ...], None] = {}
        for text in _split(sides[1], "+"):
            for term in _term(text, formula):
                terms[term] = None
        if not terms:
            raise InvalidInput(f"{formula!r} has no terms: {_HOW}")
        return cls(_atom(sides[0]), tuple(terms))

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns that may be of texts: plain ones, and those of all their levels."""
        atoms = [atom for term in self.terms for atom in term]
        every = [(_ALL_LEVELS.fullmatch(atom), atom) for atom in atoms]
        plain = [parse_columns((atom,))[0] for match, atom in every if match is None]
        found = [inside(match[1]) for match, _ in every if match is not None]
        return tuple(dict.fromkeys([*found, *(column.source for column in plain if column.function is None)]))

    def columns(self, levels: Levels) -> tuple[str, ...]:
        """Return the columns that it stands for: those of the terms, and last the outcome.

        Args:
            levels: of columns of texts.

        Raises:
            InvalidInput: a product of what is no plain column, clip or level, or one column twice.
        """
        found: dict[str, None] = {}
        for term in self.terms:
            for atoms in product(*(_expanded(atom, levels) for atom in term)):
                text = atoms[0] if len(atoms) == 1 else f"product({', '.join(atoms)})"
                found[parse_columns((text,))[0].name] = None
        (outcome,) = parse_columns((self.outcome,))
        if outcome.name in found:
            raise InvalidInput(f"{outcome.name} is the outcome: it cannot be among the columns that it is regressed on")
        return (*found, outcome.name)


def _split(text: str, sign: str) -> list[str]:
    """Split a text at a sign outside of quotes and parentheses."""
    parts = [""]
    for piece in _PIECE.findall(text):
        if piece == sign:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def _term(text: str, formula: str) -> list[tuple[str, ...]]:
    """Read one term: `a`, `a:b`, `a*b`, `a**2`; the intercept is always there."""
    if text == "1":
        return []
    if not text or text == "0" or len(_split(text, "-")) > 1:
        raise InvalidInput(f"{formula!r}: terms are added, and the intercept stays: {_HOW}")
    if (power := _POWER.fullmatch(text)) is not None and "*" not in power[1]:
        return [(_atom(power[1]),) * 2]
    crossed = [_factors(part) for part in _split(text, "*")]
    if len(crossed) == 1:
        return crossed
    if len(crossed) > 2:
        raise InvalidInput(f"{text}: at most two are crossed; write products of three as a:b:c")
    return [*crossed, (*crossed[0], *crossed[1])]


def _factors(text: str) -> tuple[str, ...]:
    return tuple(_atom(part) for part in _split(text, ":"))


def _atom(text: str) -> str:
    """Check a column's text: a name, or an expression of the closed list.

    Raises:
        InvalidInput: it calls another function, or is empty.
    """
    text = text.strip()
    if not text:
        raise InvalidInput(_HOW)
    if inside(text) == text and not is_expression(text) and "(" in text:
        called = _CALLED.match(text)
        what = "parentheses make no term" if called is None else f"{called[1]} is no function of columns"
        raise InvalidInput(
            f"{text}: {what}. Functions are log, log1p, sqrt, clip, levels, level, "
            f"product and column / column; for a column that is itself called so, write {quoted(text)}"
        )
    if not _ALL_LEVELS.fullmatch(text):
        parse_columns((text,))
    return text


def _expanded(atom: str, levels: Levels) -> list[str]:
    """Return the columns of an atom: several for levels, one for each level but the first."""
    every = _ALL_LEVELS.fullmatch(atom)
    if every is not None:
        source, texts = inside(every[1]), levels[inside(every[1])]
        if not texts:
            raise InvalidInput(f"{source} has numbers in the public rows: name its levels, levels({source}, a, b)")
    else:
        (column,) = parse_columns((atom,))
        source = column.source
        texts = levels[source] if column.function is None else column.levels or ()
    if not texts:
        return [atom]
    if len(texts) < 2:
        raise InvalidInput(f"{source} has one level, {texts[0]}: it tells nothing apart, so leave it out")
    return [f"level({quoted(source)}, {quoted(text)})" for text in texts[1:]]
