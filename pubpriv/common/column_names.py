"""Texts that name columns, and lists of them, as users type them after an option or write them into a file.

A text is a name, a name in backticks or double quotes, or an expression (`data.columns`). It has one meaning, whatever
columns a table has: `log(price)` is the logarithm of the column `price`, and `` `log(price)` `` is the column that is
itself called so. Blanks around a text do not count; in quotes they belong to the name, and a doubled quote is one.
"""

import re
from collections.abc import Sequence

from pubpriv.errors import InvalidInput

QUOTED = r'(?:`(?:[^`]|``)*`|"(?:[^"]|"")*")'
"""A name in quotes, for regular expressions."""

FUNCTIONS = ("log", "log1p", "sqrt")
"""Functions of one cell that an expression may name."""

CALL = re.compile(rf"\s*({'|'.join(FUNCTIONS)})\((.+)\)\s*", re.DOTALL)
CLIP = re.compile(r"\s*clip\((.+),([^,]+),([^,]+)\)\s*", re.DOTALL)
LEVELS = re.compile(r"\s*levels\((.+)\)\s*", re.DOTALL)
LEVEL = re.compile(r"\s*level\((.+)\)\s*", re.DOTALL)
PRODUCT = re.compile(r"\s*product\((.+)\)\s*", re.DOTALL)
RATIO = re.compile(rf"\s*({QUOTED}|\S.*?)\s+/\s+({QUOTED}|\S.*?)\s*", re.DOTALL)
"""Match the expressions: a function of a column, a column between two numbers, levels of a column, whether it has one
level, a product of columns, and one column over another."""

_IN_QUOTES = re.compile(QUOTED)
_OPENED = rf"(?<![^\s(,]){QUOTED}(?=\s*(?:[,)]|\Z)|\s+/\s)"
_INSIDE = rf"\((?:{_OPENED}|[^()]|\([^()]*\))*\)"
_NEXT = re.compile(rf"((?:{_OPENED}|{_INSIDE}|[^,])*)(,|\Z)", re.DOTALL)
"""A text and the comma after it. A quote that opens nothing is a part of a name."""


_FORMS = CALL, CLIP, LEVELS, LEVEL, PRODUCT, RATIO


def quoted(name: str, quote: str = "`") -> str:
    """Return the text that names the column of exactly this name, in backticks or double quotes."""
    return quote + name.replace(quote, quote * 2) + quote


def is_expression(text: str) -> bool:
    """Return whether a text is an expression, and no name."""
    return not _IN_QUOTES.fullmatch(text.strip()) and any(form.fullmatch(text) for form in _FORMS)


def inside(text: str) -> str:
    """Return the name that a text is, without its quotes, if it has some, and without blanks around it."""
    text = text.strip()
    if not _IN_QUOTES.fullmatch(text):
        return text
    return text[1:-1].replace(text[0] * 2, text[0])


def text_of(name: str, quote: str = "`") -> str:
    """Return the shortest text that names a column: the name itself, or in quotes if that reads as something else.

    Examples:
        >>> [text_of(name) for name in ("cost", "log(cost)", " b", "x / y", "")]
        ['cost', '`log(cost)`', '` b`', '`x / y`', '``']
    """
    return name if name and inside(name) == name and not is_expression(name) else quoted(name, quote)


def name_of(text: str, what: str) -> str:
    """Return the name of the column that a text names, where no expression may stand.

    Args:
        text: as typed.
        what: what the column is for, for messages: `a column of ids`.

    Raises:
        InvalidInput: no text, no name, or an expression.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{what} has a name, not {text!r}")
    if is_expression(text):
        raise InvalidInput(
            f"{what} is no expression: {text.strip()} is one. For the column that is itself called so, write "
            f"{quoted(text.strip())}"
        )
    return inside(text)


def split_columns(text: str) -> list[str]:
    """Split a list at commas outside of parentheses and quotes; the texts keep their quotes.

    Examples:
        >>> split_columns('age, clip(cost, 0, 9),"weight, kg"')
        ['age', 'clip(cost, 0, 9)', '"weight, kg"']
    """
    texts, at = [], 0
    while match := _NEXT.match(text, at):
        texts.append(match[1].strip())
        if not match[2]:
            break
        at = match.end()
    return texts


def join_columns(texts: Sequence[str]) -> str:
    """Write texts so that `split_columns` reads them back; a name with a comma gets double quotes."""
    return ",".join(text if _stands_alone(text) else quoted(inside(text), '"') for text in texts)


def join_in_command(names: Sequence[str]) -> str:
    """Write names of columns for a command, which messages show in backticks: with double quotes."""
    return join_columns([text_of(name, '"') for name in names])


def _stands_alone(text: str) -> bool:
    """Check whether a text needs no other quotes in any list, where a sign in it might open what another one closes."""
    is_name = not _IN_QUOTES.fullmatch(text) and not is_expression(text)
    odd = is_name and ('"' in text or "`" in text or re.search(r"[()]", re.sub(_INSIDE, "", text)) is not None)
    return not odd and split_columns(text) == [text] and split_columns(f"{text},x") == [text, "x"]
