"""The facts in a record's body that `apply` needs to change balances, by kind of record; pure."""

from collections.abc import Mapping
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import Amount

OF_SUCCESSION = ("sealed", "awaited", "carried", "carried_period", "remembered")
"""Kinds of records that close a ledger's books, or carry them on in another one; they belong to no run."""

_AMOUNTS = {
    "registered": ("cap",),
    "raised": ("cap",),
    "opened": ("allotted", "hold"),
    "started": ("share",),
    "charged": ("price_run", "price_ledger"),
    "carried": ("cap", "spent"),
    "carried_period": ("spent",),
}

_OPTIONAL = {
    "registered": ("period_cap",),
    "raised": ("period_cap",),
    "opened": ("hold_period",),
    "charged": ("price_period",),
    "carried": ("period_cap", "common_spent"),
}
"""Amounts in the currency of a period's cap, only in datasets with periods."""

_BALANCES = ("spent", "common_spent")
"""Amounts that may be zero."""

_PLACES = {"sealed": ("to",), "awaited": ("ledger",)}
"""Fields with URLs of ledgers, without passwords."""


def facts_of(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a record's body that `apply` needs: its amounts, and its method.

    A charge belongs to the method that its label begins with, up to the first slash.
    """
    facts: dict[str, Any] = {name: Amount.from_json(body[name]) for name in _AMOUNTS.get(kind, ())}
    facts |= {name: Amount.from_json(body[name]) for name in _OPTIONAL.get(kind, ()) if name in body}
    facts |= {name: str(body[name]) for name in _PLACES.get(kind, ())}
    if kind in ("registered", "raised", "carried") and "periods" in body:
        facts["lifetime"] = body["periods"]["lifetime"] is True
    if kind in ("opened", "carried_period") and "period" in body:
        facts["period"] = body["period"]
    if kind == "started":
        facts["method"] = str(body["method"])
    if kind == "charged":
        facts["method"] = str(body["label"]).partition("/")[0]
    return facts


def check_amounts(kind: str, facts: Mapping[str, Any]) -> None:
    """Refuse a negative amount, and a price, hold, share or cap of zero.

    Raises:
        InvalidInput: there is one.
    """
    for name in (*_AMOUNTS.get(kind, ()), *(each for each in _OPTIONAL.get(kind, ()) if each in facts)):
        if facts[name].main < (name not in _BALANCES) or facts[name].delta < 0:
            raise InvalidInput(f"the {name.replace('_', ' ')} of a {kind} record must be positive")
