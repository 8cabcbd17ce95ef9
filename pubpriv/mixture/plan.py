"""What a run will ask and what each question may cost, fixed before a private row is read.

All decisions here use public facts: n, d, m, k, the budget and the regime found in the public rows. The
driver executes this object; pricing a run without running it is this object too.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import BoundedScore, LiftedGram, Moments, Question
from pubpriv.data.regions import Cells, Everything
from pubpriv.mixture.linear import clip_radius
from pubpriv.plans import Ask, Plan, split_purse
from pubpriv.privacy.budgets import Purse

GUARD = Fraction(2, 100)
PCA = Fraction(8, 100)
COARSE = Fraction(7, 100)
FIRST_ROUND = Fraction(1, 5)
EXPLORE = Fraction(1, 2)
PICK = Fraction(15, 1000)
STARTS = 3
TWO_ROUNDS_BELOW = 0.5
"""A first round is worth its fifth of the budget while its spectral noise stays below this, in units of a
component's variance; above, one round gets all."""

MOMENT_SHARES = Fraction(20, 100), Fraction(45, 100), Fraction(35, 100)
GRAM_SHARES = Fraction(3, 100), Fraction(12, 100), Fraction(85, 100)


@public_value
@dataclass(frozen=True)
class MixturePlan(Plan):
    """Questions of a run of `estimate_mixture`.

    Attributes:
        regime: `separated` (scale tree, private PCA, seeding, coarse moments, rounds) or `overlapping`
            (public starts in R^d, two rounds each, the best one refined).
        n_components: k.
    """

    regime: str
    n_components: int


def make_plan(purse: Purse, n: int, d: int, k: int, overlapping: bool) -> MixturePlan:
    """The plan of a run on n rows of d columns with k components."""
    shares = _overlapping() if overlapping else _separated(purse.rho, n, d, k)
    asks = split_purse(purse, "mixture", shares)
    return MixturePlan(asks, "overlapping" if overlapping else "separated", k)


def _separated(rho: float, n: int, d: int, k: int) -> dict[str, Fraction]:
    shares = {"guard": GUARD}
    rest = 1 - GUARD
    if d > k:
        shares["pca"] = PCA * rest
    shares["coarse/subspace"] = shares["coarse/space"] = COARSE / 2 * rest
    left = 1 - sum(shares.values(), Fraction(0))
    noise = spectral_noise(float(FIRST_ROUND * left) * rho, d, n / k)
    if noise < TWO_ROUNDS_BELOW:
        return shares | {"round-1": FIRST_ROUND * left, "round-2": (1 - FIRST_ROUND) * left}
    return shares | {"round-1": left}


def _overlapping() -> dict[str, Fraction]:
    shares = {"guard": GUARD}
    rest = 1 - GUARD
    for start in range(1, STARTS + 1):
        for number in (1, 2):
            shares[f"start-{start}/round-{number}"] = EXPLORE * rest / (2 * STARTS)
    for start in range(2, STARTS + 1):
        shares[f"pick-{start}"] = PICK * rest
    return shares | {"round-3": 1 - sum(shares.values(), Fraction(0))}


def spectral_noise(rho: float, d: int, count: float) -> float:
    """Spectral norm of the noise in a component's whitened covariance, from one joint release at `rho`."""
    sd = clip_radius(d) ** 2 / math.sqrt(float(GRAM_SHARES[2]) * rho)
    return sd * math.sqrt(2 * d) / count


def rehearsal(plan: MixturePlan, d: int, groups: int) -> list[Question]:
    """Questions of the sizes and prices of `plan`, about nothing: what `Curator.rehearse` checks."""
    k = plan.n_components

    def frames(count: int, dimension: int) -> tuple[tuple[Frame, ...], tuple[float, ...]]:
        return (Frame((0.0,) * dimension),) * count, (1.0,) * count

    def blank(ask: Ask) -> Question:
        step = ask.label.removeprefix("mixture/")
        if step == "pca":
            return LiftedGram.second_moment(Everything(), *frames(groups, d), ask.price)
        if step.startswith("coarse/"):
            ell = min(k, d) if step == "coarse/subspace" else d
            return Moments.priced(Everything(), *frames(k, ell), ask.price, MOMENT_SHARES)
        if step == "guard" or step.startswith("pick-"):
            one = Cells(frames(1, d)[0], (0.0,))
            return BoundedScore.priced(one, one, 1.0, ask.price)
        return LiftedGram.priced(Everything(), *frames(k, d), ask.price, GRAM_SHARES)

    return [blank(ask) for ask in plan.asks]


def last_round(plan: MixturePlan, d: int) -> LiftedGram:
    """The question of the last round, of which the model is made: its size, price and noise, with real radii."""
    k = plan.n_components
    frames = (Frame((0.0,) * d),) * k
    return LiftedGram.priced(Everything(), frames, (clip_radius(d),) * k, plan.asks[-1].price, GRAM_SHARES)
