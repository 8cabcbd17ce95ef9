"""Rounds: the question of a round, the noise of its answer, and the number of rounds worth their share of the budget.

A round gives each record to its likeliest component under the last estimate, and measures all components again.
"""

import math
from fractions import Fraction

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.questions import InShares, LiftedGram, Moments
from pubpriv.data.questions.radial import without_law
from pubpriv.data.regions import Partition
from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators.asks import Ask, Blank, Worth
from pubpriv.estimators.mixture._linear import clip_radius
from pubpriv.ledger.unit.size import grain_for
from pubpriv.privacy.budgets import percent

_SETTLING, _SHARES, _SETTLES = 2, (percent(1), percent(2)), 0.4
"""Number of rounds before the measuring ones, for the case that public rows placed components badly: they only move
components to their rows. Each has the smallest of these shares at which its spectral noise is below the last number, in
units of a component's variance; if there is none, these rounds are left out."""

_FIRST_ROUND = Fraction(1, 5)
_TWO_ROUNDS_BELOW = 1.0
"""A first round with a fifth of the budget is worthwhile if its spectral noise is below this, in units of a
component's variance; otherwise a single round gets everything."""

UNTRUSTED = 1.5
"""Spectral noise in a component's whitened covariance above which only weights, means and scale are trusted."""

CROWD = Fraction(22, 10)
"""A pure run gives a step share^(2/3) / CROWD of epsilon, and its last round the rest: 0.3 to 0.6 of it."""

MOMENT_SHARES = percent(20), percent(45), percent(35)
_SPHERICAL_REACH = 1.15
"""Factor on the clip radius of spherical rounds: components need not be as round as assumed."""

GRAM_SHARES = percent(5), percent(12), percent(83)
"""Shares of counts, sums and second moments in a round: 2 % less for moments increases their noise by 1.2 % and takes
23 % off the noise of weights, which at (1, 1e-6)-DP is as large as their sampling error."""

_QUIET, _FURTHEST = 0.2, 0.9995
"""The last round clips further out while its noise is a smaller part than this of the sampling error of a variance, so
that it adds two percent to the error; and no further than the length that such a share of Gaussian rows do not exceed.
Beyond it rows of other components, and outliers, cost more than what is still clipped of skewed rows."""


_GRAINS = 16
"""Into how many shares a record is divided among components. With 8, errors of components three sds apart are several
percent larger; with 64, tables of more than 8 million rows would not fit in 64-bit totals."""


def grain_for_rows(n: int) -> int:
    """Return into how many shares each of n records can be divided; 0: into none, so that each has one component."""
    grain = grain_for(n, _GRAINS)
    return grain if grain > 1 else 0


def settling_rounds(
    worth: Worth, d: int, count: float, covariance_type: str, blank: Blank
) -> dict[str, tuple[Fraction, Blank]]:
    """Plan the rounds before the measuring ones, if they cost next to nothing; for arguments see `measuring_rounds`."""
    for share in _SHARES:
        if spectral_noise(worth(float(share)), d, count, covariance_type) < _SETTLES:
            return {f"settle-{number}": (share, blank) for number in range(1, _SETTLING + 1)}
    return {}


def measuring_rounds(
    left: Fraction, worth: Worth, d: int, count: float, covariance_type: str, blank: Blank
) -> dict[str, tuple[Fraction, Blank]]:
    """Plan the last rounds on what is left of the budget: two if the noise of the first is small enough.

    Args:
        left: share of the budget that is left.
        worth: gives rho of a round, mu^2 / 2, for its share of the whole budget.
        d: number of columns.
        count: number of private rows in a component.
        covariance_type: as in `MixtureSettings`.
        blank: makes the question of a round.
    """
    noise = spectral_noise(worth(float(_FIRST_ROUND * left)), d, count, covariance_type)
    if noise < _TWO_ROUNDS_BELOW:
        return {"round-1": (_FIRST_ROUND * left, blank), "round-2": ((1 - _FIRST_ROUND) * left, blank)}
    return {"round-1": (left, blank)}


