"""Is any event priced below what it costs?

Costs are computed independently of the product's code, in fractions if they are rational and otherwise by mpmath with
80 digits. One of them is entirely exact: the delta of a discrete Gaussian on the integers at the smallest sd that an
(epsilon, delta) ledger accepts, against the mu and the failure term that it is charged.

Values that are not amounts, that are tiny or huge, or that have no finite decimal are given to every budget and event:
each must be refused, or rounded against the spender.
"""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.audit._catalogue import PRICE, questions
from pubpriv.audit._discrete import DiscreteGaussian, curve, delta_at, precise
from pubpriv.audit.finding import Finding, judged
from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, Budget, PureDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.events import Event, GaussianEvent, PureEvent, RadialEvent, ThresholdEvent
from pubpriv.privacy.units import DELTA_UNIT, UNIT

_SMALLEST = 1 << 20
"""The sd below which nothing may be priced as a continuous Gaussian; deliberately repeated here."""

_ROUNDING = 1e-60
"""What 80 digits may lose where a divergence and its bound are equal."""

_ZCDP, _APPROX = ZeroConcentratedDP(1), ApproximateDP(1, Fraction(1, 10**6))


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Try events, questions, conversions and amounts; the numbers are few, so a fast audit differs in the grids."""
    random = np.random.default_rng(seed)
    yield _gaussian_prices(random, 200 if fast else 5000)
    yield _pure_prices(random, 10 if fast else 200)
    yield _asked_prices()
    yield _small_noise()
    yield _failure_terms()
    yield _threshold_terms()
    yield _renyi_orders()
    yield _exact_curve(fast)
    yield _caps(random, 3 if fast else 40)
    yield _as_budgets()
    yield _as_events()
    yield _radial_prices(random, 10 if fast else 200)


def _gaussian_prices(random: np.random.Generator, draws: int) -> Finding:
    """rho at least half the squared distance, mu^2 at least all of it, nothing free, and a unit or two beyond."""
    edges = [Fraction(5e-324), Fraction(1, 10**400), Fraction(1, 3), Fraction(1e308), Fraction(2, 3 * 10**12)]
    drawn = [Fraction(10 ** float(random.uniform(-14, 4))) for _ in range(draws)]
    faults, worst = [], Fraction(0)
    for squared in edges + drawn:
        event = GaussianEvent(squared, ((_SMALLEST, 3), (1 << 40, 2)))
        for budget, exact, most in ((_ZCDP, squared / 2, 1), (_APPROX, squared, 2)):
            units = budget.price(event).main
            worst = max(worst, exact * UNIT / max(units, 1))
            if not (units >= 1 and exact * UNIT <= units < exact * UNIT + most):
                faults.append(f"mu^2 {float(squared):.6g} is priced {units} units of {budget.currency}")
    if _price_or_none(lambda: GaussianEvent(PRICE, ((1 << 40, 1),)), PureDP(1)) is not None:
        faults.append("Gaussian noise has a price under pure DP")
    return _share("Gaussian events under zcdp and approx", "exact cost over price", worst, faults)


def _pure_prices(random: np.random.Generator, draws: int) -> Finding:
    """epsilon under pure; epsilon tanh(epsilon / 2) of rho; (2 Phi^-1(e^epsilon / (1 + e^epsilon)))^2 of mu^2."""
    mp = precise()
    faults, worst = [], Fraction(0)
    for epsilon in [
        Fraction(1, 3),
        Fraction(1, 10**9),
        *(Fraction(10 ** float(random.uniform(-6, 1.5))) for _ in range(draws)),
    ]:
        units = {budget.kind: budget.price(PureEvent(epsilon)).main for budget in (PureDP(1), _ZCDP, _APPROX)}
        e = mp.mpf(epsilon.numerator) / epsilon.denominator
        # mu-GDP holds for every epsilon-DP mechanism iff P(N(0,1) <= -mu/2) is at most 1 / (1 + e^epsilon)
        mu = mp.sqrt(mp.mpf(units["approx"]) / UNIT)
        worst = max(worst, epsilon * UNIT / units["pure"])
        if units["pure"] < epsilon * UNIT:
            faults.append(f"epsilon {float(epsilon):.6g} costs less than itself")
        if units["zcdp"] < e * mp.tanh(e / 2) * UNIT:
            faults.append(f"epsilon {float(epsilon):.6g} is priced below epsilon tanh(epsilon / 2)")
        if mp.erfc(mu / 2 / mp.sqrt(2)) / 2 > 1 / (1 + mp.exp(e)):
            faults.append(f"epsilon {float(epsilon):.6g} is priced below its mu")
    return _share("Pure events under every budget", "exact cost over price", worst, faults)


def _radial_prices(random: np.random.Generator, draws: int) -> Finding:
    """The root of a radial event's squared distance, and less than a unit more, in epsilon; then as any epsilon."""
    mp = precise()
    drawn = [Fraction(10 ** float(random.uniform(-20, 6))) for _ in range(draws)]
    faults, worst = [], Fraction(0)
    edges = [Fraction(4), Fraction(2), Fraction(1, 3), Fraction(1, 10**30), Fraction(10**24 + 1, 10**24)]
    for squared in edges + drawn:
        event = RadialEvent(squared, ((1 << 40, 4), (7, 2)), 2)
        units = PureDP(1).price(event).main
        root = mp.sqrt(mp.mpf(squared.numerator) / squared.denominator) * UNIT
        worst = max(worst, Fraction(float(root)) / max(units, 1))
        if not (units >= 1 and root <= units < root + 1):
            faults.append(f"epsilon^2 {float(squared):.6g} is priced {units} units")
        same = PureEvent(Fraction(units, UNIT))
        faults += [
            f"epsilon^2 {float(squared):.6g} costs another amount of {budget.currency} than its epsilon"
            for budget in (_ZCDP, _APPROX)
            if budget.price(event) != budget.price(same)
        ]
    return _share("Radial events under every budget", "exact cost over price", worst, faults)


