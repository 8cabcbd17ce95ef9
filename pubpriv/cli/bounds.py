"""Parse bounds, steps and given values of columns, the options of `sample`."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from pubpriv.cli.derived import by_column
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.released.bending import Limits


def limits_from(
    names: Sequence[str], bounds: Sequence[str], steps: Sequence[str], like: str | None
) -> "dict[str, Limits]":
    """Read the limits of columns: those of the public rows `like`, overridden by typed ones.

    Args:
        names: names of the columns that are written.
        bounds: `COLUMN=LOW:HIGH` texts, in which either side may be empty.
        steps: `COLUMN=STEP` texts.
        like: file of public rows; None: there is none.

    Raises:
        InvalidInput: a text of another form, limits that no value satisfies, or a file that is not a public table.
    """
    from pubpriv.released.bending import Limits

    found = {} if like is None else _limits_like(names, like)
    for name, (low, high) in _bounds(bounds).items():
        found[name] = replace(found.get(name, Limits()), low=low, high=high)
    for name, step in values_from(steps, "--step").items():
        found[name] = replace(found.get(name, Limits()), step=step)
    return {name: limit for name, limit in found.items() if limit != Limits()}


def values_from(given: Sequence[str], option: str = "--given") -> dict[str, float]:
    """Read numbers by column, from `COLUMN=VALUE` texts."""
    return by_column(option, given, f"{option} age=40")


def _limits_like(names: Sequence[str], like: str) -> "dict[str, Limits]":
    from pubpriv.common.column_names import is_expression, text_of
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.released.bending import Limits

    check_public_file(like, None)
    table = PublicTable.open(like, [name if is_expression(name) else text_of(name) for name in names])
    return {name: Limits.of_public(values) for name, values in zip(names, table.rows.T, strict=True)}


def _bounds(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, span = text.rpartition("=")
        low, colon, high = span.partition(":")
        try:
            ends = (float(low) if low.strip() else -inf, float(high) if high.strip() else inf)
        except ValueError:
            colon = ""
        if not colon or not name.strip():
            raise InvalidInput(f"--bounds takes COLUMN=LOW:HIGH, for example fare=0: or age=0:120, not {text!r}")
        found[name.strip()] = ends
    return found