def spectral_noise(
    rho: float, d: int, count: float, covariance_type: str = "full", radius: float | None = None
) -> float:
    """Return the spectral norm of the noise in a component's whitened covariance, from one joint release at `rho`.

    `radius` is that of the clip; None: the usual one.
    """
    radius = radius or round_radius(covariance_type, d)
    if covariance_type == "spherical":
        return radius**2 / math.sqrt(float(MOMENT_SHARES[2]) * rho) / d / count
    sd = radius**2 / math.sqrt(float(GRAM_SHARES[2]) * rho)
    return sd * spectral_factor(covariance_type, d) / count


def noise_of(ask: Ask, d: int, count: float, covariance_type: str) -> float:
    """Return the same of a planned round, by its clip radius; for arguments see `measuring_rounds`."""
    return spectral_noise(ask.rho, d, count, covariance_type, radius_of(ask))


def louder(ask: Ask, other: Ask) -> float:
    """Tell by what factor the noise of the other of two rounds is larger."""
    wider = (radius_of(other) or 1.0) / (radius_of(ask) or 1.0)
    return wider**2 * math.sqrt(ask.rho / other.rho)


def spectral_factor(covariance_type: str, d: int) -> float:
    """Return the spectral norm of the noise in a whitened covariance, in units of the sd of a diagonal entry."""
    if covariance_type == "spherical":
        return 1.0
    return math.sqrt(2 * math.log(2 * d)) if covariance_type == "diag" else math.sqrt(2 * d)


def round_radius(covariance_type: str, d: int) -> float:
    """Give the clip radius of whitened records in a round."""
    return clip_radius(d, _SPHERICAL_REACH) if covariance_type == "spherical" else clip_radius(d)


def last_radius(question: LiftedGram | Moments | InShares, end: float, count: float) -> float:
    """Give the clip radius of the last round, by the noise of the same question with the usual radius.

    What clipping takes of rows is put back as if they were Gaussian ones. Of skewed rows, or counts, that leaves a bias
    that many rows do not make smaller, as they do noise.

    Args:
        question: of all components.
        end: distance from which on rows belong to no component.
        count: number of private rows in a component.
    """
    (usual, *_), d, noise = question.radii, question.frames[0].dimension, question.noise()
    numbers, sd = (d, float(np.max(noise["square"])) / d) if "square" in noise else (1, float(np.max(noise["moment"])))
    wider = usual * math.sqrt(max(_QUIET * math.sqrt(2 * count / numbers) / sd, 1.0))
    return max(usual, min(wider, end, length_quantile(d, _FURTHEST)))


def round_question(
    covariance_type: str,
    regions: Partition,
    frames: tuple[Frame, ...],
    ask: Ask,
    radius: float | None = None,
    grain: int = 0,
) -> LiftedGram | Moments | InShares:
    """Return the question of a round: count, sum, second moment (spherical: squared norm) of each component's records.

    Args:
        covariance_type: as in `MixtureSettings`.
        regions: assign records to components; more regions than components if some records are in no component, and of
            those only the number is asked.
        frames: whiten the records of each component.
        ask: the price.
        radius: clip radius of whitened records; None: that of the ask's question, or the usual one.
        grain: into how many shares a record is divided among components; 0: it goes to one of them.
    """
    radii = (radius or radius_of(ask) or round_radius(covariance_type, frames[0].dimension),) * len(frames)
    kind, shares = (Moments, MOMENT_SHARES) if covariance_type == "spherical" else (LiftedGram, GRAM_SHARES)
    question = kind.priced(regions, frames, radii, ask.price, shares)
    return InShares(question, grain) if grain else question


def radius_of(ask: Ask) -> float | None:
    """Give the clip radius of an ask's question; None if it has no question, or radial noise: then it is the usual."""
    return ask.question.radii[0] if isinstance(ask.question, LiftedGram | Moments | InShares) else None


def grain_of(ask: Ask) -> int:
    """Give into how many shares the question of an ask divides a record; 0: into none."""
    question = without_law(ask.question)
    return question.grain if isinstance(question, InShares) else 0