def _asked_prices() -> Finding:
    """A question built for a price costs at most that, and nearly all of it."""
    shares = {name: question.squared_distance / PRICE for name, question in questions().items()}
    faults = [f"{name} costs {float(share):.6g} of what was asked" for name, share in shares.items() if share > 1]
    # `without-count` is made of a priced question and costs less
    faults += [
        f"{name} uses {float(share):.6g} of its price: more noise than needed"
        for name, share in shares.items()
        if share < Fraction(999, 1000) and "without-count" not in name
    ]
    return _share("Questions built for a price", "cost over what was asked", max(shares.values()), faults)


def _small_noise() -> Finding:
    """Below 2^20 no Gaussian has a price under (epsilon, delta), whatever else it is drawn with."""
    small: list[Any] = [1, 2, 1000, _SMALLEST >> 1, _SMALLEST - 1, math.nan, math.inf, 0, -_SMALLEST]
    faults = [
        f"sd {sd} has a price under approx"
        for sd in small
        for noise in (((sd, 1),), ((1 << 40, 5), (sd, 1)), ((sd, 1), (1 << 40, 5)))
        if _price_or_none(lambda noise=noise: GaussianEvent(PRICE, noise), _APPROX) is not None  # type: ignore[misc]
    ]
    if _price_or_none(lambda: GaussianEvent(PRICE, ((_SMALLEST, 1),)), _APPROX) is None:
        faults.append("sd 2^20 has no price under approx")
    how = "refused by an approx ledger, one by one"
    return judged("prices", "Gaussian events with sd below 2^20", faults, how)


