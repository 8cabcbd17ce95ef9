"""The only list of all kinds of budget, and functions that read budgets."""

from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets.approx import ApproximateDP
from pubpriv.privacy.budgets.budget import Budget
from pubpriv.privacy.budgets.pure import PureDP
from pubpriv.privacy.budgets.zcdp import ZeroConcentratedDP
from pubpriv.privacy.units import Number, stored_fraction

KINDS: dict[str, type[Budget]] = {kind.kind: kind for kind in (PureDP, ZeroConcentratedDP, ApproximateDP)}

_SPELLINGS = [f"{kind.kind}:{','.join(kind.parameters).upper()}" for kind in KINDS.values()]
_GRAMMAR = f"{', '.join(_SPELLINGS[:-1])} or {_SPELLINGS[-1]} (for example zcdp:0.5 or approx:1,1e-6)"


def parse_budget(text: str) -> Budget:
    """Parse the text of a budget: `pure:1`, `zcdp:0.5`, `approx:1,1e-6`.

    Raises:
        InvalidInput: any other text; the message shows the grammar.

    Example:
        >>> import pubpriv as pp
        >>> pp.parse_budget("zcdp:0.5") == pp.ZeroConcentratedDP(0.5)
        True
    """
    if not isinstance(text, str):
        raise InvalidInput(f"a budget is written {_GRAMMAR}, not {text!r}")
    name, _, numbers = text.strip().partition(":")
    values = [part.strip() for part in numbers.split(",")]
    kind = KINDS.get(name.strip().lower())
    if kind is None or len(values) != len(kind.parameters) or not all(values):
        raise InvalidInput(f"a budget is written {_GRAMMAR}, not {text!r}")
    return _made(kind, *values)


BudgetLike = Budget | str
"""A budget, or its text: `zcdp:0.5`."""


def budget_of(given: BudgetLike) -> Budget:
    """Return a budget as it is, or parse its text; see `parse_budget`.

    Raises:
        InvalidInput: another text, or another type.
    """
    if isinstance(given, str):
        return parse_budget(given)
    if isinstance(given, Budget):
        return given
    raise InvalidInput(f"a budget is written {_GRAMMAR}, or made like ZeroConcentratedDP(0.5), not {given!r}")


def budget_from_json(data: dict[str, str]) -> Budget:
    """Read what `Budget.to_json` wrote."""
    values = {name: stored_fraction(value) for name, value in data.items() if name != "kind"}
    return _made(KINDS[data["kind"]], **values)


def _made(kind: Any, *values: Number, **named: Number) -> Budget:
    """Make a budget of a kind that is known only at run time, for mypy."""
    budget: Budget = kind(*values, **named)
    return budget
