"""Plan of a run: a mean and covariance to start from, then two Newton steps from clipped scores.

Sources: the questions are ours (`docs/privacy.md`, section 5). Shares were chosen by simulation of the mechanisms, with
rows of six laws.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.data.regions import Everything, Shells
from pubpriv.data.score_frames import ScoreFrame
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse
from pubpriv.privacy.budgets import Purse, percent

METHOD = "regression"

START = percent(30)
"""Share of the budget for the mean and covariance from which Newton's steps start."""

_SHARES = {
    "round-1/score": percent(24),
    "round-1/slope": percent(3),
    "lengths": percent(6),
    "round-2/slope": percent(8),
    "round-2/score": percent(59),
}
"""Shares of the questions in what is left for them. The last score makes the estimate and its errors."""

_QUARTERS = Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)
"""Shares of count, sum and second moment of scores. The sum has the noise that it would have alone, for all the price:
with squared weights N = D/8, S R^2 = D/4 and M R^4 = D/8 the distance is D, and no weights give the sum more."""

_SLOPE_RADIUS = 3
"""Squared radius of regressors in a slope question, in units of the number of coefficients."""

_EDGES, _NEAR, _FAR = 22, 1.2, 72.0
"""Shells of the lengths of scores, and where they begin and end, in roots of the number of coefficients."""

_LEAN = 0.15
"""Part of the mean length beyond the radius by which a clipped mean of scores may lean, before lengths are known."""

_LOUD, _DROWNED, _FEWEST = 0.9, 3.0, 20
"""Most noise of the start in some direction, most predicted error over that without privacy, and fewest rows for each
coefficient, of a run that is worth its price."""

_START_NOISE = 0.6
"""Part of the start's budget that its last release has."""


@public_value
@dataclass(frozen=True)
class RegressionPlan(Plan):
    """The questions of the Newton steps.

    Attributes:
        scores, slopes: asks of the two rounds.
        lengths: ask for the lengths of scores, between the rounds.
    """

    scores: tuple[Ask, Ask]
    slopes: tuple[Ask, Ask]
    lengths: Ask

    @classmethod
    def of(cls, purse: Purse, d: int) -> "RegressionPlan":
        """Split a purse over the questions about d columns, the outcome among them."""
        frame = Frame((0.0,) * d, row_tuples(np.eye(d)))
        makers: Mapping[str, Blank] = {
            "score": lambda ask: score_question(frame, 1.0, ask),
            "slope": lambda ask: slope_question(frame, 1.0, ask),
            "lengths": lambda ask: lengths_question(frame, ask),
        }
        shares = {name: (share, makers[name.rpartition("/")[2]]) for name, share in _SHARES.items()}
        asks = split_purse(purse, METHOD, shares)
        first, second = ((asks[f"round-{n}/score"], asks[f"round-{n}/slope"]) for n in (1, 2))
        scores, slopes = (first[0], second[0]), (first[1], second[1])
        return cls(tuple(asks.values()), scores, slopes, asks["lengths"])


def score_question(frame: Frame, radius: float, ask: Ask) -> LiftedGram:
    """Ask for count, sum and second moment of all scores, clipped to a radius."""
    return LiftedGram.priced(Everything(), (ScoreFrame(frame),), (radius,), ask.price, _QUARTERS)


def slope_question(frame: Frame, radius: float, ask: Ask) -> LiftedGram:
    """Ask for the second moment of (1, regressors) of the rows whose score is not clipped.

    Count, sum and moment are weighed as the second moment of the longer vector would be: a vector (1, w) with |w| <= B
    has the kernel (1 + u)^2 = 1 + 2 u + u^2, and shares of 1, 2 B^2 and B^4.
    """
    matrix = frame.matrix
    assert matrix is not None  # as every frame of a line
    regressors, square = Frame(frame.center, matrix[1:]), _SLOPE_RADIUS * frame.dimension
    whole = (1 + square) ** 2
    shares = Fraction(1, whole), Fraction(2 * square, whole), Fraction(square**2, whole)
    inside = Shells(ScoreFrame(frame), (radius,))
    return LiftedGram.priced(inside, (regressors,), (math.sqrt(square),), ask.price, shares)