def _failure_terms() -> Finding:
    """The total variation between a discrete and a rounded Gaussian, summed over the lattice, is within its bound."""
    mp = precise()
    faults, worst = [], 0.0
    for sd in (1, 2, 3, 8):
        exact = DiscreteGaussian(sd).variation()
        bound = GaussianEvent(PRICE, ((sd, 1),)).total_variation()
        worst = max(worst, float(exact * bound.denominator / max(bound.numerator, 1)))
        if exact * bound.denominator > bound.numerator:
            faults.append(f"at sd {sd} the total variation exceeds its bound")
    for size in (1, 1000, 10**6):
        event = GaussianEvent(PRICE, ((_SMALLEST, size),))
        for epsilon in (Fraction(1, 10), 1, 8):
            charged = ApproximateDP(epsilon, Fraction(1, 10**4)).price(event).delta
            if charged < 2 * (1 + mp.exp(float(epsilon))) * float(event.total_variation()) * DELTA_UNIT:
                faults.append(f"{size} coordinates at sd 2^20 are charged too small a failure term")
    return _share("Failure terms of discrete noise", "total variation over its bound", worst, faults)


def _threshold_terms() -> Finding:
    """The chance that noise takes an empty cell above a threshold, summed over the lattice, is within its charge.

    A threshold has a price under approx alone.
    """
    mp = precise()
    faults, worst = [], 0.0
    for sd, sds in ((1, 4), (3, 6), (8, 7), (_SMALLEST, 5), (_SMALLEST, 8)):
        event = ThresholdEvent(GaussianEvent(PRICE, ((sd, 6),)), sds * sd, 3)
        exact = 3 * DiscreteGaussian(sd).tail(sds * sd)
        worst = max(worst, float(exact * event.tail().denominator / event.tail().numerator))
        if exact * event.tail().denominator > event.tail().numerator:
            faults.append(f"at sd {sd} noise passes {sds} sds more often than is bounded")
        if sd < _SMALLEST:
            continue
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(8)):
            budget = ApproximateDP(epsilon, Fraction(1, 10**2))
            paid = budget.price(event).delta - budget.price(event.gaussian).delta
            # a term of 80 digits is compared with one that was rounded up to 30
            if paid < (1 + mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)) * exact * DELTA_UNIT:
                faults.append(f"at epsilon {float(epsilon):g} a threshold is charged too small a failure term")
        if any(_price_or_none(lambda event=event: event, kind) is not None for kind in (_ZCDP, PureDP(1))):  # type: ignore[misc]
            faults.append("a threshold has a price where nothing may fail")
    return _share("Thresholds of cells that nobody named", "chance of passing over its bound", worst, faults)


def _renyi_orders() -> Finding:
    """The Renyi divergences of a discrete Gaussian, summed over the lattice, are at most order times rho."""
    faults, worst = [], 0.0
    for sd, shift in ((1, 1), (2, 1), (3, 5), (8, 3)):
        law, units = DiscreteGaussian(sd), _ZCDP.price(GaussianEvent(Fraction(shift**2, sd**2), ((sd, 1),))).main
        for order in (1.01, 1.5, 2, 7, 32):
            ratio = law.renyi(shift, order) / (order * precise().mpf(units) / UNIT)
            worst = max(worst, float(ratio))
            if ratio - 1 > _ROUNDING:
                faults.append(f"order {order} at sd {sd} and shift {shift} exceeds what is charged")
    return _share("Renyi divergence of the discrete Gaussian", "divergence over order times rho", worst, faults)


def _exact_curve(fast: bool) -> Finding:
    """delta(epsilon) of integer noise at the smallest sd, exact, is at most what its charge stands for.

    The charge is mu^2 and a failure term; together they stand for the Gaussian curve at mu plus that term. That the
    comparison can fail is shown at sd 1, where the curve of the discrete Gaussian is above that of its own mu.
    """
    mp, sd = precise(), _SMALLEST
    faults, worst = [], 0.0
    for mu in (0.25, 1.0, 3.0) if fast else (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0):
        shift = round(mu * sd)
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4)) if fast else [Fraction(i, 4) for i in range(1, 33)]:
            event = GaussianEvent(Fraction(shift**2, sd**2), ((sd, 1),))
            paid = ApproximateDP(epsilon, Fraction(1, 10**6)).price(event)
            promised = delta_at(paid, epsilon)
            exact = DiscreteGaussian(sd).delta(shift, epsilon)
            worst = max(worst, float(exact / promised))
            if exact > promised:
                faults.append(f"at mu {mu}, epsilon {float(epsilon):g} the exact delta exceeds what is charged")
    if DiscreteGaussian(1).delta(1, Fraction(1, 10)) <= curve(mp.mpf(1), Fraction(1, 10)):
        faults.append("no power: at sd 1 the discrete Gaussian should cost more than its mu")
    how = f"exact delta over what is charged; lattice sums at sd {sd:,} itself, by Euler and Maclaurin, 80 digits"
    return _share("One coordinate of discrete noise under approx", how, worst, faults)


