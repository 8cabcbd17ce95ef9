"""Is any amount taken for more than it is? Numbers that are none, that are tiny or huge, or that do not terminate.

Each is given to every budget and every event: it is refused, or rounded against the spender.
"""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.audit.discrete import delta_at
from pubpriv.audit.finding import Finding, judged
from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, Budget, PureDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.events import Event, GaussianEvent, PureEvent
from pubpriv.privacy.units import DELTA_UNIT, UNIT

_EVERY_KIND = ZeroConcentratedDP(1), ApproximateDP(1, Fraction(1, 10**6)), PureDP(1)

_NOT_AMOUNTS: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 0, 0.0, -0.0, -1, -5e-324, -(10**400), True, False, None, 1 + 0j, b"1"),
    *("nan", "inf", "-1", "0", "-0", "1/3", "0x10", "", " ", "one", "1e-9999999999", "1e9999999999", [1], object()),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal(0), Fraction(-1, 3), np.float64("nan"), np.inf),
)
"""Nobody may spend one of these."""

_AMOUNTS: tuple[Any, ...] = (
    *(5e-324, 1e-13, 1e-12, 1e308, 10**400, "1e-400", "5e-324", "1e400", 0.1, 1 / 3, "0.1", 7, 699.9999),
    *(Fraction(1, 3), Fraction(2, 3), Fraction(1, 10**400), Fraction(10**13 + 1, 10**13), Decimal("1e-400")),
    *(np.float32(1 / 3), np.float64(0.1), np.int64(3), Decimal("0.1000000000000000055511151231257827")),
)
"""Positive numbers: each is refused, or rounded against the spender."""


def findings() -> Iterator[Finding]:
    """Try budgets, then events."""
    yield _as_budgets()
    yield _as_events()


_Worth = Callable[[Amount, Fraction], bool]


def _as_budgets() -> Finding:
    """Whatever is given as a budget parameter is refused, or its cap is at most what was written."""
    delta, half = Fraction(1, 10**6), Fraction(1, 2)
    typed: dict[str, tuple[Callable[[Any], Budget], _Worth]] = {
        "PureDP": (PureDP, _main_within),
        "ZeroConcentratedDP": (ZeroConcentratedDP, _main_within),
        "ApproximateDP, epsilon": (lambda v: ApproximateDP(v, delta), lambda cap, v: _implies(cap, v, delta)),
        "ApproximateDP, delta": (lambda v: ApproximateDP(1, v), lambda cap, v: _implies(cap, Fraction(1), v)),
        "ApproximateDP, failure_delta": (lambda v: ApproximateDP(1, half, v), _failure_within),
    }
    written: dict[str, tuple[Callable[[Any], Budget], _Worth]] = {
        "pure:": (lambda v: parse_budget(f"pure:{v}"), _main_within),
        "zcdp:": (lambda v: parse_budget(f"zcdp:{v}"), _main_within),
        "approx:EPSILON,": (lambda v: parse_budget(f"approx:1,{v}"), lambda cap, v: _implies(cap, Fraction(1), v)),
    }
    texts = [f"{value}" for value in _AMOUNTS if not isinstance(value, Fraction)]
    no_texts = [f"{value}" for value in _NOT_AMOUNTS]
    tried = [(name, *pair, value) for name, pair in typed.items() for value in (*_AMOUNTS, *_NOT_AMOUNTS)]
    tried += [(name, *pair, text) for name, pair in written.items() for text in (*texts, *no_texts)]
    faults = []
    for name, make, worth, value in tried:
        # no failure_delta at all asks for the default
        fault = None if value is None and "failure" in name else _accepted(make, worth, value)
        faults += [f"{name} {value!r}: {fault}"] if fault else []
    detail = f"{len(tried)} refused, or capped at what was meant"
    return judged("prices", "Adversarial amounts as budgets", faults, detail)


def _accepted(make: Callable[[Any], Budget], worth: _Worth, value: Any) -> str | None:
    """What is wrong with the budget made of `value`; None if it is refused, or no more than was meant."""
    try:
        cap = make(value).cap
    except InvalidInput:
        return None
    except Exception as error:
        return f"not refused as bad input, but fails ({type(error).__name__})"
    meant = _meaning(value)
    if meant is None:
        return "accepted"
    return None if cap.main > 0 and worth(cap, meant) else "worth more than was meant, or nothing"


def _main_within(cap: Amount, meant: Fraction) -> bool:
    return cap.main <= meant * UNIT


def _failure_within(cap: Amount, meant: Fraction) -> bool:
    return 0 < cap.delta <= meant * DELTA_UNIT


def _implies(cap: Amount, epsilon: Fraction, delta: Fraction) -> bool:
    return bool(delta_at(cap, epsilon) * delta.denominator <= delta.numerator)


def _as_events() -> Finding:
    """Whatever is given as the cost of an event has no price, or one that covers it."""
    faults = []
    for value in _NOT_AMOUNTS:
        meaning = None if isinstance(value, bool) else value
        makers = (lambda v=meaning: GaussianEvent(v, ((1 << 40, 1),)), lambda v=meaning: PureEvent(v))
        faults += [f"{value!r} has a price" for make in makers if price_or_none(make, _EVERY_KIND[0]) is not None]
    for value in _AMOUNTS:
        meant = _meaning(value) or Fraction(0)
        for budget in _EVERY_KIND:
            paid = price_or_none(lambda v=meant: PureEvent(v), budget)  # type: ignore[misc]
            if paid is not None and isinstance(budget, PureDP) and paid.main < meant * UNIT:
                faults.append(f"epsilon {value!r} is priced below itself")
            if paid is not None and paid.main < 1:
                faults.append(f"epsilon {value!r} is free")
            paid = price_or_none(lambda v=meant: GaussianEvent(v, ((1 << 40, 1),)), budget)  # type: ignore[misc]
            share = 2 if budget.kind == "zcdp" else 1
            if paid is not None and paid.main < max(Fraction(1), meant * UNIT / share):
                faults.append(f"mu^2 {value!r} is priced below itself")
    tried = 2 * len(_NOT_AMOUNTS) + 6 * len(_AMOUNTS)
    detail = f"{tried} without a price, or with one that covers"
    return judged("prices", "Adversarial amounts as events", faults, detail)


def _meaning(value: Any) -> Fraction | None:
    """An amount as its writer meant it, a float being its shortest decimal; None for what is no positive number."""
    if any(value is no for no in _NOT_AMOUNTS) or value in [f"{no}" for no in _NOT_AMOUNTS]:
        return None
    return Fraction(value) if isinstance(value, Fraction | int) else Fraction(Decimal(str(value)))


def price_or_none(make: Callable[[], Event], budget: Budget) -> Amount | None:
    """Price an event; None where event or price is refused, before anything can be charged."""
    try:
        return budget.price(make())
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        return None