def lengths_question(frame: Frame, ask: Ask) -> Counts:
    """Ask how many scores have which length."""
    edges = math.sqrt(frame.dimension) * np.geomspace(_NEAR, _FAR, _EDGES)
    return Counts.priced(Shells(ScoreFrame(frame), tuple(edges.tolist())), ask.price)


def law_radius(k: int, rho: float, n: float) -> float:
    """Choose the clip radius of the scores of Gaussian rows with k coefficients: noise against what clipping takes."""
    lengths = _lengths_by_law(k)
    radii = math.sqrt(k) * np.geomspace(1.2, 8.0, 40)
    noise = 2 * radii**2 / (rho * n)
    lost = np.array([np.maximum(lengths - radius, 0.0).mean() for radius in radii])
    return float(radii[np.argmin(noise + n * (_LEAN * lost) ** 2 / k)])


def _lengths_by_law(k: int) -> np.ndarray:
    """Lengths of scores (r, r w) of standard Gaussian r and w, w of k - 1 numbers, at quantiles of both."""
    residuals, regressors = _squares_by_law(k)
    return np.asarray(np.sqrt(np.outer(residuals, 1 + regressors)).ravel())


@lru_cache(maxsize=64)
def _squares_by_law(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of r^2 and |w|^2."""
    from scipy.special import gammaincinv

    ranks = (np.arange(400) + 0.5) / 400
    residuals, regressors = (2 * gammaincinv(degrees / 2, ranks) for degrees in (1, k - 1))
    return residuals, regressors


def law_kept(k: int, radius: float) -> float:
    """Compute the share of the mean of r^2 that scores clipped to a radius keep, for Gaussian rows."""
    residuals, regressors = _squares_by_law(k)
    squares = np.outer(residuals, 1 + regressors)
    kept = residuals[:, None] * np.minimum(1.0, radius**2 / squares)
    return float(kept.mean() / residuals.mean())


def law_slope(k: int, radius: float) -> float:
    """Compute the share of the slope that rows have whose score is shorter than a radius, for Gaussian rows."""
    lengths = _lengths_by_law(k)
    return float((lengths**2 * (lengths <= radius)).mean() / (lengths**2).mean())


def ratio(n: float, d: int, purse: Purse) -> float:
    """Predict the error of coefficients of d - 1 columns and an intercept, in units of that without privacy."""
    _, own = shared(purse)
    rho = RegressionPlan.of(own, d).scores[1].rho
    radius = law_radius(d, rho, n)
    slope = 1 - (1 - law_slope(d, radius)) / 2
    return math.sqrt(1 + 2 * radius**2 / (slope**2 * n * rho))


def shared(purse: Purse) -> tuple[Purse, Purse]:
    """Divide a purse between the start and the Newton steps, for predictions."""
    start, own = (purse.part(price) for price in purse.split([START, 1 - START]))
    return start, own


def start_noise(n: float, d: int, purse: Purse) -> float:
    """Predict the noise of the start's covariance in its worst direction, as a share of the variance there."""
    from scipy.special import gammaincinv

    square, rho = 2 * float(gammaincinv(d / 2, 0.99)), shared(purse)[0].rho * _START_NOISE
    return square * math.sqrt(2 * d) / (n * math.sqrt(rho))


def check_worth(n: float, d: int, purse: Purse) -> None:
    """Refuse runs of which little would come, and say what would do.

    Raises:
        InvalidInput: too few rows for so many coefficients, a start that is mostly noise, or errors that are mostly
            noise.
    """
    if enough(n, d, purse):
        return
    rows = next(rows for rows in (n * 1.25**i for i in range(1, 200)) if enough(rows, d, purse))
    fewer = next((columns for columns in range(d - 1, 1, -1) if enough(n, columns, purse)), None)
    instead = "" if fewer is None else f", or {fewer - 1} of the columns"
    raise InvalidInput(
        f"{n:,.0f} rows are too few for a regression on {d - 1} columns with this budget: noise would be most of what "
        f"is released. Take about {rows:,.0f} rows, a larger budget{instead}"
    )


def enough(n: float, d: int, purse: Purse) -> bool:
    """Decide whether a run is worth its price."""
    if n < _FEWEST * d:
        return False
    return start_noise(n, d, purse) <= _LOUD and ratio(n, d, purse) <= _DROWNED