def _caps(random: np.random.Generator, draws: int) -> Finding:
    """The cap of an (epsilon, delta) budget implies it: the curve at mu* and epsilon is at most delta - failure."""
    faults, worst = [], 0.0
    drawn = [(10 ** float(random.uniform(-3, 2)), 10 ** float(random.uniform(-12, -1))) for _ in range(draws)]
    for epsilon, delta in [(1.0, 1e-6), (1e-9, 0.5), (690.0, 1e-20), *drawn]:
        budget = ApproximateDP(epsilon, delta)
        share = delta_at(budget.cap, Fraction(budget.epsilon)) / Fraction(budget.delta)
        worst = max(worst, float(share))
        if share > 1:
            faults.append(f"the cap of ({epsilon:g}, {delta:g}) allows more than delta")
    return _share("Caps of (epsilon, delta) budgets", "delta at the cap over delta", worst, faults)


def _share(mechanism: str, what: str, worst: Any, faults: list[str]) -> Finding:
    """Make a finding of the `worst` of all shares; `what` says of what, and it is at most 1 by promise."""
    return judged("prices", mechanism, faults, what, 1.0, float(worst))


# -- amounts ---------------------------------------------------------------------------------------------------

_EVERY_KIND = ZeroConcentratedDP(1), ApproximateDP(1, Fraction(1, 10**6)), PureDP(1)

_NOT_AMOUNTS: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 0, 0.0, -0.0, -1, -5e-324, -(10**400), True, False, None, 1 + 0j, b"1"),
    *("nan", "inf", "-1", "0", "-0", "1/3", "0x10", "", " ", "one", "1e-9999999999", "1e9999999999", [1], object()),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal(0), Fraction(-1, 3), np.float64("nan"), np.inf),
)
"""Values that must be refused as amounts."""

_AMOUNTS: tuple[Any, ...] = (
    *(5e-324, 1e-13, 1e-12, 1e308, 10**400, "1e-400", "5e-324", "1e400", 0.1, 1 / 3, "0.1", 7, 699.9999),
    *(Fraction(1, 3), Fraction(2, 3), Fraction(1, 10**400), Fraction(10**13 + 1, 10**13), Decimal("1e-400")),
    *(np.float32(1 / 3), np.float64(0.1), np.int64(3), Decimal("0.1000000000000000055511151231257827")),
)
"""Positive numbers: each is refused, or rounded against the spender."""

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
        faults += [f"{value!r} has a price" for make in makers if _price_or_none(make, _EVERY_KIND[0]) is not None]
    for value in _AMOUNTS:
        meant = _meaning(value) or Fraction(0)
        for budget in _EVERY_KIND:
            paid = _price_or_none(lambda v=meant: PureEvent(v), budget)  # type: ignore[misc]
            if paid is not None and isinstance(budget, PureDP) and paid.main < meant * UNIT:
                faults.append(f"epsilon {value!r} is priced below itself")
            if paid is not None and paid.main < 1:
                faults.append(f"epsilon {value!r} is free")
            paid = _price_or_none(lambda v=meant: GaussianEvent(v, ((1 << 40, 1),)), budget)  # type: ignore[misc]
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


def _price_or_none(make: Callable[[], Event], budget: Budget) -> Amount | None:
    """Price an event; None where event or price is refused, before anything can be charged."""
    try:
        return budget.price(make())
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        return None
