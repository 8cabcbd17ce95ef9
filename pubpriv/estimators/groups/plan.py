"""The question about groups, and its price."""

import math
from dataclasses import replace
from fractions import Fraction

from pubpriv.data.categories import ByCategory
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram, Moments
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Shells
from pubpriv.estimators.asks import MOMENTS_SHARES, Ask, Blank
from pubpriv.privacy.budgets import KINDS, Budget, Purse, percent
from pubpriv.privacy.units import UNIT

METHOD = "groups"

SHARE = Fraction(6, 10)
"""Share of a run's budget for its groups; the rest is for all rows together."""

_GRAM_SHARES = percent(8), percent(30), percent(62)
"""Shares of count, sum and second moments in the price of `LiftedGram`."""

_BEYOND = 2.0
"""Radius of the core minus sqrt(d): about one Gaussian row in sixty lies further out. A larger core has more noise in
every group; a smaller one leaves more to shells, of which small groups have only what all groups have."""

_SHELLS, _RATIO = 6, 1.5
"""Number of shells, with the core, and outer radius of each over its inner one. Rows beyond the last, at 7.6 times the
radius of the core, are clipped; each shell more takes time and noise in the number of rows."""


def radii_of(d: int) -> tuple[float, ...]:
    """Give the outer radii of the core and of the shells, in coordinates in which all rows together are standard."""
    return tuple((math.sqrt(d) + _BEYOND) * _RATIO**shell for shell in range(_SHELLS))


def group_question(by: ByCategory, frame: Frame, ask: Ask, spreads: bool) -> LiftedGram | Moments:
    """Ask for count and sum of each shell of each group, and second moments if `spreads`, else squared lengths.

    It costs as much as for one region. A row is clipped to the outer radius of its shell, so only in the last one. If
    the noise is radial, each region has a length of its own (`Radial`, by region).
    """
    radii = radii_of(frame.dimension)
    shells = Refined(by, (Shells(frame, radii[:-1]),) * by.n_regions)
    where = shells, (frame,) * shells.n_regions, radii * by.n_regions
    if spreads:
        return LiftedGram.priced(*where, ask.price, _GRAM_SHARES)
    return Moments.priced(*where, ask.price, MOMENTS_SHARES)


def parts_of(budget: Budget, share: Fraction = SHARE) -> tuple[Budget, Budget]:
    """Split a budget into what all rows together and a second method may spend, of which `share` is the second's.

    Epsilon is divided as by `PureDP.split`.
    """
    purse = Purse.of(budget)
    shares = 1 - share, share
    if purse.radial:
        whole, groups = (budget.resized(purse.part(price).units / UNIT) for price in purse.split([*shares]))
    else:
        whole, groups = (budget.resized(budget.size_worth(purse.rho * float(share))) for share in shares)
    return whole, groups


def group_ask(purse: Purse, by: ByCategory, d: int, spreads: bool) -> Ask:
    """Plan the question about means, and covariances if `spreads`, which takes the whole purse."""
    return _asked(f"{METHOD}/moments", purse, lambda ask: group_question(by, Frame((0.0,) * d), ask, spreads))


def weights_ask(purse: Purse, by: ByCategory) -> Ask:
    """Plan the question about the weights of a mixture; its noise is the same for any number of components."""
    return _asked(f"{METHOD}/counts", purse, lambda ask: Counts.priced(by, ask.price))


def _asked(label: str, purse: Purse, blank: Blank) -> Ask:
    price = purse.squared_distance(purse.units)
    ask = Ask(label, price.numerator, price.denominator, law=KINDS[purse.kind].noise_law)
    return replace(ask, question=ask.as_asked(blank(ask)))
